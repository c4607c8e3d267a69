//! The strict server: what every request must look like, whoever answers it.
//!
//! Real servers differ in which of these rules they enforce, so we keep all of
//! them, and a test that records requests checks each of them here.

use serde_json::Value;
use std::collections::HashSet;

/// Checks a request in OpenAI's format.
///
/// # Panics
/// A rule is broken: the message names it, and the place.
#[track_caller]
pub fn check_openai(body: &Value) {
    let messages = body["messages"].as_array().expect("messages is a list");
    check_roles(messages);
    check_openai_tools(body);
    let mut seen = HashSet::new();
    let mut at = 0;
    while at < messages.len() {
        let message = &messages[at];
        check_content(message, at);
        at += 1;
        for call in calls(message) {
            let id = call["id"].as_str().expect("a call has an id");
            assert!(!id.is_empty() && seen.insert(id), "id `{id}` twice or empty");
            check_openai_call(call);
            let result = messages.get(at).unwrap_or(&Value::Null);
            assert_eq!(result["role"], "tool", "no result behind call {id}");
            assert_eq!(result["tool_call_id"], id, "not the result of {id}");
            assert_eq!(result["name"], call["function"]["name"], "name of {id}");
            at += 1;
        }
        assert_ne!(message["role"], "tool", "orphan result at {}", at - 1);
    }
}

fn calls(message: &Value) -> &[Value] {
    let calls = &message["tool_calls"];
    assert!(message.get("tool_calls").is_none() || calls.is_array(), "{message}");
    let calls = calls.as_array().map_or(&[][..], Vec::as_slice);
    assert!(
        message.get("tool_calls").is_none() || !calls.is_empty(),
        "empty tool_calls"
    );
    calls
}

fn check_roles(messages: &[Value]) {
    let role = |at: usize| messages[at]["role"].as_str().expect("a role");
    for at in 0..messages.len() {
        let known = ["system", "user", "assistant", "tool"].contains(&role(at));
        assert!(known, "unknown role {}", role(at));
        assert!(role(at) != "system" || at == 0, "a system message at {at}");
    }
    let last = role(messages.len() - 1);
    assert!(["user", "tool"].contains(&last), "the last message is of {last}");
}

/// The key `content` is always there; without a text there must be calls.
fn check_content(message: &Value, at: usize) {
    let content = message.get("content").expect("the key content is there");
    let is_blank = match content {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(parts) => parts.is_empty(),
        other => {
            assert!(other.is_null(), "content at {at}: {other}");
            true
        }
    };
    assert!(!is_blank || !calls(message).is_empty(), "an empty message at {at}");
    assert!(message["function_call"].is_null(), "function_call at {at}");
}

fn check_openai_call(call: &Value) {
    assert_eq!(call["type"], "function");
    check_name(&call["function"]["name"]);
    let text =
        call["function"]["arguments"].as_str().expect("arguments is a string");
    let arguments: Value = serde_json::from_str(text).expect("arguments are JSON");
    assert!(arguments.is_object(), "arguments are no object: {text}");
}

fn check_openai_tools(body: &Value) {
    let Some(tools) = body.get("tools") else {
        assert!(body.get("tool_choice").is_none(), "tool_choice without tools");
        return;
    };
    assert_eq!(body["tool_choice"], "auto");
    let tools = tools.as_array().expect("tools is a list");
    assert!(!tools.is_empty(), "an empty list of tools");
    for tool in tools {
        assert_eq!(tool["type"], "function");
        check_name(&tool["function"]["name"]);
        check_object_schema(&tool["function"]["parameters"]);
    }
}

fn check_name(name: &Value) {
    let name = name.as_str().expect("a name");
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    assert!(
        (1..=64).contains(&name.len()) && name.chars().all(is_fine),
        "name `{name}`"
    );
}

fn check_object_schema(schema: &Value) {
    assert_eq!(schema["type"], "object", "{schema}");
    assert!(schema["properties"].is_object(), "{schema}");
    check_schema(schema);
}

/// Only the keywords that every server takes.
fn check_schema(schema: &Value) {
    let fields = schema.as_object().expect("a schema is an object");
    for (keyword, value) in fields {
        match keyword.as_str() {
            "type" => assert!(value.is_string(), "type {value}"),
            "description" => assert!(value.is_string(), "description {value}"),
            "enum" | "required" => {
                assert!(value.as_array().is_some_and(|list| !list.is_empty()));
            }
            "items" => check_schema(value),
            "properties" => {
                value.as_object().unwrap().values().for_each(check_schema)
            }
            other => panic!("keyword {other} in {schema}"),
        }
    }
}

/// Checks a request in Anthropic's format.
///
/// # Panics
/// A rule is broken: the message names it, and the place.
#[track_caller]
pub fn check_anthropic(body: &Value) {
    assert!(
        body["max_tokens"].as_u64().is_some_and(|limit| limit > 0),
        "max_tokens"
    );
    let system = &body["system"];
    assert!(
        system.is_null() || system.as_str().is_some_and(|text| !text.is_empty())
    );
    let messages = body["messages"].as_array().expect("messages is a list");
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = vec![];
    for (at, message) in messages.iter().enumerate() {
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], expected, "roles must take turns, at {at}");
        let blocks = message["content"].as_array().expect("content is a list");
        assert!(!blocks.is_empty(), "an empty message at {at}");
        check_results(blocks, &open, at);
        open = blocks.iter().filter_map(check_block).collect();
        assert!(
            open.iter().all(|id| seen.insert(*id)),
            "an id twice at {at}: {open:?}"
        );
    }
    assert_eq!(messages.len() % 2, 1, "the last message is not the user's");
    check_anthropic_tools(body);
}

/// The results come first, in the order of the calls, and nowhere else.
fn check_results(blocks: &[Value], open: &[&str], at: usize) {
    let results = blocks.iter().filter(|block| block["type"] == "tool_result");
    let ids: Vec<_> =
        results.map(|block| block["tool_use_id"].as_str().unwrap()).collect();
    assert_eq!(ids, open, "results at {at}");
    let first = blocks.iter().take(ids.len());
    assert!(
        first.into_iter().all(|block| block["type"] == "tool_result"),
        "at {at}"
    );
}

/// The id, if the block is a call.
fn check_block(block: &Value) -> Option<&str> {
    let is_blank =
        |text: &Value| text.as_str().is_none_or(|text| text.trim().is_empty());
    match block["type"].as_str().expect("a block has a type") {
        "text" => assert!(!is_blank(&block["text"]), "a blank text"),
        "tool_result" => assert!(!is_blank(&block["content"]), "a blank result"),
        "tool_use" => {
            check_name(&block["name"]);
            assert!(block["input"].is_object(), "input: {block}");
            return Some(block["id"].as_str().expect("a call has an id"));
        }
        _ => {}
    }
    None
}

fn check_anthropic_tools(body: &Value) {
    let Some(tools) = body.get("tools") else { return };
    let tools = tools.as_array().expect("tools is a list");
    assert!(!tools.is_empty(), "an empty list of tools");
    for tool in tools {
        check_name(&tool["name"]);
        check_object_schema(&tool["input_schema"]);
    }
}
