//! Extension points: code that runs at fixed moments of a turn, registered
//! from outside, so that the loop never changes for it.

use crate::cli::{Console, note};
use crate::message::ToolCall;
use crate::permission::{Permission, check_permission, question};
use crate::registry::ToolRegistry;
use crate::tool::panic_text;
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// What a gate says about a call.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Not my business: the next gate decides.
    Continue,
    /// Somebody must say yes first; the text says why.
    Ask(String),
    /// The call does not run; the text is its result.
    Block(String),
}

/// What happened in one turn, for the hooks at its end.
#[derive(Default)]
pub struct Turn {
    /// The calls that were let through, and their results, in order.
    pub calls: Vec<(ToolCall, String)>,
    /// How often a `Stop` hook has sent the model back to work.
    sent_back: usize,
}

/// A `Stop` hook that is never content must not hold the user for ever.
const MOST_SENT_BACK: usize = 3;

type Prompt = dyn Fn(&str) -> Result<()> + Send + Sync;
type Gate = dyn Fn(&ToolCall) -> Result<Verdict> + Send + Sync;
type Before = dyn Fn(&ToolCall) -> Result<()> + Send + Sync;
type After = dyn Fn(&ToolCall, &str) -> Result<()> + Send + Sync;
type Stop = dyn Fn(&Turn) -> Result<Option<String>> + Send + Sync;

/// The registered hooks, each kind in order of registration.
#[derive(Clone, Default)]
pub struct Hooks {
    prompt: Vec<Arc<Prompt>>,
    gates: Vec<Arc<Gate>>,
    before: Vec<Arc<Before>>,
    after: Vec<Arc<After>>,
    stop: Vec<Arc<Stop>>,
}

/// Registering: one line for each hook.
impl Hooks {
    /// `UserPromptSubmit`: sees each prompt of the user.
    pub fn on_prompt(
        &mut self,
        f: impl Fn(&str) -> Result<()> + Send + Sync + 'static,
    ) {
        self.prompt.push(Arc::new(f));
    }

    /// `PreToolUse`, with a say: may stop a call or have it asked about.
    pub fn gate(
        &mut self,
        f: impl Fn(&ToolCall) -> Result<Verdict> + Send + Sync + 'static,
    ) {
        self.gates.push(Arc::new(f));
    }

    /// `PreToolUse`, without a say: sees each call, also one that is denied.
    pub fn before_tool(
        &mut self,
        f: impl Fn(&ToolCall) -> Result<()> + Send + Sync + 'static,
    ) {
        self.before.push(Arc::new(f));
    }

    /// `PostToolUse`: sees each call that has run, and its result.
    pub fn after_tool(
        &mut self,
        f: impl Fn(&ToolCall, &str) -> Result<()> + Send + Sync + 'static,
    ) {
        self.after.push(Arc::new(f));
    }

    /// `Stop`: sees the turn before its answer is given. A text sends the
    /// model back to work, with that text as its next message.
    pub fn on_stop(
        &mut self,
        f: impl Fn(&Turn) -> Result<Option<String>> + Send + Sync + 'static,
    ) {
        self.stop.push(Arc::new(f));
    }
}

/// Running: what the loop calls.
impl Hooks {
    /// The user has sent a prompt.
    pub fn prompt(&self, console: &dyn Console, prompt: &str) {
        for hook in &self.prompt {
            watch(console, "UserPromptSubmit", || hook(prompt));
        }
    }

    /// Runs one call with everything around it, and returns its result.
    pub async fn run_tool(
        &self,
        console: &dyn Console,
        tools: &ToolRegistry,
        turn: &mut Turn,
        call: &ToolCall,
    ) -> String {
        console.show_call(call);
        for hook in &self.before {
            watch(console, "PreToolUse", || hook(call));
        }
        let result = match self.permit(console, call).await {
            Ok(()) => {
                let result = self.execute(console, tools, call).await;
                turn.calls.push((call.clone(), result.clone()));
                result
            }
            Err(refusal) => refusal,
        };
        console.show_result(&result);
        result
    }

    async fn execute(
        &self,
        console: &dyn Console,
        tools: &ToolRegistry,
        call: &ToolCall,
    ) -> String {
        let result = tools.execute(call).await;
        for hook in &self.after {
            watch(console, "PostToolUse", || hook(call, &result));
        }
        result
    }

    /// Asks the gates in order. The first that blocks, or whose question is
    /// answered no, ends it: the text is what the model gets as the result. A
    /// yes only opens one gate; the next one is asked all the same.
    async fn permit(
        &self,
        console: &dyn Console,
        call: &ToolCall,
    ) -> Result<(), String> {
        for gate in &self.gates {
            // A gate that fails has not said yes.
            let verdict = attempt(|| gate(call)).unwrap_or_else(|error| {
                Verdict::Block(format!(
                    "Permission denied: a hook failed: {error:#}"
                ))
            });
            match verdict {
                Verdict::Continue => {}
                Verdict::Ask(reason) => {
                    if !console.confirm(&question(call, &reason)).await {
                        return Err("Permission denied by user.".into());
                    }
                }
                Verdict::Block(text) => {
                    console.note(&format!("[hook] PreToolUse → blocked: {text}"));
                    return Err(text);
                }
            }
        }
        Ok(())
    }

    /// The model has given its answer. `Some`: it goes on instead, with this
    /// text as the next message.
    pub fn stop(&self, console: &dyn Console, turn: &mut Turn) -> Option<String> {
        let mut push = None;
        for hook in &self.stop {
            match attempt(|| hook(turn)) {
                Ok(text) => push = push.or(text),
                Err(error) => failed(console, "Stop", &error),
            }
        }
        let push = push.filter(|_| turn.sent_back < MOST_SENT_BACK)?;
        turn.sent_back += 1;
        console.note(&format!("[hook] Stop → go on: {push}"));
        Some(push)
    }
}

/// Runs a hook. A panic inside is its failure, not ours.
fn attempt<T>(hook: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(hook))
        .unwrap_or_else(|panic| Err(anyhow!("{}", panic_text(&*panic))))
}

/// Runs a hook that only looks on: its failure is reported, nothing more.
fn watch(console: &dyn Console, event: &str, hook: impl FnOnce() -> Result<()>) {
    if let Err(error) = attempt(hook) {
        failed(console, event, &error);
    }
}

fn failed(console: &dyn Console, event: &str, error: &anyhow::Error) {
    console.note(&format!("[hook] {event} → a hook failed: {error:#}"));
}

/// The gate of chapter s03, as a hook.
pub fn permission(call: &ToolCall) -> Result<Verdict> {
    Ok(match check_permission(&call.name, call.object()) {
        Permission::Allow => Verdict::Continue,
        Permission::Ask(reason) => Verdict::Ask(reason),
        Permission::Deny(why) => Verdict::Block(format!("Permission denied: {why}")),
    })
}

/// Results above this many characters are worth a remark.
const LARGE: usize = 100_000;

/// The hooks that every later chapter has: the gate, and one observer for
/// each event. `folder` is what the context hook tells about.
pub fn standard(folder: &Path) -> Hooks {
    let folder = folder.display().to_string();
    let mut hooks = Hooks::default();
    hooks.gate(permission);
    hooks
        .on_prompt(move |_| say(&format!("UserPromptSubmit → working in {folder}")));
    hooks.before_tool(|call| say(&format!("PreToolUse → {}", call.name)));
    hooks.after_tool(|call, result| match large_output(call, result) {
        Some(text) => say(&format!("PostToolUse → {text}")),
        None => Ok(()),
    });
    hooks.on_stop(|turn| say(&format!("Stop → {}", summary(turn))).map(|()| None));
    hooks
}

fn say(text: &str) -> Result<()> {
    note(&format!("[hook] {text}"));
    Ok(())
}

fn large_output(call: &ToolCall, result: &str) -> Option<String> {
    let size = result.chars().count();
    let text = || format!("large output of {}: {size} characters", call.name);
    (size > LARGE).then(text)
}

/// Which tools a turn used, and how often.
fn summary(turn: &Turn) -> String {
    let mut counts = BTreeMap::new();
    for (call, _) in &turn.calls {
        *counts.entry(&call.name).or_insert(0) += 1;
    }
    let list: Vec<_> =
        counts.iter().map(|(name, n)| format!("{name} ×{n}")).collect();
    match list.is_empty() {
        true => "no tools used".into(),
        false => format!("tools used: {}", list.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::BoxFuture;
    use futures_util::FutureExt;
    use serde_json::json;
    use std::sync::Mutex;

    /// A console that answers every question the same way and keeps all lines.
    struct Script {
        answer: bool,
        lines: Mutex<Vec<String>>,
    }

    impl Console for Script {
        fn confirm<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool> {
            self.note(question);
            Box::pin(std::future::ready(self.answer))
        }

        fn note(&self, text: &str) {
            self.lines.lock().unwrap().push(text.into());
        }
    }

    fn script(answer: bool) -> Script {
        Script { answer, lines: Mutex::default() }
    }

    fn tools() -> ToolRegistry {
        let run = |_| async { Ok("ran".to_string()) }.boxed();
        let tool = crate::tool::Tool::raw("go", "", json!({}), run);
        ToolRegistry::default().with([tool])
    }

    async fn run(hooks: &Hooks, console: &Script) -> String {
        let call = ToolCall {
            id: "1".into(),
            name: "go".into(),
            args: Ok(json!({"a": 1})),
        };
        hooks.run_tool(console, &tools(), &mut Turn::default(), &call).await
    }

    /// Counts how often a hook was called.
    fn counter() -> (Arc<Mutex<usize>>, impl Fn() -> Result<()> + Clone) {
        let count = Arc::new(Mutex::new(0));
        let shared = count.clone();
        let hook = move || {
            *shared.lock().unwrap() += 1;
            Ok(())
        };
        (count, hook)
    }

    #[tokio::test]
    async fn the_first_block_ends_it_and_observers_see_all() {
        let mut hooks = Hooks::default();
        let (before, hook) = counter();
        hooks.before_tool(move |_| hook());
        let (after, hook) = counter();
        hooks.after_tool(move |_, _| hook());
        hooks.gate(|_| Ok(Verdict::Block("no way".into())));
        let (second, hook) = counter();
        hooks.gate(move |_| hook().map(|()| Verdict::Continue));
        assert_eq!(run(&hooks, &script(true)).await, "no way");
        let count = |c: Arc<Mutex<usize>>| *c.lock().unwrap();
        assert_eq!((count(before), count(after), count(second)), (1, 0, 0));
    }

    #[tokio::test]
    async fn a_yes_goes_on_to_the_next_gate_and_a_no_ends_it() {
        let mut hooks = Hooks::default();
        hooks.gate(|_| Ok(Verdict::Ask("first".into())));
        hooks.gate(|_| Ok(Verdict::Ask("second".into())));
        let yes = script(true);
        assert_eq!(run(&hooks, &yes).await, "ran");
        let asked = yes.lines.lock().unwrap().join("\n");
        assert!(asked.contains("first") && asked.contains("second"), "{asked}");
        assert!(asked.contains(r#"go {"a":1}"#), "the whole call: {asked}");
        let no = script(false);
        assert_eq!(run(&hooks, &no).await, "Permission denied by user.");
        assert!(!no.lines.lock().unwrap().join("\n").contains("second"));
    }

    #[tokio::test]
    async fn a_failing_gate_blocks_and_a_failing_observer_is_reported() {
        let mut hooks = Hooks::default();
        hooks.before_tool(|_| anyhow::bail!("disk full"));
        hooks.after_tool(|_, _| panic!("odd"));
        let console = script(true);
        assert_eq!(run(&hooks, &console).await, "ran");
        let lines = console.lines.lock().unwrap().join("\n");
        assert!(lines.contains("disk full") && lines.contains("odd"), "{lines}");
        hooks.gate(|_| panic!("gate broke"));
        let text = run(&hooks, &script(true)).await;
        assert!(
            text.starts_with("Permission denied") && text.contains("gate broke")
        );
    }

    #[test]
    fn a_stop_hook_sends_back_three_times_at_most() {
        let mut hooks = Hooks::default();
        hooks.on_stop(|_| anyhow::bail!("broken"));
        hooks.on_stop(|_| Ok(Some("test first".into())));
        let (console, mut turn) = (script(true), Turn::default());
        for _ in 0..MOST_SENT_BACK {
            assert_eq!(hooks.stop(&console, &mut turn).unwrap(), "test first");
        }
        assert_eq!(hooks.stop(&console, &mut turn), None);
        assert_eq!(
            hooks.stop(&console, &mut Turn::default()).unwrap(),
            "test first"
        );
    }

    #[test]
    fn only_a_large_result_is_remarked_on() {
        let args = Ok(json!({}));
        let call = ToolCall { id: "1".into(), name: "go".into(), args };
        assert_eq!(large_output(&call, &"é".repeat(LARGE)), None);
        let text = large_output(&call, &"é".repeat(LARGE + 1)).unwrap();
        assert_eq!(text, "large output of go: 100001 characters");
    }

    #[test]
    fn the_summary_counts_the_tools_of_the_turn() {
        let call = |name: &str| ToolCall {
            id: String::new(),
            name: name.into(),
            args: Ok(json!({})),
        };
        let calls = ["b", "a", "b"].map(|name| (call(name), String::new()));
        let turn = Turn { calls: calls.into(), sent_back: 0 };
        assert_eq!(summary(&turn), "tools used: a ×1, b ×2");
        assert_eq!(summary(&Turn::default()), "no tools used");
    }
}
