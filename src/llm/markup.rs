//! What models write into plain text that is not meant for the reader: their
//! thoughts, and calls that the server did not recognise.

use crate::tool::Definition;
use serde_json::Value;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// How models of different families begin or end a call in plain text.
const CALLS: [&str; 11] = [
    "<tool_call",
    "</tool_call>",
    "<function=",
    "<function_call",
    "<|tool_call",
    "<|tool▁call",
    "<｜tool▁call",
    "<｜DSML｜",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "<invoke name=",
];

/// Splits a text into thoughts and answer.
///
/// Some chat templates hold the opening tag themselves, so a text may start
/// inside of the thoughts and show the closing tag only.
pub fn split_thoughts(text: &str) -> (&str, &str) {
    let opened = text.trim_start().starts_with(OPEN);
    let close = text.rmatch_indices(CLOSE).find(|(at, _)| !is_quoted(text, *at));
    match close {
        Some((at, _)) if opened || !text[..at].contains(OPEN) => {
            (&text[..at], text[at + CLOSE.len()..].trim_start())
        }
        _ if opened => (text, ""),
        _ => ("", text),
    }
}

/// An answer may speak about the tag: `</think>`.
fn is_quoted(text: &str, at: usize) -> bool {
    text[..at].ends_with('`') || text[at + CLOSE.len()..].starts_with('`')
}

/// Does this text try to call a tool? What stands in code is a quotation.
pub fn attempts_call(text: &str, tools: &[Definition]) -> bool {
    is_bare_call(text, tools) || prose(text).any(has_mark)
}

/// A call begins its line, or its body follows, or it ends the line. In the
/// middle of a sentence somebody is talking about calls.
fn has_mark(part: &str) -> bool {
    let part = part.trim();
    CALLS.iter().any(|mark| {
        let Some((before, after)) = part.split_once(mark) else { return false };
        let body = after.split_once('>').map_or(after, |(_, body)| body).trim();
        before.is_empty() || body.is_empty() || body.starts_with(['{', '[', '<'])
    })
}

/// `{"name": "bash", "arguments": {…}}`, or a list of these, and nothing else.
fn is_bare_call(text: &str, tools: &[Definition]) -> bool {
    if !text.trim_start().starts_with(['{', '[']) {
        return false;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let Some(Ok(value)) = values.next() else { return false };
    let call = if value.is_array() { &value[0] } else { &value };
    tools.iter().any(|tool| call["name"] == *tool.name)
        && (call["arguments"].is_object() || call["parameters"].is_object())
}

/// The parts of a text that stand neither in a code block nor in `code`.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    text.lines().flat_map(move |line| {
        let is_fence =
            ["```", "~~~"].iter().any(|f| line.trim_start().starts_with(f));
        in_block ^= is_fence;
        let is_code = in_block || is_fence || line.starts_with("    ");
        let line = if is_code { "" } else { line };
        line.split('`').step_by(2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_split_off() {
        for (text, thoughts, answer) in [
            ("plain", "", "plain"),
            ("<think>a</think>B", "<think>a", "B"),
            ("\n<think>a</think>b</think>\n\nB", "\n<think>a</think>b", "B"),
            ("let me see\n</think>\nB", "let me see\n", "B"),
            ("<think>cut", "<think>cut", ""),
            ("Say <think> and </think>.", "", "Say <think> and </think>."),
            ("The tag `</think>` ends it.", "", "The tag `</think>` ends it."),
        ] {
            assert_eq!(split_thoughts(text), (thoughts, answer), "{text}");
        }
    }

    fn attempts(text: &str) -> bool {
        let tool = Definition {
            name: "bash".into(),
            description: String::new(),
            schema: Value::Null,
        };
        attempts_call(text, &[tool])
    }

    #[test]
    fn attempted_calls_are_found() {
        for text in [
            "<tool_call>\n{\"name\":\"x\"}\n</tool_call>",
            "I look.\n<function=read>\n<parameter=path>a</function>\n</tool_call>",
            "<｜DSML｜function_calls>",
            "```\ncode\n```\n<tool_call>{",
            "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}",
            "{\"name\": \"bash\", \"parameters\": {}} Now I wait.",
            "[{\"name\": \"bash\", \"arguments\": {}}]",
            "I use <tool_call>{\"name\":\"x\"}",
        ] {
            assert!(attempts(text), "{text}");
        }
    }

    #[test]
    fn quotations_are_left_alone() {
        for text in [
            "",
            "Example:\n```\n<tool_call>{}</tool_call>\n```\nThat is all.",
            "Models write `<tool_call>` there.",
            "{\"name\": \"Anna\", \"arguments\": {}}",
            "{\"name\": \"bash\"}",
            "Call a function: f(x).",
            "The tag <tool_call> starts a call.",
            "In XML-RPC you write <invoke name=\"x\"> and then more.",
            "Like this:\n\n    <tool_call>{}</tool_call>\n",
        ] {
            assert!(!attempts(text), "{text}");
        }
    }
}
