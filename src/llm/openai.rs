//! The Chat Completions format, spoken by OpenAI and by nearly everyone else.

use super::answer::{self, Answer};
use super::history::Outgoing;
use super::ids::{Ids, safe_name, safe_text};
use super::repairs::{Quirks, Reasoning};
use super::{Ask, arguments, markup};
use crate::message::{Message, ToolCall};
use crate::tool::Definition;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The body of a request. It only borrows: a long conversation is written
/// straight from where it is stored.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Text {
        role: &'a str,
        content: &'a str,
    },
    // Some servers want the name beside the id.
    Tool {
        role: &'a str,
        tool_call_id: &'a str,
        name: Cow<'a, str>,
        content: &'a str,
    },
    Assistant(Cow<'a, Value>),
}

#[derive(Serialize)]
struct Function<'a> {
    r#type: &'a str,
    function: Declaration<'a>,
}

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

/// Writes a request.
pub fn request(
    model: &str,
    ask: &Ask<'_>,
    messages: &Outgoing<'_>,
    quirks: Quirks,
) -> Vec<u8> {
    let has_system = !ask.system.trim().is_empty();
    let system =
        has_system.then_some(Entry::Text { role: "system", content: ask.system });
    let entries = messages.iter().map(|message| entry(message, quirks.reasoning));
    let cap =
        |new_name| ask.max_tokens.filter(|_| quirks.completion_tokens == new_name);
    let body = Body {
        model,
        messages: system.into_iter().chain(entries).collect(),
        tools: ask.tools.iter().map(function).collect(),
        tool_choice: (!ask.tools.is_empty()).then_some("auto"),
        max_tokens: cap(false),
        max_completion_tokens: cap(true),
    };
    // Only maps with keys that are no strings cannot be written.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn function(tool: &Definition) -> Function<'_> {
    let (name, description) = (&tool.name, &tool.description);
    let function = Declaration { name, description, parameters: &tool.schema };
    Function { r#type: "function", function }
}

fn entry(message: &Message, reasoning: Reasoning) -> Entry<'_> {
    match message {
        Message::Prompt(text) | Message::Note(text) => {
            Entry::Text { role: "user", content: text }
        }
        Message::Tool { id, name, text } => Entry::Tool {
            role: "tool",
            tool_call_id: id,
            name: safe_name(name),
            content: safe_text(text),
        },
        Message::Assistant { text, calls, raw } => {
            let own = || Cow::Owned(rebuilt(text.as_deref(), calls));
            let message = if fits(raw, calls) { Cow::Borrowed(raw) } else { own() };
            Entry::Assistant(reasoning.applied(message))
        }
    }
}

/// Does the stored message belong to these calls, and to this format?
fn fits(raw: &Value, calls: &[ToolCall]) -> bool {
    let sent = raw["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let ids = sent.iter().map(|call| call["id"].as_str());
    raw.is_object() && ids.eq(calls.iter().map(|call| Some(&*call.id)))
}

/// The message in our own words.
fn rebuilt(text: Option<&str>, calls: &[ToolCall]) -> Value {
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        let calls = calls.iter().map(|call| {
            let arguments = arguments::replay(&Value::Null, &call.args);
            let function =
                json!({"name": safe_name(&call.name), "arguments": arguments});
            json!({"id": call.id, "type": "function", "function": function})
        });
        message["tool_calls"] = calls.collect();
    }
    message
}

/// Does this body hold an answer, and not an error in its place?
pub fn is_answer(body: &Value) -> bool {
    let choice = &body["choices"][0];
    choice.is_object()
        && choice["error"].is_null()
        && choice["finish_reason"] != "error"
}

/// Reads an answer. The message is kept as it came, but for what must not go
/// back: see [`settle_calls`] and [`tidy`].
pub fn answer(mut body: Value, history: &[Message]) -> Answer {
    let usage = &body["usage"];
    let usage = answer::usage(
        answer::count(usage, &["prompt_tokens"]),
        answer::count(usage, &["completion_tokens"]),
    );
    let finish =
        body["choices"][0]["finish_reason"].as_str().unwrap_or("").to_string();
    let mut message = match body.pointer_mut("/choices/0/message").map(Value::take) {
        Some(Value::Object(message)) => message,
        _ => Map::new(),
    };
    let calls = settle_calls(&mut message, &mut Ids::new(history));
    let refused = tidy(&mut message);
    let content = text_of(&message["content"]);
    let (thoughts, text) = markup::split_thoughts(&content);
    let reasoning = ["reasoning_content", "reasoning"]
        .iter()
        .find_map(|name| message.get(*name)?.as_str())
        .unwrap_or("");
    Answer {
        text: text.into(),
        thoughts: format!("{thoughts}{reasoning}"),
        refused,
        calls,
        finish,
        usage,
        raw: Value::Object(message),
    }
}

/// Brings the calls of a message into the form in which every server takes
/// them back, whatever form they came in, and reads them.
fn settle_calls(
    message: &mut Map<String, Value>,
    ids: &mut Ids<'_>,
) -> Vec<ToolCall> {
    let mut sent = match message.get_mut("tool_calls").map(Value::take) {
        Some(Value::Array(sent)) => sent,
        Some(one @ Value::Object(_)) => vec![one],
        _ => vec![],
    };
    sent.retain(Value::is_object);
    let legacy = match message.get("function_call") {
        None | Some(Value::Null) => None,
        Some(_) => message.shift_remove("function_call").filter(Value::is_object),
    };
    if sent.is_empty() {
        sent.extend(legacy.map(|function| json!({"function": function})));
    }
    let calls: Vec<_> = sent.iter_mut().map(|call| settle_call(call, ids)).collect();
    match sent.is_empty() {
        true => message.shift_remove("tool_calls"),
        false => message.insert("tool_calls".into(), sent.into()),
    };
    calls
}

fn settle_call(call: &mut Value, ids: &mut Ids<'_>) -> ToolCall {
    let id = ids.settle(call["id"].as_str().unwrap_or(""));
    if !call["function"].is_object() {
        call["function"] = json!({});
    }
    let name = call["function"]["name"].as_str().unwrap_or("").to_string();
    let sent = call["function"]["arguments"].take();
    let args = arguments::parse(&sent);
    call["id"] = json!(id);
    call["type"] = json!("function");
    call["function"]["name"] = json!(safe_name(&name));
    call["function"]["arguments"] = json!(arguments::replay(&sent, &args));
    ToolCall { id, name, args }
}

/// Makes the rest of a message fit to go back, and says whether it is a
/// refusal: its text stands in a field of its own, which only one vendor takes.
fn tidy(message: &mut Map<String, Value>) -> bool {
    message.insert("role".into(), json!("assistant"));
    let content = message.entry("content").or_insert(Value::Null);
    if !content.is_string() && !content.is_array() {
        *content = Value::Null;
    }
    let has_text = !text_of(content).trim().is_empty();
    let text = message.get("refusal").and_then(Value::as_str).unwrap_or("");
    if text.trim().is_empty() {
        return false;
    }
    let refusal = message.shift_remove("refusal").unwrap_or_default();
    if !has_text {
        message.insert("content".into(), refusal);
    }
    true
}

/// A content is a text, or a list of parts of which some are texts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts =
                parts.iter().map(|part| part.as_str().or(part["text"].as_str()));
            texts.flatten().collect()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_byte_for_byte() {
        let tool = Definition {
            name: "t".into(),
            description: "d".into(),
            schema: json!({"type": "object", "properties": {}}),
        };
        let call =
            ToolCall { id: "c".into(), name: "t.x".into(), args: Err("no".into()) };
        let raw = json!({"role": "assistant", "content": "a", "x": [1.0]});
        let mut history = vec![
            Message::prompt("p"),
            Message::Assistant { text: Some("a".into()), calls: vec![], raw },
            Message::Assistant {
                text: None,
                calls: vec![call.clone()],
                raw: Value::Null,
            },
            Message::result(&call, ""),
        ];
        let tools = [tool];
        let ask = Ask::new("s", &mut history, &tools);
        let messages = super::super::history::outgoing(ask.history, None);
        let body = request("m", &ask, &messages, Quirks::default());
        let expected = concat!(
            r#"{"model":"m","messages":[{"role":"system","content":"s"},"#,
            r#"{"role":"user","content":"p"},"#,
            r#"{"role":"assistant","content":"a","x":[1.0]},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","#,
            r#""type":"function","function":{"name":"t_x","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"c","name":"t_x","#,
            r#""content":"(no output)"}],"tools":[{"type":"function","#,
            r#""function":{"name":"t","description":"d","parameters":"#,
            r#"{"type":"object","properties":{}}}}],"tool_choice":"auto"}"#,
        );
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }
}
