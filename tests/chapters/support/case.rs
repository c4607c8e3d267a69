//! One run of a binary against the fake model.

use super::fake::{Answer, Fake};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing here takes seconds; the limit is generous for loaded machines.
const DEADLINE: Duration = Duration::from_secs(120);

/// The environment variables that decide which model is used.
const PROVIDER_VARIABLES: [&str; 11] = [
    "LLM_PROVIDER",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "FALLBACK_MODEL",
    "BRAVE_API_KEY",
    "MAX_ROUNDS",
    "AGENT_NAME",
];

/// Folders whose files have random names.
const RANDOM_NAMES: [&str; 2] = [".task_outputs/tool-results/", ".transcripts/"];

/// Puts `[name]` for the names behind `folder`, up to their endings.
fn without_names(text: &str, folder: &str) -> String {
    let mut parts = text.split(folder);
    let mut shown = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        let name = if rest.len() < part.len() { "[name]" } else { "" };
        shown += &format!("{folder}{name}{rest}");
    }
    shown
}

/// A case in the making: a workspace, a fake model, a command line.
pub struct Case {
    pub fake: Fake,
    workspace: TempDir,
    command: Command,
    stdin: Option<String>,
}

impl Case {
    /// A run of the binary `name` that talks to the fake in the OpenAI format.
    pub fn new(name: &str) -> Case {
        let fake = Fake::start();
        let mut case = Case::bare(name, fake);
        let url = format!("{}/v1", case.fake.url());
        case.command.env("OPENAI_BASE_URL", url).env("OPENAI_MODEL", "test-model");
        case
    }

    /// The same in the Anthropic format.
    pub fn anthropic(name: &str) -> Case {
        let mut case = Case::bare(name, Fake::start());
        let url = case.fake.url();
        case.command
            .env("ANTHROPIC_API_KEY", "test-key")
            .env("ANTHROPIC_BASE_URL", url)
            .env("ANTHROPIC_MODEL", "test-model");
        case.command.env("LLM_PROVIDER", "anthropic");
        case
    }

    /// No model configured: the scripted one answers.
    pub fn offline(name: &str) -> Case {
        let mut case = Case::bare(name, Fake::start());
        case.command.arg("--workspace").arg(case.workspace.path());
        case
    }

    fn bare(name: &str, fake: Fake) -> Case {
        let workspace = TempDir::new().unwrap();
        let mut command = Command::new(super::path(name));
        command.current_dir(workspace.path()).env("NO_COLOR", "1");
        PROVIDER_VARIABLES.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.env("CONTEXT_LIMIT", "10000000").env("RETRY_BASE_MS", "1");
        Case { fake, workspace, command, stdin: None }
    }

    /// What the model answers, one after the other.
    pub fn replies(self, answers: impl Into<Vec<Answer>>) -> Self {
        self.fake.route("", answers.into(), false);
        self
    }

    /// What the model answers, the last one for ever.
    pub fn replies_forever(self, answers: impl Into<Vec<Answer>>) -> Self {
        self.fake.route("", answers.into(), true);
        self
    }

    /// What the model answers in a conversation with a user message that
    /// starts with `prompt`.
    pub fn replies_to(self, prompt: &str, answers: impl Into<Vec<Answer>>) -> Self {
        self.fake.route(prompt, answers.into(), false);
        self
    }

    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.workspace.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// One shot.
    pub fn prompt(self, text: &str) -> Self {
        self.args(&[text])
    }

    /// Piped input, one prompt a line.
    pub fn stdin(mut self, text: &str) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// The folder that the agent works in.
    pub fn workspace(&self) -> &Path {
        self.workspace.path()
    }

    /// Runs to the end and fails if anything was not as the protocol wants it.
    pub fn run(self) -> Run {
        let (run, faults) = self.run_unchecked();
        assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), run.transcript());
        run
    }

    /// Runs to the end; the faults that the fake saw are for the caller.
    pub fn run_unchecked(mut self) -> (Run, Vec<String>) {
        let input = self.stdin.take().unwrap_or_default();
        let mut running = self.spawn();
        running.write(&input);
        let run = running.finish();
        let faults = run.fake.faults();
        (run, faults)
    }

    /// Starts it and hands over the controls.
    pub fn spawn(mut self) -> Running {
        self.command.stdin(Stdio::piped());
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = Screen::read(child.stdout.take().unwrap());
        let stderr = Screen::read(child.stderr.take().unwrap());
        Running { case: self, child, stdin, stdout, stderr }
    }
}

/// A run that is going on.
pub struct Running {
    case: Case,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Screen,
    stderr: Screen,
}

impl Running {
    pub fn write(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is still open");
        // The program may have ended without reading: the run will tell.
        let _ = stdin.write_all(text.as_bytes());
    }

    /// Waits until stderr has this text.
    pub fn wait_for(&self, text: &str) {
        self.stderr.wait_for(text);
    }

    /// Waits until stdout has this text.
    pub fn wait_for_answer(&self, text: &str) {
        self.stdout.wait_for(text);
    }

    /// Waits until the model was asked.
    pub fn wait_for_request(&self) {
        until("a request", || !self.case.fake.requests().is_empty());
    }

    pub fn workspace(&self) -> &Path {
        self.case.workspace()
    }

    /// For answers that depend on what has happened so far.
    pub fn fake(&self) -> &Fake {
        &self.case.fake
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Ends the input and waits for the end of the program.
    pub fn finish(mut self) -> Run {
        drop(self.stdin.take());
        let status = wait(&mut self.child, &self.stderr);
        Run {
            status,
            stdout: self.stdout.rest(),
            stderr: self.stderr.rest(),
            workspace: self.case.workspace,
            fake: self.case.fake,
        }
    }
}

/// Waits for something that another process does.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < DEADLINE, "{what}: not after {DEADLINE:?}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

fn wait(child: &mut Child, stderr: &Screen) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > DEADLINE {
            let _ = child.kill();
            panic!("still running after {DEADLINE:?}:\n{}", stderr.text());
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// A stream of the child, read by a thread.
struct Screen {
    text: Arc<(Mutex<Vec<u8>>, Condvar)>,
    reader: std::thread::JoinHandle<()>,
}

impl Screen {
    fn read(mut stream: impl Read + Send + 'static) -> Screen {
        let text = Arc::new((Mutex::new(vec![]), Condvar::new()));
        let shared = text.clone();
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut piece) {
                shared.0.lock().unwrap().extend_from_slice(&piece[..n]);
                shared.1.notify_all();
            }
        });
        Screen { text, reader }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.0.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, wanted: &str) {
        let missing =
            |text: &mut Vec<u8>| !String::from_utf8_lossy(text).contains(wanted);
        let text = self.text.0.lock().unwrap();
        let (text, waited) =
            self.text.1.wait_timeout_while(text, DEADLINE, missing).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(!waited.timed_out(), "{wanted:?} never came:\n{text}");
    }

    fn rest(self) -> String {
        self.reader.join().unwrap();
        let text = std::mem::take(&mut *self.text.0.lock().unwrap());
        String::from_utf8(text).expect("output is UTF-8")
    }
}

/// A finished run.
pub struct Run {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub workspace: TempDir,
    pub fake: Fake,
}

impl Run {
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.workspace.path().join(path)
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// The requests that the model saw, side calls left out.
    pub fn requests(&self) -> Vec<Value> {
        self.fake.requests()
    }

    /// The tool results in the last request, in order.
    pub fn results(&self) -> Vec<String> {
        let requests = self.requests();
        let messages = requests.last().expect("a request")["messages"].clone();
        let messages = messages.as_array().cloned().unwrap_or_default();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        results.map(|one| one["content"].as_str().unwrap().to_string()).collect()
    }

    /// What a reader sees, for a snapshot.
    pub fn transcript(&self) -> String {
        let (code, out, err) = (self.status, &self.stdout, &self.stderr);
        self.redact(&format!("{code}\n--- stdout\n{out}--- stderr\n{err}"))
    }

    /// What the model saw, for a snapshot: each request's new messages.
    pub fn conversation(&self) -> String {
        let mut text = String::new();
        let mut seen = 0;
        for (n, request) in self.requests().iter().enumerate() {
            let messages = request["messages"].as_array().unwrap();
            let _ = writeln!(text, "request {}", n + 1);
            // A shorter list is another conversation.
            seen = if messages.len() > seen { seen } else { 0 };
            for message in &messages[seen..] {
                let _ = writeln!(text, "  {message}");
            }
            seen = messages.len();
        }
        self.redact(&text)
    }

    /// Takes out what differs from run to run.
    pub fn redact(&self, text: &str) -> String {
        let path = self.workspace.path();
        let real = path.canonicalize().unwrap();
        let text = text
            .replace(&real.display().to_string(), "[workspace]")
            .replace(&path.display().to_string(), "[workspace]")
            .replace(&self.fake.url(), "http://[fake]");
        RANDOM_NAMES.iter().fold(text, |text, folder| without_names(&text, folder))
    }
}
