//! A plan that the model keeps for itself, and a reminder when it forgets it.

use crate::cli::{Look, show};
use crate::message::{Message, ToolCall};
use crate::tool::Tool;
use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::{Arc, Mutex, PoisonError};

/// One step of the plan.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(expecting = "an object with content and status")]
pub struct Todo {
    /// What to do, in one line.
    pub content: String,
    /// How far it is.
    pub status: Status,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Status {
    /// On a terminal the step that is being done stands out.
    fn look(self) -> Look {
        match self {
            Status::Pending => Look::Plain,
            Status::InProgress => Look::Bold,
            Status::Completed => Look::Dim,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct TodoWrite {
    /// The whole list: it replaces the one before.
    todos: Vec<Todo>,
}

/// The name of the tool, and what the reminder listens for.
const NAME: &str = "todo_write";

/// The list of one conversation. Clones share it.
#[derive(Clone, Default)]
pub struct Todos(Arc<Mutex<Vec<Todo>>>);

impl Todos {
    /// The tool that the model writes its plan with.
    pub fn tool(&self) -> Tool {
        Tool::new(
            NAME,
            "Write down the plan of a task with several steps, and keep it up to \
             date: replaces the whole list. Call it before the first step and \
             whenever a step begins or ends.",
            self.clone(),
            todo_write,
        )
    }

    /// The list as text, one line for each step; empty when there is none.
    pub fn render(&self) -> String {
        self.list().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Puts another list in its place.
    pub fn replace(&self, list: Vec<Todo>) {
        *self.list() = list;
    }

    /// Is there a list, and all of it done?
    fn finished(&self) -> bool {
        let list = self.list();
        !list.is_empty() && list.iter().all(|todo| todo.status == Status::Completed)
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Todo>> {
        // The list is replaced in one step, so it is whole even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn todo_write(todos: Todos, args: TodoWrite) -> Result<String> {
    for (n, todo) in args.todos.iter().enumerate() {
        ensure!(
            !todo.content.trim().is_empty(),
            "todos[{n}].content is empty: say what there is to do. \
             Nothing was changed."
        );
    }
    let mut lines = vec![(Look::Bold, "## Current Tasks".to_string())];
    lines.extend(args.todos.iter().map(|todo| (todo.status.look(), line(todo))));
    show(&lines);
    let count = args.todos.len();
    todos.replace(args.todos);
    Ok(format!("Updated {count} tasks"))
}

fn line(todo: &Todo) -> String {
    let mark = match todo.status {
        Status::Pending => ' ',
        Status::InProgress => '▸',
        Status::Completed => '✓',
    };
    let words: Vec<_> = todo.content.split_whitespace().collect();
    format!("  [{mark}] {}", words.join(" "))
}

/// So many rounds with calls may pass without a look at the plan.
const PATIENCE: usize = 3;

/// Counts the rounds of one turn in which the model did not touch its plan.
pub struct Reminder<'a> {
    todos: &'a Todos,
    rounds: usize,
}

impl<'a> Reminder<'a> {
    pub fn new(todos: &'a Todos) -> Self {
        Reminder { todos, rounds: 0 }
    }

    /// To be told of each round's calls; returns the reminder when it is due.
    pub fn after(&mut self, calls: &[ToolCall]) -> Option<Message> {
        let planned = calls.iter().any(|call| call.name == NAME);
        self.rounds = if planned || calls.is_empty() { 0 } else { self.rounds + 1 };
        if self.rounds < PATIENCE || self.todos.finished() {
            return None;
        }
        self.rounds = 0;
        Some(Message::note("<reminder>Update your todos.</reminder>"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    async fn write(todos: &Todos, list: Value) -> String {
        let args = Ok(json!({"todos": list}));
        let call = ToolCall { id: "1".into(), name: NAME.into(), args };
        todos.tool().execute(&call).await
    }

    fn calls(name: &str) -> Vec<ToolCall> {
        let args = Ok(json!({}));
        vec![ToolCall { id: "1".into(), name: name.into(), args }]
    }

    #[tokio::test]
    async fn the_list_is_replaced_and_rendered() {
        let todos = Todos::default();
        let list = json!([{"content": "a\n b", "status": "completed"},
            {"content": "c", "status": "in_progress"},
            {"content": "d", "status": "pending"}]);
        assert_eq!(write(&todos, list).await, "Updated 3 tasks");
        assert_eq!(todos.render(), "  [✓] a b\n  [▸] c\n  [ ] d");
        assert_eq!(write(&todos, json!([])).await, "Updated 0 tasks");
        assert_eq!(todos.render(), "");
    }

    #[tokio::test]
    async fn a_mistake_is_named_and_changes_nothing() {
        let todos = Todos::default();
        write(&todos, json!([{"content": "a", "status": "pending"}])).await;
        let text = write(&todos, json!([{"content": "b", "status": "done"}])).await;
        assert!(
            text.contains("todos[0].status") && text.contains("completed"),
            "{text}"
        );
        let text =
            write(&todos, json!([{"content": " ", "status": "pending"}])).await;
        assert!(text.contains("todos[0].content"), "{text}");
        assert_eq!(todos.render(), "  [ ] a");
    }

    #[tokio::test]
    async fn the_reminder_comes_after_three_rounds_without_the_plan() {
        let todos = Todos::default();
        let mut reminder = Reminder::new(&todos);
        let mut due = |name: &str| reminder.after(&calls(name)).is_some();
        let rounds = ["x", "x", NAME, "x", "x", "x", "x", "x", "x"].map(&mut due);
        assert_eq!(rounds, [0, 0, 0, 0, 0, 1, 0, 0, 1].map(|due| due == 1));
        write(&todos, json!([{"content": "a", "status": "completed"}])).await;
        assert!(["x"; 6].iter().all(|name| !due(name)), "all is done");
    }
}
