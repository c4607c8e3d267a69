//! A chat: the whole conversation goes to the model, and its answer comes back.

use anyhow::Result;
use code_agent::cli::{self, Console, Setup, Ui};
use code_agent::llm::{Ask, Client, Model};
use code_agent::message::Message;
use std::process::ExitCode;

const SYSTEM: &str = "You are a helpful assistant. Answer briefly.";

/// What one conversation needs.
struct Agent {
    ui: Ui,
    client: Client,
}

/// Sends the conversation, stores the reply, returns its text.
async fn ask(agent: &Agent, history: &mut Vec<Message>) -> Result<String> {
    let reply = agent.client.chat(Ask::new(SYSTEM, history, &[])).await?;
    agent.ui.show_reply(&reply);
    history.push(reply.message);
    Ok(reply.text)
}

/// Prompts in, answers out, until there are no more.
async fn chat(ui: Ui, setup: Setup) -> Result<()> {
    let agent = Agent { ui, client: setup.client };
    let mut history = vec![];
    while let Some(prompt) = agent.ui.prompt().await {
        history.push(Message::prompt(prompt));
        let answer = agent.ui.cancellable(ask(&agent, &mut history)).await;
        agent.ui.answer(answer);
    }
    Ok(())
}

fn main() -> ExitCode {
    cli::main(env!("CARGO_BIN_NAME"), include_str!("demo.json"), chat)
}
