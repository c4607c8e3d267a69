//! JSON schemas that every provider accepts.
//!
//! Generators emit more than providers take: one unknown keyword and some of
//! them refuse the whole request. What leaves here is the plain subset `type`,
//! `properties`, `required`, `enum`, `items` and `description`, without
//! references.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

const KEPT: [&str; 6] =
    ["type", "description", "properties", "required", "items", "enum"];

/// The plain schema of an argument struct.
pub fn of<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true);
    let generator = settings.into_generator();
    let mut schema = plain(generator.into_root_schema_for::<A>().to_value());
    // The tool has a description of its own.
    schema.as_object_mut().map(|fields| fields.remove("description"));
    schema
}

/// Makes any schema plain, and an object with `properties`.
pub fn plain(schema: Value) -> Value {
    let mut schema = flatten(schema);
    if schema["type"] != "object" {
        schema = json!({"type": "object"});
    }
    let properties = &mut schema["properties"];
    if !properties.is_object() {
        *properties = json!({});
    }
    schema
}

fn flatten(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else { return json!({}) };
    merge_choices(&mut schema);
    if let Some(Value::Array(types)) = schema.get("type") {
        let first = types.iter().find(|one| *one != "null").cloned();
        schema.insert("type".into(), first.unwrap_or_else(|| json!("string")));
    }
    schema.retain(|key, _| KEPT.contains(&key.as_str()));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(|one| *one = flatten(one.take()));
    }
    if let Some(items) = schema.get_mut("items") {
        *items = flatten(items.take());
    }
    if schema.get("required").is_some_and(|names| *names == json!([])) {
        schema.remove("required");
    }
    Value::Object(schema)
}

/// `oneOf`/`anyOf`: constants become one `enum`, "this or null" becomes this.
fn merge_choices(schema: &mut Map<String, Value>) {
    let choices = ["oneOf", "anyOf"].iter().find_map(|key| schema.remove(*key));
    let Some(Value::Array(choices)) = choices else {
        if let Some(only) = schema.remove("const") {
            schema.insert("enum".into(), json!([only]));
        }
        return;
    };
    let mut values = vec![];
    for choice in choices {
        match choice {
            Value::Object(choice) if choice.contains_key("const") => {
                values.push(choice["const"].clone());
            }
            Value::Object(choice) if choice.contains_key("enum") => {
                values
                    .extend(choice["enum"].as_array().cloned().unwrap_or_default());
            }
            choice if choice["type"] == "null" => {}
            Value::Object(choice) => {
                for (key, value) in choice {
                    schema.entry(key).or_insert(value);
                }
            }
            _ => {}
        }
    }
    if !values.is_empty() {
        schema.entry("type").or_insert(json!("string"));
        schema.insert("enum".into(), Value::Array(values));
    }
}

/// Unwraps values that a model has put into strings although the schema says
/// otherwise: `"[1]"` for a list, `"5"` for a number. Small models do that
/// often, and the meaning is plain.
pub fn coerce(mut args: Value, schema: &Value) -> Value {
    let Value::Object(fields) = &mut args else { return args };
    for (name, value) in fields {
        let wanted = schema["properties"][name.as_str()]["type"].as_str();
        let Some(wanted) = wanted.filter(|one| *one != "string") else { continue };
        if wanted == "integer" {
            whole(value);
        }
        let Some(text) = value.as_str() else { continue };
        if let Ok(mut inner) = serde_json::from_str::<Value>(text) {
            whole(&mut inner);
            if is_a(&inner, wanted) {
                *value = inner;
            }
        }
    }
    args
}

/// `200.0` is a whole number.
fn whole(value: &mut Value) {
    if let Some(float) = value.as_f64().filter(|float| float.fract() == 0.0)
        && value.is_f64()
    {
        *value = json!(float as i64);
    }
}

fn is_a(value: &Value, wanted: &str) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => value.is_number(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[allow(dead_code)]
    enum Status {
        Open,
        /// Finished.
        Done,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Item {
        /// What.
        name: String,
        status: Status,
    }

    /// What stands here is not for the model, and no title is.
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Args {
        /// A list.
        items: Vec<Item>,
        limit: Option<u32>,
        nested: Option<Item>,
    }

    #[test]
    fn a_derived_schema_is_plain() {
        let item = json!({"type": "object", "properties": {
            "name": {"type": "string", "description": "What."},
            "status": {"type": "string", "enum": ["open", "done"]},
        }, "required": ["name", "status"]});
        let schema = of::<Args>();
        assert_eq!(schema["properties"]["items"]["items"], item);
        assert_eq!(schema["properties"]["limit"], json!({"type": "integer"}));
        assert_eq!(schema["properties"]["nested"]["properties"], item["properties"]);
        assert_eq!(schema["required"], json!(["items"]));
    }

    #[test]
    fn no_keyword_that_some_server_refuses_survives() {
        let text = of::<Args>().to_string();
        for noise in ["$", "title", "format", "minimum", "default", "null", "Of"] {
            assert!(!text.contains(noise), "{noise} in {text}");
        }
    }

    #[test]
    fn anything_becomes_an_object_with_properties() {
        for odd in [json!({}), json!(null), json!(true), json!({"type": "string"})] {
            assert_eq!(plain(odd), json!({"type": "object", "properties": {}}));
        }
    }
}
