//! Keeps a conversation inside the model's window, so that a session can go on
//! for as long as the work takes. Cheap and lossless steps come first.

mod emergency;
mod persist;
mod shorten;
mod summary;
mod transcript;

pub use shorten::total;

use crate::cli::note;
use crate::files::Workspace;
use crate::llm::Model;
use crate::message::Message;
use crate::todo::Todos;
use crate::tool::Tool;
use persist::persist_unseen;
use schemars::JsonSchema;
use serde::Deserialize;
use shorten::{is_prompt, micro_compact, size, snip, tail};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use summary::{ask_for_summary, compacted, original};
use transcript::Transcript;

/// How many characters of a conversation a summary request shows.
const SUMMARY_INPUT: usize = 80_000;
/// After so many failures in a row, summaries are only made in an emergency or
/// when the model asks for one.
const TRIES: usize = 3;
/// When the model asks, a conversation of a few lines may even grow by this
/// much: the words around a summary are longer than what it stands for.
const COURTESY: usize = 1_000;

/// Compacts conversations. Clones share everything.
#[derive(Clone)]
pub struct Compactor {
    workspace: Workspace,
    /// Characters of the messages' JSON.
    limit: usize,
    todos: Todos,
    /// What the model asked for with its tool: the focus of a summary.
    wish: Arc<Mutex<Option<String>>>,
    failures: Arc<AtomicUsize>,
    transcript: Transcript,
}

#[derive(Deserialize, JsonSchema)]
struct Compact {
    /// What the summary must keep in detail.
    focus: Option<String>,
}

impl Compactor {
    pub fn new(workspace: Workspace, limit_chars: usize, todos: Todos) -> Self {
        let (wish, failures) = Default::default();
        let transcript = Transcript::new(workspace.clone());
        let limit = limit_chars;
        Compactor { workspace, limit, todos, wish, failures, transcript }
    }

    /// The tool `compact`. It only leaves a wish: calls beside it still have to
    /// get their results, so it is the next [`before_request`] that acts.
    ///
    /// [`before_request`]: Compactor::before_request
    pub fn tool(&self) -> Tool {
        let description = "Replace the older part of this conversation by a \
            summary, when a piece of work is done and its details are in the way.";
        let wish = self.wish.clone();
        Tool::new("compact", description, wish, |wish, args: Compact| async move {
            let mut wish = wish.lock().unwrap_or_else(PoisonError::into_inner);
            *wish = Some(args.focus.unwrap_or_default());
            Ok("From the next request on, a summary stands for the rest.".into())
        })
    }

    /// To be called before each request: takes the steps that are needed, the
    /// cheapest first. A failure is reported and leaves the history usable.
    pub async fn before_request(
        &self,
        model: &dyn Model,
        history: &mut Vec<Message>,
    ) {
        let (before, mut gone) = (total(history), vec![]);
        let mut now = before - persist_unseen(&self.workspace, history, self.limit);
        now -= snip(history, &mut gone);
        if now > self.limit {
            now -= micro_compact(history, &mut gone);
        }
        self.transcript.add(&gone);
        let wish = self.wish.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (label, most) = match wish {
            Some(_) => ("manual", now + COURTESY),
            None => ("auto", now),
        };
        if wish.is_some() || now > self.limit && self.is_worth_it(history) {
            let focus = wish.unwrap_or_default();
            match self.summarize(model, history, &focus, SUMMARY_INPUT, most).await {
                Ok(size) => now = size,
                Err(why) => note(&format!("[{label} compact] no summary: {why}")),
            }
        }
        if now != before {
            note(&format!("[{label} compact] {before} → {now} characters"));
        }
    }

    /// A request that is over the limit by itself cannot be helped; each round
    /// would pay for a summary of the round before.
    fn is_worth_it(&self, history: &[Message]) -> bool {
        let old = &history[..tail(history)];
        let (first, newest) = requests(old);
        let kept: usize = first.into_iter().chain(newest).map(size).sum();
        let gain = total(old) - kept;
        gain > self.limit / 4 && self.failures.load(Relaxed) < TRIES
    }

    /// Puts a summary in the place of all but the tail. Returns the new size.
    ///
    /// # Errors
    /// Why there is no summary that makes the history smaller than `most`. It
    /// is then as it was: nothing changes before nothing can fail any more.
    async fn summarize(
        &self,
        model: &dyn Model,
        history: &mut Vec<Message>,
        focus: &str,
        input: usize,
        most: usize,
    ) -> Result<usize, String> {
        let (old, unseen) = history.split_at(tail(history));
        if old.is_empty() {
            return Err("there is nothing older than the last reply".into());
        }
        let summary = ask_for_summary(model, old, focus, input).await;
        // Until it has succeeded, it counts as a failure.
        self.failures.fetch_add(1, Relaxed);
        let summary = summary?;
        let (first, newest) = requests(old);
        let transcript = self.transcript.path();
        let transcript = transcript
            .unwrap_or_else(|error| format!("could not be saved: {error}"));
        let first = first.map_or("(none)", original);
        let todos = self.todos.render();
        let mut new = vec![compacted(first, &summary, &todos, &transcript)];
        // The newest request stays the last prompt: what goes out with it in
        // each request must not wander to the first one.
        new.extend(newest.filter(|_| !unseen.iter().any(is_prompt)).cloned());
        let size = total(&new) + total(unseen);
        if size >= most {
            return Err("it would be longer than what it stands for".into());
        }
        let end = old.len();
        let gone: Vec<_> = history.splice(..end, new).collect();
        self.transcript.add(&gone);
        self.failures.store(0, Relaxed);
        Ok(size)
    }
}

/// The first request and, if that is another one, the newest.
fn requests(old: &[Message]) -> (Option<&Message>, Option<&Message>) {
    let mut prompts = old.iter().filter(|one| is_prompt(one));
    (prompts.next(), prompts.next_back())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Ask, BoxFuture, LlmError, Reply};
    use crate::message::ToolCall;
    use crate::todo::{Status, Todo};
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::collections::HashMap;
    use std::fs;

    /// A list with one open task.
    fn todos(content: &str) -> Todos {
        let todos = Todos::default();
        let (content, status) = (content.into(), Status::Pending);
        todos.replace(vec![Todo { content, status }]);
        todos
    }

    /// Answers every request in the same way, and keeps what it was sent.
    struct Fake {
        answer: Result<String, LlmError>,
        asked: Mutex<Vec<String>>,
    }

    impl Fake {
        fn new(answer: Result<&str, LlmError>) -> Self {
            Fake { answer: answer.map(String::from), asked: Mutex::default() }
        }

        fn asked(&self) -> Vec<String> {
            self.asked.lock().unwrap().clone()
        }
    }

    impl Model for Fake {
        fn chat<'a>(
            &'a self,
            ask: Ask<'a>,
        ) -> BoxFuture<'a, Result<Reply, LlmError>> {
            let Some(Message::Prompt(text)) = ask.history.last() else { panic!() };
            assert!(ask.tools.is_empty() && ask.history.len() == 1);
            self.asked.lock().unwrap().push(text.clone());
            let answer = self.answer.clone();
            Box::pin(async move {
                let text = answer?;
                let message = said(&text, vec![]);
                let finish = "stop".into();
                Ok(Reply { message, text, calls: vec![], finish, usage: None })
            })
        }
    }

    fn said(text: &str, calls: Vec<ToolCall>) -> Message {
        Message::Assistant { text: Some(text.into()), calls, raw: Value::Null }
    }

    fn too_long(tokens: Option<(u64, u64)>) -> LlmError {
        let (used, limit) = tokens.unzip();
        LlmError::ContextTooLong { message: "no".into(), used, limit }
    }

    fn call(id: &str, name: &str, args: Value) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), args: Ok(args) }
    }

    fn place() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        (folder, workspace)
    }

    /// A request, some rounds of one call each, whose results have `chars`
    /// characters, and an unseen result.
    fn session(rounds: usize, chars: usize) -> Vec<Message> {
        let mut history = vec![Message::prompt("the request")];
        for n in 0..rounds {
            let call = call(&n.to_string(), "bash", json!({"command": "ls"}));
            history.push(said("I look.", vec![call.clone()]));
            history.push(Message::result(&call, "é".repeat(chars)));
        }
        history
    }

    fn text(message: &Message) -> &str {
        match message {
            Message::Prompt(text) | Message::Note(text) => text,
            Message::Tool { text, .. } => text,
            Message::Assistant { text, .. } => text.as_deref().unwrap_or(""),
        }
    }

    #[tokio::test]
    async fn a_long_session_becomes_a_summary_and_its_tail() {
        let (_folder, workspace) = place();
        let todos = todos("the open task");
        let compactor = Compactor::new(workspace.clone(), 4_000, todos);
        let mut history = session(9, 1_500);
        let before = history.clone();
        let model = Fake::new(Ok("what matters"));
        compactor.before_request(&model, &mut history).await;
        assert_eq!(history.len(), 3);
        assert_eq!(history[1..], before[before.len() - 2..]);
        let opening = text(&history[0]);
        let path = opening.split_once("Full transcript: ").unwrap().1;
        assert!(opening.starts_with("[Compacted]"));
        for part in ["the request", "what matters", "[ ] the open task"] {
            assert!(opening.contains(part), "{opening}");
        }
        let written = fs::read_to_string(workspace.root().join(path)).unwrap();
        for gone in &before[..before.len() - 2] {
            assert!(written.contains(&shorten::json(gone).to_string()), "{gone:?}");
        }
        let asked = model.asked();
        assert_eq!(asked.len(), 1);
        assert!(asked[0].starts_with("Summarize this coding-agent conversation"));
        assert!(
            asked[0].contains("USER: the request\nAGENT: I look.\nCALL of bash")
        );
    }

    #[tokio::test]
    async fn an_older_summary_is_folded_into_the_new_one() {
        let (_folder, workspace) = place();
        let compactor = Compactor::new(workspace, 4_000, Todos::default());
        let mut history = session(9, 1_500);
        compactor.before_request(&Fake::new(Ok("ONE")), &mut history).await;
        history.push(Message::prompt("another request"));
        history.extend(session(9, 1_500).into_iter().skip(1));
        let model = Fake::new(Ok("TWO"));
        compactor.before_request(&model, &mut history).await;
        assert!(model.asked()[0].contains("ONE"));
        let opening = text(&history[0]);
        assert_eq!(opening.matches("[Compacted]").count(), 1);
        assert_eq!(opening.matches("the request").count(), 1);
        assert!(opening.contains("TWO") && !opening.contains("ONE"));
        assert_eq!(history[1], Message::prompt("another request"));
    }

    #[tokio::test]
    async fn without_a_summary_nothing_is_lost_and_the_tries_are_bounded() {
        let long = "x".repeat(50_000);
        let answers = [Ok(""), Ok(" \n"), Ok(&*long), Err(too_long(None))];
        for answer in answers {
            let (_folder, workspace) = place();
            let compactor = Compactor::new(workspace, 4_000, Todos::default());
            let mut history = session(9, 1_500);
            let model = Fake::new(answer);
            compactor.before_request(&model, &mut history).await;
            let cheap = history.clone();
            assert_eq!(history.len(), session(9, 1_500).len());
            for _ in 0..9 {
                compactor.before_request(&model, &mut history).await;
            }
            assert_eq!(history, cheap);
            assert_eq!(model.asked().len(), TRIES);
        }
    }

    #[tokio::test]
    async fn a_wish_is_granted_once_with_its_focus_and_beside_other_calls() {
        let (_folder, workspace) = place();
        let compactor = Compactor::new(workspace, 12_000, Todos::default());
        let args = json!({"focus": "the port number"});
        let calls = [call("1", "bash", json!({})), call("2", "compact", args)];
        let mut history = vec![Message::prompt("do it"), said("", calls.to_vec())];
        history.push(Message::result(&calls[0], "8080"));
        let answer = compactor.tool().execute(&calls[1]).await;
        history.push(Message::result(&calls[1], answer));
        let before = history.clone();
        let model = Fake::new(Ok("brief"));
        compactor.before_request(&model, &mut history).await;
        assert!(model.asked()[0].contains("Keep in detail: the port number"));
        assert!(text(&history[0]).starts_with("[Compacted]"));
        assert_eq!(history[1..], before[1..]);
        compactor.before_request(&model, &mut history).await;
        assert_eq!(model.asked().len(), 1);
    }

    #[tokio::test]
    async fn a_request_that_is_too_large_by_itself_costs_no_summaries() {
        let (_folder, workspace) = place();
        let compactor = Compactor::new(workspace, 4_000, Todos::default());
        let mut history = vec![Message::prompt("x".repeat(9_000))];
        let model = Fake::new(Ok("brief"));
        for n in 0..4 {
            compactor.before_request(&model, &mut history).await;
            let call = call(&n.to_string(), "bash", json!({}));
            history.push(said("", vec![call.clone()]));
            history.push(Message::result(&call, "ok"));
        }
        assert_eq!(model.asked().len(), 0);
    }

    /// Refuses what is longer than `most` characters, summaries too.
    struct Window {
        most: usize,
        asked: AtomicUsize,
    }

    impl Model for Window {
        fn chat<'a>(
            &'a self,
            ask: Ask<'a>,
        ) -> BoxFuture<'a, Result<Reply, LlmError>> {
            self.asked.fetch_add(1, Relaxed);
            let used = total(ask.history) + emergency::overhead(&ask);
            let fits = used <= self.most;
            let answer = Fake::new(match fits {
                true => Ok("DONE"),
                false => {
                    Err(too_long(Some((used as u64 / 4, self.most as u64 / 4))))
                }
            });
            Box::pin(async move {
                answer.chat(Ask::new("", &mut vec![Message::prompt("")], &[])).await
            })
        }
    }

    /// What a later chapter does: a model that recovers for every caller.
    struct Recovering(Arc<dyn Model>, Compactor);

    impl Model for Recovering {
        fn chat<'a>(
            &'a self,
            ask: Ask<'a>,
        ) -> BoxFuture<'a, Result<Reply, LlmError>> {
            Box::pin(self.1.chat(&*self.0, ask))
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_is_made_to_fit() {
        let huge = "漢".repeat(100_000);
        let unseen = {
            let call = call("1", "bash", json!({}));
            vec![
                Message::prompt("do it"),
                said("", vec![call.clone()]),
                Message::result(&call, format!("Error: {huge}")),
            ]
        };
        let histories = [
            session(40, 1_500),
            unseen,
            vec![Message::prompt(huge)],
            session(3, 50_000),
        ];
        for mut history in histories {
            let (_folder, workspace) = place();
            let compactor = Compactor::new(workspace, 10_000_000, Todos::default());
            let model = Arc::new(Window { most: 8_000, asked: AtomicUsize::new(0) });
            let recovering = Recovering(model.clone(), compactor);
            let ask = Ask::new("You are an agent.", &mut history, &[]);
            assert_eq!(recovering.chat(ask).await.unwrap().text, "DONE");
            assert!(model.asked.load(Relaxed) <= 3);
            assert!(total(&history) < 8_000);
        }
    }

    #[tokio::test]
    async fn what_can_not_fit_is_an_error_after_one_retry() {
        let (_folder, workspace) = place();
        let compactor = Compactor::new(workspace, 10_000_000, Todos::default());
        let model = Window { most: 10, asked: AtomicUsize::new(0) };
        let mut history = session(20, 1_500);
        let ask = Ask::new("You are an agent.", &mut history, &[]);
        let error = compactor.chat(&model, ask).await.unwrap_err();
        assert!(matches!(error, LlmError::ContextTooLong { .. }));
        assert_eq!(model.asked.load(Relaxed), 3);
        // Not even the summary fitted: then the middle goes without one.
        assert_eq!(text(&history[1]), "[snipped 38 messages from the middle]");
        assert_eq!(history.len(), 4);
    }

    #[tokio::test]
    async fn other_errors_are_not_ours() {
        let (_folder, workspace) = place();
        let compactor = Compactor::new(workspace, 12_000, Todos::default());
        let mut history = session(20, 1_500);
        let before = history.clone();
        let model = Fake::new(Ok(""));
        let mut ask = Ask::new("", &mut history, &[]);
        let error =
            LlmError::MaxTokens { message: "8192 at most".into(), limit: None };
        assert!(!compactor.emergency(&model, &mut ask, &error).await);
        assert_eq!(history, before);
    }

    /// Forty rounds as an agent runs them: how much of a request was in the
    /// one before, so that the provider need not read it again.
    #[tokio::test]
    async fn requests_share_their_beginning_between_compactions() {
        let (_folder, workspace) = place();
        let compactor = Compactor::new(workspace, 12_000, Todos::default());
        let model = Fake::new(Ok("what matters"));
        let mut history = vec![Message::prompt("the request")];
        let (mut last, mut shares) = (String::new(), vec![]);
        for n in 0..40 {
            let length = history.len();
            let before = total(&history);
            compactor.before_request(&model, &mut history).await;
            let compacted = history.len() < length || total(&history) != before;
            let lines = history.iter().map(|one| shorten::json(one).to_string());
            let request = lines.collect::<Vec<_>>().join("\n");
            let same = last.bytes().zip(request.bytes()).take_while(|(a, b)| a == b);
            shares.push((compacted, same.count(), last.len()));
            last = request;
            let call = call(&n.to_string(), "bash", json!({"command": "ls"}));
            history.push(said("I look.", vec![call.clone()]));
            history.push(Message::result(&call, "line\n".repeat(40 + 37 * n % 200)));
        }
        let share = |shares: &[(bool, usize, usize)]| {
            let same: usize = shares.iter().map(|one| one.1).sum();
            let all: usize = shares.iter().map(|one| one.2).sum();
            same as f64 / all as f64
        };
        let quiet: Vec<_> = shares.iter().copied().filter(|one| !one.0).collect();
        println!(
            "{} compactions, {:.3} quiet, {:.3} over all, {} summaries",
            shares.len() - quiet.len(),
            share(&quiet),
            share(&shares),
            model.asked().len()
        );
        assert!(share(&quiet) >= 0.95);
        assert!(quiet.len() >= 24, "{shares:?}");
    }

    // Random sessions.

    #[derive(Clone, Debug)]
    enum Step {
        Turn { request: String, rounds: Vec<Vec<String>>, answer: Option<String> },
        Note(String),
        Before,
        Wish,
        Emergency(Option<(u64, u64)>),
    }

    fn any_text() -> impl Strategy<Value = String> {
        let pieces = prop_oneof![
            Just("a"),
            Just("漢"),
            Just("🦀e\u{301}"),
            Just("line\n"),
            Just("\"\\\0"),
            Just("Error: "),
            Just("<persisted-output>\n"),
            Just("[Compacted] "),
        ];
        let repeated =
            prop_oneof![6 => 0..40usize, 3 => 0..1_200usize, 1 => 0..9_000usize];
        let part = (pieces, repeated).prop_map(|(piece, n)| piece.repeat(n));
        prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat())
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let results = prop::collection::vec(any_text(), 1..4);
        let rounds = prop_oneof![
            8 => prop::collection::vec(results, 0..5),
            1 => (26..40usize).prop_map(|n| vec![vec!["ok".to_string()]; n]),
        ];
        let answer = prop::option::of(any_text());
        let turn =
            (any_text(), rounds, answer).prop_map(|(request, rounds, answer)| {
                Step::Turn { request, rounds, answer }
            });
        let numbers = prop::option::of((1..90_000u64, 1..90_000u64));
        prop_oneof![
            5 => turn,
            1 => any_text().prop_map(Step::Note),
            4 => Just(Step::Before),
            1 => Just(Step::Wish),
            1 => numbers.prop_map(Step::Emergency),
        ]
    }

    /// What was really said, to compare with what is left.
    #[derive(Default)]
    struct Truth {
        results: HashMap<String, String>,
        request: String,
        ids: usize,
    }

    impl Truth {
        fn grow(&mut self, history: &mut Vec<Message>, step: &Step) {
            match step {
                Step::Note(text) => history.push(Message::note(text)),
                Step::Turn { request, rounds, answer } => {
                    self.request = request.clone();
                    history.push(Message::prompt(request));
                    rounds.iter().for_each(|results| self.round(history, results));
                    history.extend(answer.as_ref().map(|text| said(text, vec![])));
                }
                _ => {}
            }
        }

        fn round(&mut self, history: &mut Vec<Message>, results: &[String]) {
            let mut new = || {
                self.ids += 1;
                call(&format!("c{}", self.ids), "bash", json!({"command": "漢"}))
            };
            let calls: Vec<_> = results.iter().map(|_| new()).collect();
            history.push(said("I look.", calls.clone()));
            for (call, text) in calls.iter().zip(results) {
                self.results.insert(call.id.clone(), text.clone());
                history.push(Message::result(call, text));
            }
        }
    }

    fn paired(history: &[Message]) -> bool {
        let mut open = vec![];
        for message in history {
            match message {
                Message::Tool { id, .. } if open.first() == Some(id) => {
                    open.remove(0);
                }
                Message::Tool { .. } => return false,
                _ if !open.is_empty() => return false,
                Message::Assistant { calls, .. } => {
                    open = calls.iter().map(|call| call.id.clone()).collect();
                }
                _ => {}
            }
        }
        open.is_empty()
    }

    /// Is `text` the whole of `truth`, or a note of the file that has it?
    fn holds(workspace: &Workspace, text: &str, truth: &str) -> bool {
        let on_disk = || {
            let (_, rest) = text.split_once(" characters in ")?;
            let path = rest.lines().next()?.trim_end_matches(']');
            fs::read_to_string(workspace.root().join(path)).ok()
        };
        text == truth
            || original(&Message::prompt(text)) == truth
            || on_disk().is_some_and(|whole| holds(workspace, &whole, truth))
    }

    fn check(steps: &[Step], answer: Result<&str, LlmError>, disk: bool) {
        let (_folder, workspace) = place();
        if !disk {
            fs::write(workspace.root().join(".task_outputs"), "in the way").unwrap();
        }
        let compactor = Compactor::new(workspace.clone(), 6_000, todos("task"));
        let model = Fake::new(answer);
        let (mut history, mut truth) = (vec![], Truth::default());
        let wait = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for step in steps {
            truth.grow(&mut history, step);
            let (before, start) = (total(&history), shorten::unseen(&history));
            let waiting: Vec<_> = history[start..].to_vec();
            let mut may_grow = 0;
            match step {
                Step::Emergency(tokens) => {
                    let mut ask = Ask::new("", &mut history, &[]);
                    let error = too_long(*tokens);
                    let smaller =
                        wait.block_on(compactor.emergency(&model, &mut ask, &error));
                    assert_eq!(smaller, total(&history) < before);
                }
                Step::Before | Step::Wish => {
                    if matches!(step, Step::Wish) {
                        *compactor.wish.lock().unwrap() = Some("漢".into());
                        may_grow = COURTESY;
                    }
                    wait.block_on(compactor.before_request(&model, &mut history));
                    let once = history.clone();
                    wait.block_on(compactor.before_request(&model, &mut history));
                    assert_eq!(history, once, "a second pass changes nothing");
                }
                _ => continue,
            }
            assert!(paired(&history), "{history:#?}");
            assert!(total(&history) <= before + may_grow);
            let gaps =
                history.iter().filter(|one| text(one).starts_with("[snipped "));
            assert!(gaps.count() <= 1);
            if !disk {
                continue;
            }
            let start = history.len() - waiting.len();
            for (now, then) in history[start..].iter().zip(&waiting) {
                match (now, then) {
                    (
                        Message::Tool { id, text, .. },
                        Message::Tool { id: then, .. },
                    ) => {
                        assert_eq!(id, then);
                        assert!(
                            holds(&workspace, text, &truth.results[id]),
                            "{text}"
                        );
                    }
                    _ if matches!(step, Step::Emergency(_)) => {}
                    _ => assert!(
                        now == then || holds(&workspace, text(now), text(then))
                    ),
                }
            }
            if let Some(newest) = history.iter().rfind(|one| is_prompt(one)) {
                assert!(
                    holds(&workspace, text(newest), &truth.request),
                    "{newest:?}"
                );
            }
            let path = workspace.root().join(compactor.transcript.path().unwrap());
            let written = fs::read_to_string(path).unwrap();
            let gone =
                written.lines().map(|line| serde_json::from_str(line).unwrap());
            let gone = gone.map(|line: Value| {
                let part =
                    |name: &str| line[name].as_str().unwrap_or("").to_string();
                (part("tool_call_id"), part("content"))
            });
            let here = history.iter().filter_map(|one| match one {
                Message::Tool { id, text, .. } => Some((id.clone(), text.clone())),
                _ => None,
            });
            let found: Vec<_> = here.chain(gone).collect();
            for (id, whole) in &truth.results {
                let mut texts = found.iter().filter(|one| one.0 == *id);
                let is_there = texts.any(|one| holds(&workspace, &one.1, whole));
                assert!(is_there, "{id} is lost: {whole}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 32,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn random_sessions_keep_the_promises(
            steps in prop::collection::vec(any_step(), 1..14),
        ) {
            let long = "long ".repeat(40_000);
            for answer in [Ok("brief"), Ok(" "), Err(too_long(None)), Ok(&*long)] {
                check(&steps, answer, true);
            }
            check(&steps, Ok("brief"), false);
        }
    }
}
