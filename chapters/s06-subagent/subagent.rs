//! A helper with a conversation of its own: the agent hands it a task and gets
//! back one text, not the way to it.

use crate::cli::{Console, Labelled};
use crate::hooks::{Hooks, Turn};
use crate::llm::{Ask, LlmError, Model};
use crate::message::Message;
use crate::registry::ToolRegistry;
use crate::tool::Tool;
use anyhow::{Result, bail, ensure};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Somebody who works with tools: a subagent here, others later.
#[derive(Clone)]
pub struct Worker {
    pub model: Arc<dyn Model>,
    pub tools: ToolRegistry,
    pub hooks: Hooks,
    /// Who is told what happens, and asked when a gate wants to know.
    pub console: Arc<dyn Console>,
    pub system: String,
}

impl Worker {
    /// One request and the calls of its reply. `Some`: there were no calls, and
    /// this is the answer.
    ///
    /// # Errors
    /// The model's. The history is then what it was.
    pub async fn round(
        &self,
        history: &mut Vec<Message>,
    ) -> Result<Option<String>, LlmError> {
        let tools = self.tools.definitions();
        let reply = self.model.chat(Ask::new(&self.system, history, &tools)).await?;
        self.console.show_reply(&reply);
        history.push(reply.message);
        // Turns are for the `Stop` hooks, which a worker does not have.
        let (console, mut turn) = (&*self.console, Turn::default());
        for call in &reply.calls {
            let result = self.hooks.run_tool(console, &self.tools, &mut turn, call);
            history.push(Message::result(call, result.await));
        }
        Ok(reply.calls.is_empty().then_some(reply.text))
    }
}

/// A subagent that gets lost must not cost more than this many requests.
const MAX_ROUNDS: usize = 30;

#[derive(Deserialize, JsonSchema)]
struct Task {
    /// What to do or to find out, with all that is needed to do it: the
    /// subagent knows nothing of this conversation.
    description: String,
}

/// The tool `task`: hands work to a subagent that has the model, the tools and
/// the hooks of `base`.
pub fn tool(base: Worker) -> Tool {
    let label = "[subagent]".into();
    let console = Arc::new(Labelled { label, inner: base.console });
    let system = format!("You are a coding subagent. {}", base.system);
    Tool::new(
        "task",
        "Give a task to a subagent: it works with a fresh conversation and the \
         basic tools, and only its last answer comes back. For searches and \
         other work whose details would only be in the way.",
        Worker { console, system, ..base },
        task,
    )
}

async fn task(worker: Worker, args: Task) -> Result<String> {
    ensure!(!args.description.trim().is_empty(), "`description` is empty");
    worker.console.note(&format!("task: {}", args.description));
    let mut history = vec![Message::prompt(args.description)];
    for _ in 0..MAX_ROUNDS {
        match worker.round(&mut history).await {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => {}
            Err(error) => bail!("the subagent failed: {error}{}", so_far(&history)),
        }
    }
    Ok(format!(
        "(incomplete: stopped after {MAX_ROUNDS} rounds){}",
        so_far(&history)
    ))
}

/// The newest text that the subagent wrote beside its calls.
fn so_far(history: &[Message]) -> String {
    let text = history.iter().rev().find_map(|message| match message {
        Message::Assistant { text: Some(text), .. } if !text.trim().is_empty() => {
            Some(text.trim())
        }
        _ => None,
    });
    text.map(|text| format!("\nSo far: {text}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Unattended;
    use crate::llm::{BoxFuture, Reply};
    use crate::message::ToolCall;
    use serde_json::{Value, json};
    use std::sync::Mutex;

    /// Answers with what is prepared; remembers what it was asked.
    struct Script {
        replies: Mutex<Vec<Result<Reply, LlmError>>>,
        asked: Mutex<Vec<(String, usize)>>,
    }

    impl Model for Script {
        fn chat<'a>(
            &'a self,
            ask: Ask<'a>,
        ) -> BoxFuture<'a, Result<Reply, LlmError>> {
            let seen = (ask.system.to_string(), ask.history.len());
            self.asked.lock().unwrap().push(seen);
            let mut replies = self.replies.lock().unwrap();
            let reply = match replies.len() {
                1 => replies[0].clone(),
                _ => replies.remove(0),
            };
            Box::pin(std::future::ready(reply))
        }
    }

    fn reply(text: &str, calls: &[&str]) -> Result<Reply, LlmError> {
        let call = |name: &&str| ToolCall {
            id: "1".into(),
            name: name.to_string(),
            args: Ok(json!({})),
        };
        let calls: Vec<_> = calls.iter().map(call).collect();
        let message = Message::Assistant {
            text: Some(text.into()),
            calls: calls.clone(),
            raw: Value::Null,
        };
        let (finish, usage) = Default::default();
        Ok(Reply { message, text: text.into(), calls, finish, usage })
    }

    async fn run(replies: Vec<Result<Reply, LlmError>>) -> (String, Arc<Script>) {
        let model = Arc::new(Script {
            replies: Mutex::new(replies),
            asked: Mutex::default(),
        });
        let base = Worker {
            model: model.clone(),
            tools: ToolRegistry::default(),
            hooks: Hooks::default(),
            console: Arc::new(Unattended { label: "[test]".into() }),
            system: "Your folder is /x.".into(),
        };
        let args = Ok(json!({"description": "look"}));
        let call = ToolCall { id: "1".into(), name: "task".into(), args };
        (tool(base).execute(&call).await, model)
    }

    #[tokio::test]
    async fn only_the_last_text_comes_back() {
        let (text, model) =
            run(vec![reply("looking", &["task"]), reply("found", &[])]).await;
        assert_eq!(text, "found");
        let asked = model.asked.lock().unwrap().clone();
        let system = "You are a coding subagent. Your folder is /x.".to_string();
        assert_eq!(asked, [(system.clone(), 1), (system, 3)]);
    }

    #[tokio::test]
    async fn a_subagent_without_end_is_stopped_and_keeps_what_it_has() {
        let (text, model) = run(vec![reply("still looking", &["x"])]).await;
        assert!(text.starts_with("(incomplete"), "{text}");
        assert!(text.contains("still looking"), "{text}");
        assert_eq!(model.asked.lock().unwrap().len(), MAX_ROUNDS);
    }

    #[tokio::test]
    async fn an_error_of_the_model_is_the_result() {
        let error = Err(LlmError::Fatal("no such model".into()));
        let (text, _) = run(vec![reply("half", &["x"]), error]).await;
        assert!(text.starts_with("Error: the subagent failed: no such model"));
        assert!(text.contains("half"), "{text}");
    }
}
