//! Every place of an answer, replaced by every odd value: nothing panics, and
//! whatever is stored of it can be sent again.

use super::classify::classify;
use super::history;
use super::repairs::Quirks;
use super::wire::Wire;
use super::{Ask, Provider};
use crate::message::Message;
use crate::tool::Definition;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

#[path = "../../tests/chapters/support/protocol.rs"]
mod protocol;

fn odd_values() -> Vec<Value> {
    vec![
        json!(null),
        json!(""),
        json!(" \n"),
        json!("x"),
        json!("a b.c"),
        json!("{\"a\": [1"),
        json!([]),
        json!([null]),
        json!([[]]),
        json!(["x"]),
        json!([{}]),
        json!({}),
        json!({"x": null}),
        json!(-1),
        json!(1.5e300),
        json!(true),
    ]
}

/// The pointers of all places in a value.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_string());
    match value {
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(key, one)| places(one, &format!("{at}/{key}"), all));
        }
        Value::Array(list) => {
            let inner = list.iter().enumerate();
            inner.for_each(|(key, one)| places(one, &format!("{at}/{key}"), all));
        }
        _ => {}
    }
}

fn mutants(body: &Value) -> Vec<Value> {
    let mut all = vec![];
    places(body, "", &mut all);
    let replaced = |(at, odd): (String, Value)| {
        let mut body = body.clone();
        *body.pointer_mut(&at).unwrap() = odd;
        body
    };
    let each =
        |at: String| odd_values().into_iter().map(move |odd| (at.clone(), odd));
    all.into_iter().flat_map(each).map(replaced).collect()
}

/// Reads a body twice in a row, as two turns, and returns the next request.
fn next_request(wire: &Wire, body: &Value) -> Option<Value> {
    let tool = Definition {
        name: "t".into(),
        description: "d".into(),
        schema: json!({"type": "object", "properties": {}}),
    };
    let mut stored = vec![Message::prompt("Go.")];
    for _ in 0..2 {
        if !(wire.is_answer)(body) {
            return None;
        }
        let answer = (wire.answer)(body.clone(), &stored);
        answer.attempts_call(std::slice::from_ref(&tool));
        let reply = answer.into_reply().ok()?;
        stored.push(reply.message);
        stored.extend(reply.calls.iter().map(|call| Message::result(call, "")));
    }
    let ask = Ask::new("s", &mut stored, std::slice::from_ref(&tool));
    let messages = history::outgoing(ask.history, Some("now"));
    let body = (wire.request)("m", &ask, &messages, Quirks::default());
    Some(serde_json::from_slice(&body).unwrap())
}

#[test]
fn odd_answers_leave_a_history_that_can_be_sent() {
    let call = json!({"id": "c", "type": "function", "x": 1,
        "function": {"name": "t", "arguments": "{\"a\": 1}"}});
    let body = json!({"choices": [{"finish_reason": "stop", "message": {
        "role": "assistant", "content": [{"type": "text", "text": "a"}],
        "reasoning_content": "r", "refusal": null, "audio": null,
        "function_call": {"name": "t", "arguments": "{}"},
        "tool_calls": [call, call]}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
    let requests: Vec<_> = mutants(&body)
        .iter()
        .filter_map(|body| next_request(Wire::of(Provider::OpenAi), body))
        .collect();
    requests.iter().for_each(protocol::check_openai);
    assert!(requests.len() > 300, "{}", requests.len());
}

#[test]
fn odd_messages_leave_a_history_that_can_be_sent() {
    let call =
        json!({"type": "tool_use", "id": "c", "name": "t", "input": {"a": 1}});
    let body = json!({"type": "message", "role": "assistant", "content": [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "text", "text": "a"}, call, call], "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1}});
    let requests: Vec<_> = mutants(&body)
        .iter()
        .filter_map(|body| next_request(Wire::of(Provider::Anthropic), body))
        .collect();
    requests.iter().for_each(protocol::check_anthropic);
    assert!(requests.len() > 300, "{}", requests.len());
}

#[test]
fn odd_errors_are_told() {
    let body = json!({"error": {"message": "m (1 > 2 - 3)", "code": 400, "type": "x",
        "details": [{"retryDelay": "9s"}],
        "raw": "{\"error\": {\"message\": \"n\"}}"},
        "detail": [{"loc": ["a", 1], "msg": "max_tokens is too large"}],
        "message": "prompt is too long: 5 tokens > 4", "n_ctx": 1});
    for body in mutants(&body) {
        for status in [200, 400, 413, 429, 500, 529, 999] {
            let error = classify(status, &HeaderMap::new(), &body.to_string());
            assert!(error.to_string().contains("HTTP"), "{body}");
        }
    }
}
