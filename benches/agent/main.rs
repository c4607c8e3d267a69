//! What an agent costs beside the model: start-up, memory, time per turn, and
//! what compaction leaves of the provider's cache.
//!
//! `cargo bench` runs `s02-tool-use` and a bare HTTP client side by side
//! against the same server and prints the medians. It fails nothing: machines
//! differ, and only the comparison means something.

mod compaction;

use code_agent::permission::check_permission;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 15;
const TURNS: [usize; 3] = [10, 100, 400];

fn main() {
    // `cargo bench` starts this with --bench; started by itself with a URL it
    // is the bare client that the agent is compared with, and with a size one
    // compaction whose memory can be measured.
    let argument = std::env::args().nth(1).unwrap_or_default();
    match argument.parse() {
        Ok(messages) => compaction::one(messages),
        _ if argument.starts_with("http") => bare(&argument),
        _ => {
            compare();
            compaction::stability();
            compaction::speed();
        }
    }
}

fn compare() {
    gate();
    println!("medians of {RUNS} runs; a turn is one call of read_file");
    println!(
        "{:>6}  {:<14} {:>10} {:>12} {:>10}",
        "turns", "", "start", "each turn", "memory"
    );
    for turns in TURNS {
        for (name, program) in [("s02-tool-use", agent()), ("bare client", this())] {
            let runs: Vec<_> = (0..RUNS).map(|_| measure(&program, turns)).collect();
            let median = |pick: fn(&Sample) -> f64| {
                let mut values: Vec<_> = runs.iter().map(pick).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            println!(
                "{turns:>6}  {name:<14} {:>7.2} ms {:>9.3} ms {:>6.1} MiB",
                median(|run| run.start * 1e3),
                median(|run| run.turn * 1e3),
                median(|run| run.memory)
            );
        }
    }
}

/// How long the gate needs for a command of 10 kB that repeats one piece.
fn gate() {
    println!("the gate decides a command of 10 kB");
    let pieces = [
        ("ordinary lines", "git add . && cargo build --release\n"),
        ("pipes and redirects", "cat 'b c' | sort > d && "),
        ("many tiny commands", "echo a; "),
        ("substitutions", "rm \"$(ls e)\" || "),
    ];
    for (name, piece) in pieces {
        let command = piece.repeat(10_000 / piece.len());
        let args = json!({ "command": command });
        let mut times: Vec<_> = (0..RUNS)
            .map(|_| {
                let start = Instant::now();
                std::hint::black_box(check_permission("bash", &args));
                start.elapsed()
            })
            .collect();
        times.sort();
        println!("  {name:<20} {:>6.2} ms", times[RUNS / 2].as_secs_f64() * 1e3);
    }
}

fn agent() -> String {
    env!("CARGO_BIN_EXE_s02-tool-use").into()
}

fn this() -> String {
    std::env::current_exe().expect("this program has a path").display().to_string()
}

struct Sample {
    /// Seconds from the start of the program to its first request.
    start: f64,
    /// Median seconds from a response to the next request.
    turn: f64,
    /// Peak memory in MiB, read when the last request arrives.
    memory: f64,
}

/// One run of `program` with so many turns.
fn measure(program: &str, turns: usize) -> Sample {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("a.txt"), "hello\n").expect("a small file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let url = format!("http://{}/v1", listener.local_addr().expect("it has one"));
    let mut command = Command::new(program);
    // The bare client takes the URL, the agent a prompt.
    let agent = program == agent();
    command.arg(if agent { "go" } else { &url }).current_dir(folder.path());
    command.env("LLM_PROVIDER", "openai").env("OPENAI_BASE_URL", &url);
    command.env("OPENAI_MODEL", "m").env("MAX_ROUNDS", "10000");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let born = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    let (stream, _) = listener.accept().expect("it connects");
    let (mut gaps, memory) = serve(stream, turns, child.id());
    child.wait().expect("it ends");
    let first = gaps.remove(0);
    gaps.sort_by_key(|gap| gap.since);
    Sample {
        start: (first.at - born).as_secs_f64(),
        turn: gaps[gaps.len() / 2].since.as_secs_f64(),
        memory,
    }
}

/// When a request arrived, and how long after the response before it.
struct Gap {
    at: Instant,
    since: Duration,
}

/// Plays the model: so many calls, then an answer.
fn serve(stream: TcpStream, turns: usize, pid: u32) -> (Vec<Gap>, f64) {
    stream.set_nodelay(true).expect("a socket option");
    let mut output = stream.try_clone().expect("a second handle");
    let mut input = BufReader::new(stream);
    let (mut gaps, mut sent) = (vec![], Instant::now());
    for turn in 0..=turns {
        let (at, _) = read_request(&mut input);
        gaps.push(Gap { at, since: at - sent });
        if turn == turns {
            let memory = peak_memory(pid);
            respond(&mut output, &json!({"content": "done"}));
            return (gaps, memory);
        }
        let function =
            json!({"name": "read_file", "arguments": "{\"path\":\"a.txt\"}"});
        let call = json!({"id": format!("c{turn}"), "type": "function",
            "function": function});
        let calls =
            json!({"role": "assistant", "content": null, "tool_calls": [call]});
        respond(&mut output, &calls);
        sent = Instant::now();
    }
    unreachable!("the last turn returns")
}

/// Reads one request and returns when its first byte was there, and its body.
fn read_request(input: &mut impl BufRead) -> (Instant, Vec<u8>) {
    let mut length = 0;
    input.fill_buf().expect("a request");
    let at = Instant::now();
    loop {
        let mut line = String::new();
        input.read_line(&mut line).expect("a header line");
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).expect("a body");
    (at, body)
}

fn respond(output: &mut TcpStream, message: &Value) {
    let body = json!({"choices": [{"message": message}]}).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let response = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    output.write_all(response.as_bytes()).expect("the program listens");
}

/// The highest memory use of a process so far in MiB; 0 where the system does
/// not say (it is a file of Linux).
fn peak_memory(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// The least that a program must do: send, read, send again with one more
/// call and its result.
#[tokio::main(flavor = "current_thread")]
async fn bare(url: &str) {
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = client.build().expect("a client");
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    loop {
        let body = json!({"model": "m", "messages": messages}).to_string();
        let request = client.post(format!("{url}/chat/completions"));
        let request = request.header("content-type", "application/json").body(body);
        let response = request.send().await.expect("a response");
        let bytes = response.bytes().await.expect("a body");
        let value: Value = serde_json::from_slice(&bytes).expect("JSON");
        let message = value["choices"][0]["message"].clone();
        let Some(id) = message["tool_calls"][0]["id"].as_str() else { return };
        let text = std::fs::read_to_string("a.txt").expect("the file");
        let result = json!({"role": "tool", "tool_call_id": id, "content": text});
        messages.extend([message.clone(), result]);
    }
}
