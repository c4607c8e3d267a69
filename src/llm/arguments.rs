//! The arguments of a call: a JSON object, or an explanation for the model.
//!
//! Strict on purpose. A repaired or guessed argument runs a command that
//! nobody asked for; an explanation costs one more round.

use serde_json::{Value, json};

/// How often JSON inside of a string is unwrapped.
const LAYERS: usize = 2;

/// Reads what a server sent as `arguments`: a string with JSON (the rule), an
/// object, or nothing, for a tool without parameters.
pub fn parse(sent: &Value) -> Result<Value, String> {
    let mut value = sent.clone();
    for _ in 0..=LAYERS {
        let Value::String(text) = value else { break };
        value = decode(&text)?;
    }
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(json!({})),
        other => Err(format!(
            "the arguments must be a JSON object, not {}. The call was not run.",
            kind(&other)
        )),
    }
}

/// What goes back as `arguments`. Servers parse it again, and one string that
/// is no object would make them refuse every later request.
pub fn replay(sent: &Value, args: &Result<Value, String>) -> String {
    match (sent, args) {
        (Value::String(text), Ok(_)) if text.trim_start().starts_with('{') => {
            text.clone()
        }
        (_, Ok(args)) => args.to_string(),
        (_, Err(_)) => "{}".into(),
    }
}

fn decode(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_str(text).map_err(|error| {
        let advice = match error.is_eof() {
            true => "They end too early: send less at once, a file in pieces.",
            false => "Send one JSON object and nothing else.",
        };
        format!(
            "the arguments are not valid JSON ({error}). The call was not run. \
             {advice}"
        )
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "an array",
        Value::String(_) => "a string",
        Value::Bool(_) => "a boolean",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_shapes_of_the_same_object() {
        let object = json!({"path": "a"});
        let text = object.to_string();
        let twice = Value::from(text.clone()).to_string();
        let thrice = Value::from(twice.clone()).to_string();
        for sent in [json!(text), json!(twice), json!(thrice), object.clone()] {
            let args = parse(&sent);
            assert_eq!(args, Ok(object.clone()), "{sent}");
            assert_eq!(replay(&sent, &args), text);
        }
        for none in
            [json!(""), json!(" \n"), json!(null), json!("null"), json!("{}")]
        {
            let args = parse(&none);
            assert_eq!(args, Ok(json!({})), "{none}");
            assert_eq!(replay(&none, &args).trim(), "{}");
        }
    }

    #[test]
    fn a_valid_string_goes_back_byte_for_byte() {
        let sent = json!("{ \"b\" : 1.0,\n \"a\": \"\\u00e9\" }");
        assert_eq!(replay(&sent, &parse(&sent)), sent.as_str().unwrap());
    }

    #[test]
    fn anything_else_is_explained_and_goes_back_empty() {
        let four = (0..3).fold("{}".to_string(), |text, _| json!(text).to_string());
        for (sent, word) in [
            (json!("{\"path\":\"a"), "too early"),
            (json!("{\"path\":a}"), "not valid JSON"),
            (json!("{\"a\":1}{\"a\":2}"), "trailing"),
            (json!("{\"a\":1}\n\nNow I will"), "trailing"),
            (json!("{\"a\":\"l1\nl2\"}"), "control character"),
            (json!("[\"a\"]"), "an array"),
            (json!(["a"]), "an array"),
            (json!("3"), "a number"),
            (json!(true), "a boolean"),
            (json!(four), "a string"),
        ] {
            let args = parse(&sent);
            let why = args.clone().unwrap_err();
            assert!(why.contains(word), "{sent}: {why}");
            assert_eq!(replay(&sent, &args), "{}");
        }
    }
}
