//! `demo.json`: what the scripted model says, and to which prompt.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A chapter's demo.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// Files that the demo needs, by their path in the workspace.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// One script for each prompt that the model knows an answer to.
    pub scripts: Vec<Script>,
}

/// The replies to one prompt, in order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The beginning of the user message that this script answers.
    pub prompt: String,
    /// What a user types next: answers to questions of the program.
    #[serde(default)]
    pub answers: Vec<String>,
    /// Prompts of the program itself are not offered to the user.
    #[serde(default)]
    pub hidden: bool,
    replies: Vec<Reply>,
}

/// One reply. `{{result}}` stands for the last tool result of the turn,
/// `{{result 2}}` for its second.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    text: Option<String>,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    args: Value,
}

impl Demo {
    pub fn parse(text: &str) -> Result<Demo> {
        serde_json::from_str(text).context("demo.json of this chapter is broken")
    }

    /// The prompts that a user can try.
    pub fn prompts(&self) -> Vec<&str> {
        let shown = self.scripts.iter().filter(|script| !script.hidden);
        shown.map(|script| script.prompt.as_str()).collect()
    }

    /// The answer to a Chat Completions request.
    ///
    /// Which reply it is follows from the request alone, as with a real model:
    /// the script is that of the newest known prompt, and the reply is the one
    /// behind as many as the model has given since.
    pub fn answer(&self, request: &Value) -> Value {
        let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let message = match self.reply(messages) {
            Some((reply, turn)) => reply.message(turn),
            None => json!({"role": "assistant", "content": self.unknown()}),
        };
        let calls = message.get("tool_calls").is_some();
        json!({
            "object": "chat.completion",
            "model": "offline",
            "choices": [{
                "index": 0,
                "finish_reason": if calls { "tool_calls" } else { "stop" },
                "message": message,
            }],
        })
    }

    fn reply<'a>(&self, messages: &'a [Value]) -> Option<(&Reply, &'a [Value])> {
        let (at, script) = messages
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, message)| message["role"] == "user")
            .map(|(at, message)| (at, message["content"].as_str().unwrap_or("")))
            .find_map(|(at, text)| match self.script(text) {
                Some(script) => Some((at, Some(script))),
                // The program's own remarks do not open a turn.
                None if text.starts_with(['<', '[']) => None,
                None => Some((at, None)),
            })?;
        let turn = &messages[at + 1..];
        let said = turn.iter().filter(|one| one["role"] == "assistant").count();
        Some((script?.replies.get(said)?, turn))
    }

    fn script(&self, text: &str) -> Option<&Script> {
        self.scripts.iter().find(|script| text.starts_with(&script.prompt))
    }

    fn unknown(&self) -> String {
        format!(
            "I am a script, not a model, and I only know an answer to:\n\n{}\n\n\
             Set OPENAI_API_KEY, OPENAI_BASE_URL or ANTHROPIC_API_KEY to talk to \
             a real model (see .env.example).",
            self.prompts().join("\n")
        )
    }
}

impl Reply {
    fn message(&self, turn: &[Value]) -> Value {
        let results: Vec<&str> = turn
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| message["content"].as_str().unwrap_or(""))
            .collect();
        let text = self.text.as_ref().map(|text| fill(text, &results));
        let mut message = json!({"role": "assistant", "content": text});
        if !self.calls.is_empty() {
            let id = |n: usize| format!("call_{}_{n}", results.len());
            let calls = self.calls.iter().enumerate();
            let calls = calls.map(|(n, call)| call.wire(&id(n), &results));
            message["tool_calls"] = calls.collect();
        }
        message
    }
}

impl Call {
    fn wire(&self, id: &str, results: &[&str]) -> Value {
        let args = fill_all(&self.args, results).to_string();
        json!({
            "id": id,
            "type": "function",
            "function": {"name": self.name, "arguments": args},
        })
    }
}

/// Puts real tool results into a scripted text.
fn fill(text: &str, results: &[&str]) -> String {
    let mut text = text.to_string();
    for (n, result) in results.iter().enumerate() {
        text = text.replace(&format!("{{{{result {}}}}}", n + 1), result.trim());
    }
    text.replace("{{result}}", results.last().map_or("", |last| last.trim()))
}

fn fill_all(args: &Value, results: &[&str]) -> Value {
    match args {
        Value::String(text) => fill(text, results).into(),
        Value::Array(all) => all.iter().map(|one| fill_all(one, results)).collect(),
        Value::Object(all) => all
            .iter()
            .map(|(key, one)| (key.clone(), fill_all(one, results)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo() -> Demo {
        Demo::parse(
            r#"{"scripts": [{"prompt": "Count", "replies": [
                {"calls": [{"name": "bash", "args": {"command": "wc"}}]},
                {"text": "It is {{result}} or {{result 1}}."}]}]}"#,
        )
        .unwrap()
    }

    fn answer(messages: Value) -> Value {
        let answer = demo().answer(&json!({"messages": messages}));
        answer["choices"][0]["message"].clone()
    }

    #[test]
    fn a_script_is_played_in_order_with_real_results() {
        let user = json!({"role": "user", "content": "Count, please"});
        let call = answer(json!([user]));
        assert_eq!(
            call["tool_calls"][0]["function"]["arguments"],
            r#"{"command":"wc"}"#
        );
        let result = json!({"role": "tool", "content": "7\n"});
        let text = answer(json!([user, call, result]));
        assert_eq!(text["content"], "It is 7 or 7.");
    }

    #[test]
    fn remarks_of_the_program_do_not_open_a_turn() {
        let user = json!({"role": "user", "content": "Count"});
        let note = json!({"role": "user", "content": "<reminder>x</reminder>"});
        assert!(answer(json!([user, note]))["tool_calls"].is_array());
    }

    #[test]
    fn another_prompt_gets_an_honest_answer() {
        let first = json!({"role": "user", "content": "Count"});
        let other = json!({"role": "user", "content": "Sing"});
        let said = answer(json!([first, other]))["content"].to_string();
        assert!(said.contains("I am a script") && said.contains("Count"), "{said}");
    }
}
