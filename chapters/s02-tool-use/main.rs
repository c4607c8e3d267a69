//! An agent with a set of tools: the loop looks each call up by its name.

use anyhow::{Result, bail};
use code_agent::cli::{self, Console, Setup, Ui};
use code_agent::llm::{Ask, Client, Model};
use code_agent::message::{Message, close_open_calls};
use code_agent::registry::ToolRegistry;
use code_agent::{bash, files};
use std::process::ExitCode;

/// What one conversation needs.
struct Agent {
    ui: Ui,
    client: Client,
    system: String,
    tools: ToolRegistry,
    max_rounds: usize,
}

/// Asks the model, runs the calls in its reply, and asks again with their
/// results, until a reply has no calls: that one is the answer.
async fn agent_loop(agent: &Agent, history: &mut Vec<Message>) -> Result<String> {
    let tools = agent.tools.definitions();
    for _ in 0..agent.max_rounds {
        let ask = Ask::new(&agent.system, history, &tools);
        let reply = agent.client.chat(ask).await?;
        agent.ui.show_reply(&reply);
        history.push(reply.message);
        if reply.calls.is_empty() {
            return Ok(reply.text);
        }
        for call in &reply.calls {
            agent.ui.show_call(call);
            let result = agent.tools.execute(call).await;
            agent.ui.show_result(&result);
            history.push(Message::result(call, result));
        }
    }
    bail!("stopped after {} rounds of tool calls (MAX_ROUNDS)", agent.max_rounds)
}

/// Prompts in, answers out, until there are no more.
async fn chat(ui: Ui, setup: Setup) -> Result<()> {
    let tools = ToolRegistry::default()
        .with([bash::tool(&setup.workspace)])
        .with(files::tools(&setup.workspace));
    let agent = Agent {
        ui,
        client: setup.client,
        system: format!(
            "You are a coding agent. Your working folder is {}. \
             Use your tools to do the work yourself; do not only explain it.",
            setup.workspace.root().display()
        ),
        tools,
        max_rounds: setup.max_rounds,
    };
    let mut history = vec![];
    while let Some(prompt) = agent.ui.prompt().await {
        history.push(Message::prompt(prompt));
        let answer = agent.ui.cancellable(agent_loop(&agent, &mut history)).await;
        close_open_calls(&mut history, "Cancelled by the user.");
        agent.ui.answer(answer);
    }
    Ok(())
}

fn main() -> ExitCode {
    cli::main(env!("CARGO_BIN_NAME"), include_str!("demo.json"), chat)
}
