//! What compaction costs: the provider's cache, time and memory.

use crate::{peak_memory, read_request, respond, this};
use code_agent::compact::{Compactor, total};
use code_agent::files::Workspace;
use code_agent::llm::{Ask, BoxFuture, LlmError, Model, Reply};
use code_agent::message::{Message, ToolCall};
use code_agent::todo::Todos;
use serde_json::{Value, json};
use std::io::{BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 40;

/// Forty rounds of `s08-context-compact`: how much of each request is the
/// beginning of the one before, byte for byte?
pub fn stability() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let url = format!("http://{}/v1", listener.local_addr().expect("it has one"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_s08-context-compact"));
    command.arg("go").current_dir(folder.path());
    command.env("LLM_PROVIDER", "openai").env("OPENAI_BASE_URL", &url);
    command.env("OPENAI_MODEL", "m").env("CONTEXT_LIMIT", "12000");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stderr = child.stderr.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    let (requests, summaries) = play(&listener);
    child.wait().expect("it ends");
    let notes = reader.join().expect("a thread").expect("UTF-8");
    let shares = shares(&requests, &compacted(&notes));
    let percent = |shares: &[(bool, usize, usize)]| {
        let same: usize = shares.iter().map(|one| one.1).sum();
        let all: usize = shares.iter().map(|one| one.2).sum();
        100.0 * same as f64 / all as f64
    };
    let quiet: Vec<_> = shares.iter().copied().filter(|one| !one.0).collect();
    println!(
        "\n{ROUNDS} rounds, limit 12000: {} compactions, {summaries} summaries; of \
         each request's bytes, {:.1} % begin the next one outside of compactions, \
         {:.1} % overall",
        shares.len() - quiet.len(),
        percent(&quiet),
        percent(&shares)
    );
}

/// Plays the model. Returns the requests as a cache sees them, and how many
/// others asked for a summary.
fn play(listener: &TcpListener) -> (Vec<String>, usize) {
    let (stream, _) = listener.accept().expect("it connects");
    let mut output = stream.try_clone().expect("a second handle");
    let mut input = BufReader::new(stream);
    let (mut requests, mut summaries) = (vec![], 0);
    while requests.len() <= ROUNDS {
        let (_, body) = read_request(&mut input);
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let Some(tools) = body.get("tools") else {
            summaries += 1;
            respond(&mut output, &json!({"content": "What matters, briefly."}));
            continue;
        };
        let messages = body["messages"].as_array().expect("a list").iter();
        let lines = [tools].into_iter().chain(messages).map(Value::to_string);
        requests.push(lines.collect::<Vec<_>>().join("\n"));
        let round = requests.len();
        if round > ROUNDS {
            respond(&mut output, &json!({"content": "done"}));
        } else {
            respond(&mut output, &call(round));
        }
    }
    (requests, summaries)
}

/// A command whose output is now short, now long.
fn call(round: usize) -> Value {
    let command = format!("seq 1 {}", 40 + 137 * round % 700);
    let arguments = json!({"command": command}).to_string();
    let function = json!({"name": "bash", "arguments": arguments});
    let call = json!({"id": format!("c{round}"), "type": "function",
        "function": function});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

/// For each round, whether there was a compaction behind it.
fn compacted(notes: &str) -> Vec<bool> {
    let rounds = notes.split("\n$ seq ").skip(1);
    rounds.map(|round| round.contains(" compact] ")).collect()
}

/// For each request but the first: was the list compacted before it, how many
/// bytes of the one before begin it, and how many there are.
fn shares(requests: &[String], compacted: &[bool]) -> Vec<(bool, usize, usize)> {
    let pairs = requests.windows(2).zip(compacted);
    let share = |(pair, compacted): (&[String], &bool)| {
        let bytes = pair[0].bytes().zip(pair[1].bytes());
        let same = bytes.take_while(|(old, new)| old == new).count();
        (*compacted, same, pair[0].len())
    };
    pairs.map(share).collect()
}

/// One compaction of a huge conversation, in a process of its own.
pub fn speed() {
    println!("\none compaction, without a model call:");
    for messages in ["10000", "50"] {
        let status = Command::new(this()).arg(messages).status();
        assert!(status.is_ok_and(|status| status.success()), "it ends well");
    }
}

/// Compacts so many messages of 20 MB, and prints what that took.
pub fn one(messages: usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let workspace = Workspace::open(folder.path()).expect("a folder");
    let mut history = long(messages);
    let compactor = Compactor::new(workspace, 12_000, Todos::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let (size, pid) = (total(&history), std::process::id());
    // What came before must not count as this one's peak.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (before, start) = (peak_memory(pid), Instant::now());
    runtime.block_on(compactor.before_request(&Nobody, &mut history));
    println!(
        "  {messages} messages, {size} → {} characters: {:.0} ms, memory {before:.0} \
         MiB, at its peak {:.0} MiB",
        total(&history),
        start.elapsed().as_secs_f64() * 1e3,
        peak_memory(pid)
    );
}

fn long(messages: usize) -> Vec<Message> {
    let text = "fn main() { println!(\"größer 漢字\"); }\n";
    let text: String = text.chars().cycle().take(20_000_000 / messages).collect();
    let mut history = vec![Message::prompt("go")];
    while history.len() < messages {
        let id = format!("c{}", history.len());
        let args = json!({"path": "src/main.rs"});
        let arguments = args.to_string();
        let function = json!({"name": "read_file", "arguments": arguments});
        let raw = json!({"role": "assistant", "content": text, "tool_calls":
            [{"id": id, "type": "function", "function": function}]});
        let call = ToolCall { id, name: "read_file".into(), args: Ok(args) };
        let calls = vec![call.clone()];
        history.push(Message::Assistant { text: Some(text.clone()), calls, raw });
        history.push(Message::result(&call, text.clone()));
    }
    history
}

struct Nobody;

impl Model for Nobody {
    fn chat<'a>(&'a self, _: Ask<'a>) -> BoxFuture<'a, Result<Reply, LlmError>> {
        Box::pin(async { Err(LlmError::Fatal("no model here".into())) })
    }
}
