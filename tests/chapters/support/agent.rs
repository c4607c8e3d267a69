//! The smallest agent: a loop, and tools that only write down their calls.

use code_agent::llm::{Ask, Client, LlmError, Model, Reply};
use code_agent::message::Message;
use code_agent::tool::{Definition, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::{Arc, Mutex};

/// What was called, in order, such as `read_file a.txt`.
pub type Log = Arc<Mutex<Vec<String>>>;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Read {
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct Write {
    path: String,
    content: String,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    path: String,
    line: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Edit {
    edit: Place,
}

/// The tools `read_file`, `list_dir`, `write_file` and `edit`.
pub fn tools(log: &Log) -> Vec<Tool> {
    vec![
        Tool::new("read_file", "Reads a file.", log.clone(), read),
        Tool::new(
            "list_dir",
            "Lists the folder.",
            log.clone(),
            |log: Log, _: Nothing| note(log, "list_dir".into()),
        ),
        Tool::new(
            "write_file",
            "Writes a file.",
            log.clone(),
            |log: Log, to: Write| {
                note(log, format!("write_file {} {}", to.path, to.content))
            },
        ),
        Tool::new("edit", "Edits a line.", log.clone(), |log: Log, it: Edit| {
            note(log, format!("edit {}:{}", it.edit.path, it.edit.line))
        }),
    ]
}

async fn read(log: Log, file: Read) -> anyhow::Result<String> {
    note(log, format!("read_file {}", file.path)).await?;
    anyhow::ensure!(file.path != "does-not-exist", "no such file");
    Ok(format!("the text of {}", file.path))
}

async fn note(log: Log, call: String) -> anyhow::Result<String> {
    log.lock().unwrap().push(call);
    Ok("fine".into())
}

/// One turn. A result follows each call, whatever happens.
pub async fn turn(
    client: &Client,
    history: &mut Vec<Message>,
    tools: &[Tool],
    max_tokens: Option<u32>,
) -> Result<Reply, LlmError> {
    let all: Vec<Definition> =
        tools.iter().map(|tool| tool.definition.clone()).collect();
    for _ in 0..6 {
        let ask = Ask { max_tokens, ..Ask::new("You test.", history, &all) };
        let reply = client.chat(ask).await?;
        history.push(reply.message.clone());
        if reply.calls.is_empty() {
            return Ok(reply);
        }
        for call in &reply.calls {
            let text = match tools
                .iter()
                .find(|one| one.definition.name == call.name)
            {
                Some(tool) => tool.execute(call).await,
                None => format!("Unknown tool: {}. There are: read_file", call.name),
            };
            history.push(Message::result(call, text));
        }
    }
    panic!("the loop did not end")
}
