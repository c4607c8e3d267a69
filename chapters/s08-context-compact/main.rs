//! An agent for long sessions: it keeps its conversation within limits.

use anyhow::{Result, bail};
use code_agent::bash;
use code_agent::cli::{self, Console, Setup, Ui};
use code_agent::compact::Compactor;
use code_agent::files::{self, Workspace};
use code_agent::hooks::{self, Hooks, Turn};
use code_agent::llm::{Ask, Model};
use code_agent::message::{Message, close_open_calls};
use code_agent::registry::ToolRegistry;
use code_agent::skills::Skills;
use code_agent::subagent::{self, Worker};
use code_agent::todo::{Reminder, Todos};
use std::process::ExitCode;
use std::sync::Arc;

/// What one conversation needs.
struct Agent {
    ui: Ui,
    model: Arc<dyn Model>,
    system: String,
    tools: ToolRegistry,
    hooks: Hooks,
    todos: Todos,
    skills: Skills,
    compactor: Compactor,
    max_rounds: usize,
}

/// Asks the model, runs the calls in its reply, and asks again with their
/// results, until a reply has no calls: that one is the answer.
async fn agent_loop(agent: &Agent, history: &mut Vec<Message>) -> Result<String> {
    agent.skills.rescan();
    let system = format!("{}\n\n{}", agent.system, agent.skills.catalog());
    let tools = agent.tools.definitions();
    let mut turn = Turn::default();
    let mut reminder = Reminder::new(&agent.todos);
    for _ in 0..agent.max_rounds {
        agent.compactor.before_request(&*agent.model, history).await;
        let ask = Ask::new(&system, history, &tools);
        let reply = agent.compactor.chat(&*agent.model, ask).await?;
        agent.ui.show_reply(&reply);
        history.push(reply.message);
        if reply.calls.is_empty() {
            match agent.hooks.stop(&agent.ui, &mut turn) {
                Some(push) => history.push(Message::note(push)),
                None => return Ok(reply.text),
            }
        }
        for call in &reply.calls {
            let (ui, tools) = (&agent.ui, &agent.tools);
            let result = agent.hooks.run_tool(ui, tools, &mut turn, call).await;
            history.push(Message::result(call, result));
        }
        history.extend(reminder.after(&reply.calls));
    }
    bail!("stopped after {} rounds of tool calls (MAX_ROUNDS)", agent.max_rounds)
}

/// What every worker has. Each gets its own, since each must know for itself
/// which files it has read.
fn base_tools(workspace: &Workspace) -> ToolRegistry {
    ToolRegistry::default()
        .with([bash::tool(workspace)])
        .with(files::tools(workspace))
}

/// Prompts in, answers out, until there are no more.
async fn chat(ui: Ui, setup: Setup) -> Result<()> {
    let root = setup.workspace.root();
    let folder = format!("Your working folder is {}.", root.display());
    let model: Arc<dyn Model> = Arc::new(setup.client);
    let hooks = hooks::standard(root);
    let helper = Worker {
        model: model.clone(),
        tools: base_tools(&Workspace::open(root)?),
        hooks: hooks.clone(),
        console: Arc::new(ui.clone()),
        system: format!("{folder} Answer with what you found, not how."),
    };
    let todos = Todos::default();
    let skills = Skills::new(setup.workspace.clone());
    let limit = setup.settings.context_limit()?;
    let compactor = Compactor::new(setup.workspace.clone(), limit, todos.clone());
    let tools = base_tools(&setup.workspace)
        .with([todos.tool(), subagent::tool(helper)])
        .with([skills.tool(), compactor.tool()]);
    let agent = Agent {
        ui,
        model,
        system: format!(
            "You are a coding agent. {folder} \
             Use your tools to do the work yourself; do not only explain it."
        ),
        tools,
        hooks,
        todos,
        skills,
        compactor,
        max_rounds: setup.max_rounds,
    };
    let mut history = vec![];
    while let Some(prompt) = agent.ui.prompt().await {
        agent.hooks.prompt(&agent.ui, &prompt);
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
