//! The Messages format of Anthropic: contents are lists of blocks, and results
//! of calls are blocks in the user's next message.

use super::answer::{self, Answer};
use super::history::Outgoing;
use super::ids::{Ids, safe_name, safe_text};
use super::repairs::Quirks;
use super::{Ask, arguments};
use crate::message::{Message, ToolCall};
use crate::tool::Definition;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// This format demands a limit; it costs nothing unless it is used.
const MAX_TOKENS: u32 = 8192;
/// The first message must be the user's, also after a history was shortened.
const OPENING: &str = "(Earlier messages were removed.)";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    system: &'a str,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    AsItCame(&'a Value),
    Typed(Typed<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Typed<'a> {
    Text { text: &'a str },
    ToolUse { id: &'a str, name: Cow<'a, str>, input: Value },
    ToolResult { tool_use_id: &'a str, content: &'a str },
}

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

/// Writes a request.
pub fn request(
    model: &str,
    ask: &Ask<'_>,
    messages: &Outgoing<'_>,
    _: Quirks,
) -> Vec<u8> {
    let body = Body {
        model,
        max_tokens: ask.max_tokens.unwrap_or(MAX_TOKENS),
        system: ask.system.trim(),
        messages: turns(messages),
        tools: ask.tools.iter().map(declaration).collect(),
    };
    // Only maps with keys that are no strings cannot be written.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn declaration(tool: &Definition) -> Declaration<'_> {
    let (name, description) = (&tool.name, &tool.description);
    Declaration { name, description, input_schema: &tool.schema }
}

/// Users and models must take turns, so neighbours of one role become one.
/// Results stand right behind their calls, and so come first in their message.
fn turns<'a>(messages: &'a Outgoing<'_>) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::with_capacity(messages.len());
    for message in messages.iter() {
        let (role, blocks) = blocks(message);
        match turns.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => turns.push(Turn { role, content: blocks }),
        }
    }
    if turns.first().is_some_and(|first| first.role != "user") {
        turns.insert(0, Turn { role: "user", content: vec![text(OPENING)] });
    }
    turns
}

fn text(text: &str) -> Block<'_> {
    Block::Typed(Typed::Text { text })
}

fn blocks(message: &Message) -> (&'static str, Vec<Block<'_>>) {
    match message {
        Message::Prompt(words) | Message::Note(words) => ("user", vec![text(words)]),
        Message::Tool { id, text, .. } => {
            let content = safe_text(text);
            let result = Typed::ToolResult { tool_use_id: id, content };
            ("user", vec![Block::Typed(result)])
        }
        Message::Assistant { text: words, calls, raw } => {
            let blocks = match raw.as_array() {
                Some(blocks) if fits(blocks, calls) => {
                    blocks.iter().map(Block::AsItCame).collect()
                }
                _ => words
                    .as_deref()
                    .map(text)
                    .into_iter()
                    .chain(uses(calls))
                    .collect(),
            };
            ("assistant", blocks)
        }
    }
}

/// The calls in our own words.
fn uses(calls: &[ToolCall]) -> impl Iterator<Item = Block<'_>> {
    calls.iter().map(|call| {
        let input = call.args.clone().unwrap_or_else(|_| json!({}));
        Block::Typed(Typed::ToolUse {
            id: &call.id,
            name: safe_name(&call.name),
            input,
        })
    })
}

/// Do the stored blocks belong to these calls?
fn fits(blocks: &[Value], calls: &[ToolCall]) -> bool {
    let ids = blocks.iter().filter(|one| is_use(one)).map(|one| one["id"].as_str());
    !blocks.is_empty() && ids.eq(calls.iter().map(|call| Some(&*call.id)))
}

fn is_use(block: &Value) -> bool {
    block["type"] == "tool_use"
}

/// Does this body hold an answer?
pub fn is_answer(body: &Value) -> bool {
    body["content"].is_array() || body["content"].is_string()
}

/// Reads an answer. Its blocks are kept as they came, signed thoughts above
/// all; blank texts, which would be refused, are dropped.
pub fn answer(mut body: Value, history: &[Message]) -> Answer {
    let usage = &body["usage"];
    let cached = ["cache_read_input_tokens", "cache_creation_input_tokens"];
    let input = ["input_tokens", cached[0], cached[1]];
    let usage = answer::usage(
        answer::count(usage, &input),
        answer::count(usage, &["output_tokens"]),
    );
    let finish = body["stop_reason"].as_str().unwrap_or("").to_string();
    let mut blocks = match body["content"].take() {
        Value::Array(blocks) => blocks,
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        _ => vec![],
    };
    blocks.retain(|block| block["type"].is_string() && !is_blank(block));
    let mut ids = Ids::new(history);
    let uses = blocks.iter_mut().filter(|block| is_use(block));
    let calls = uses.map(|block| settle(block, &mut ids)).collect();
    let said = |kind: &str, field: &str| -> String {
        let blocks = blocks.iter().filter(|block| block["type"] == *kind);
        blocks.filter_map(|block| block[field].as_str()).collect()
    };
    Answer {
        text: said("text", "text"),
        thoughts: said("thinking", "thinking"),
        refused: false,
        calls,
        finish,
        usage,
        raw: Value::Array(blocks),
    }
}

fn is_blank(block: &Value) -> bool {
    let text = block["text"].as_str().unwrap_or("");
    block["type"] == "text" && text.trim().is_empty()
}

fn settle(block: &mut Value, ids: &mut Ids<'_>) -> ToolCall {
    let id = ids.settle(block["id"].as_str().unwrap_or(""));
    let name = block["name"].as_str().unwrap_or("").to_string();
    let args = arguments::parse(&block["input"]);
    block["id"] = json!(id);
    block["name"] = json!(safe_name(&name));
    if !block["input"].is_object() {
        block["input"] = args.clone().unwrap_or_else(|_| json!({}));
    }
    ToolCall { id, name, args }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_byte_for_byte() {
        let call =
            ToolCall { id: "c".into(), name: "t.x".into(), args: Err("no".into()) };
        let mut history = vec![
            Message::Assistant {
                text: Some("a".into()),
                calls: vec![call.clone()],
                raw: json!({"role": "assistant", "content": "other format"}),
            },
            Message::note("n"),
            Message::result(&call, ""),
        ];
        let ask = Ask { max_tokens: Some(9), ..Ask::new("s", &mut history, &[]) };
        let messages = super::super::history::outgoing(ask.history, None);
        let body = request("m", &ask, &messages, Quirks::default());
        let expected = concat!(
            r#"{"model":"m","max_tokens":9,"system":"s","messages":["#,
            r#"{"role":"user","content":[{"type":"text","#,
            r#""text":"(Earlier messages were removed.)"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"a"},"#,
            r#"{"type":"tool_use","id":"c","name":"t_x","input":{}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","#,
            r#""content":"(no output)"},{"type":"text","text":"n"}]}]}"#,
        );
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }
}
