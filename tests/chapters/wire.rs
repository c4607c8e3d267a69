//! Odd answers of real servers, played by a fake one to the real client.
//!
//! `cases/wire.json` holds them; the tables below say what must come of each.
//! A case that stands in no table fails, so that none is forgotten.

mod table;

use crate::support::agent::{self, Log};
use crate::support::{protocol, raw};
use code_agent::llm::{Client, Config, LlmError, Provider, Reply};
use code_agent::message::{Message, ToolCall};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use table::{EXPECTED, End, STREAMING};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

/// What happened.
struct Run {
    end: Result<Reply, LlmError>,
    ran: Vec<String>,
    paths: Vec<String>,
    requests: Vec<Value>,
}

#[tokio::test]
async fn odd_answers_come_to_the_right_end() {
    let cases: Value =
        serde_json::from_str(include_str!("../cases/wire.json")).unwrap();
    let mut played = 0;
    for case in cases.as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        if STREAMING.contains(&id) {
            continue;
        }
        println!("case {id}");
        let row = EXPECTED.iter().find(|row| row.0 == id).expect("no expectation");
        let run = play(case).await;
        check_end(&run.end, &row.3);
        assert_eq!(run.ran, row.1, "calls that ran");
        for request in &run.requests {
            check_protocol(id, request);
        }
        if case.get("transport").is_none() {
            assert_eq!(run.requests.len(), row.2, "requests");
        }
        check_more(id, &run);
        played += 1;
    }
    assert_eq!(played, EXPECTED.len(), "an expectation without a case");
}

fn is_anthropic(id: &str) -> bool {
    id.starts_with("anthropic-")
}

fn check_protocol(id: &str, request: &Value) {
    if is_anthropic(id) {
        protocol::check_anthropic(request);
    } else {
        protocol::check_openai(request);
    }
}

/// Plays a case to one turn of the agent.
async fn play(case: &Value) -> Run {
    let id = case["id"].as_str().unwrap();
    let server = MockServer::start().await;
    let script = Script { case: case.clone(), served: AtomicUsize::new(0) };
    Mock::given(matchers::any()).respond_with(script).mount(&server).await;
    let address = match case.get("transport") {
        Some(transport) => raw::serve(vec![broken(case, transport)]).await,
        None => server.uri(),
    };
    let client = client(id, &address).await;
    let log = Log::default();
    let mut history = history(case);
    let cap = (id == "max-tokens-unsupported").then_some(8000);
    let end = agent::turn(&client, &mut history, &agent::tools(&log), cap).await;
    let requests = server.received_requests().await.unwrap();
    let ran = log.lock().unwrap().clone();
    Run {
        end,
        ran,
        paths: requests
            .iter()
            .map(|one| format!("{} {}", one.method, one.url.path()))
            .collect(),
        requests: requests.iter().map(|one| one.body_json().unwrap()).collect(),
    }
}

async fn client(id: &str, address: &str) -> Client {
    let config = match id {
        id if is_anthropic(id) => {
            Config { provider: Provider::Anthropic, ..Config::at(address, "m") }
        }
        "base-with-slash" => Config::at(&format!("{address}/v1/"), "m"),
        _ => Config::at(&format!("{address}/v1"), "m"),
    };
    let key = Some("key-abcd1234".into());
    Client::connect(Config { key, ..config }).await.unwrap()
}

/// One prompt; where a server refuses requests, a past that some would refuse.
fn history(case: &Value) -> Vec<Message> {
    if case["id"] == "ollama-silent-truncation" {
        return vec![Message::prompt("word ".repeat(16_000))];
    }
    if case["status"].as_u64().unwrap() < 400 {
        return vec![Message::prompt("Go.")];
    }
    let raw =
        json!({"role": "assistant", "content": "Hm.", "reasoning_content": "deep"});
    let call = ToolCall {
        id: "c0".into(),
        name: "list dir".into(),
        args: Err("the arguments are not valid JSON".into()),
    };
    let result = Message::result(&call, "");
    vec![
        Message::prompt("Go."),
        Message::Assistant { text: Some("Hm.".into()), calls: vec![], raw },
        Message::prompt("On."),
        Message::Assistant { text: None, calls: vec![call], raw: Value::Null },
        result,
    ]
}

/// The answers of a case, one after the other, then a plain one.
struct Script {
    case: Value,
    served: AtomicUsize,
}

impl Respond for Script {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let served = self.served.fetch_add(1, Ordering::Relaxed);
        match (served, self.case["repeat"] == true) {
            (0, _) | (_, true) => template(&self.case),
            (1, _) if self.case.get("then").is_some() => {
                template(&self.case["then"])
            }
            _ => ResponseTemplate::new(200).set_body_json(json!({
                "choices": [{"message": {"role": "assistant", "content": "DONE"}}]
            })),
        }
    }
}

fn template(answer: &Value) -> ResponseTemplate {
    let header = |name: &str| answer["headers"][name].as_str();
    let mut template =
        ResponseTemplate::new(answer["status"].as_u64().unwrap() as u16);
    let kind = header("content-type").unwrap_or("application/json");
    template = template.set_body_raw(body(answer), kind);
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        template = template.insert_header(name.as_str(), value.as_str().unwrap());
    }
    template
}

fn body(answer: &Value) -> Vec<u8> {
    let text = match &answer["body"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.replace("{{pad:12000000}}", &"x".repeat(12_000_000)).into_bytes()
}

/// Bytes of an answer that is cut, or of none at all.
fn broken(case: &Value, transport: &Value) -> Vec<u8> {
    if transport["close_before_headers"] == true {
        return vec![];
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
        transport["content_length"]
    );
    [head.into_bytes(), body(case)].concat()
}

#[track_caller]
fn check_end(end: &Result<Reply, LlmError>, expected: &End) {
    match (end, expected) {
        (Ok(reply), End::Says(text)) => {
            assert_eq!(reply.text, *text);
            assert!(!reply.is_cut());
        }
        (Ok(reply), End::Ends(text)) => {
            assert!(reply.text.ends_with(text), "{reply:?}")
        }
        (Ok(reply), End::Cut(text)) => {
            assert_eq!(reply.text, *text);
            assert!(reply.is_cut());
        }
        (Err(error), End::Fails(kind, words)) => {
            let text = error.to_string();
            assert!(kind_of(error).starts_with(kind), "{error:?}");
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
            assert!(!text.contains("abcd1234"), "a key is shown: {text}");
            assert!(text.chars().count() < 500 && !text.contains('\n'), "{text}");
        }
        _ => panic!("{end:?}"),
    }
}

fn kind_of(error: &LlmError) -> String {
    let after = |wait: &Option<std::time::Duration>| match wait {
        Some(wait) => format!(" after {}s", wait.as_secs()),
        None => String::new(),
    };
    let or = |number: &Option<u64>| number.map_or("?".into(), |n| n.to_string());
    match error {
        LlmError::RateLimited { wait, .. } => format!("rate{}", after(wait)),
        LlmError::Overloaded { wait, .. } => format!("overloaded{}", after(wait)),
        LlmError::Transport { wait, .. } => format!("transport{}", after(wait)),
        LlmError::ContextTooLong { used, limit, .. } => {
            format!("too long: {} of {}", or(used), or(limit))
        }
        LlmError::MaxTokens { limit, .. } => format!("max_tokens: {}", or(limit)),
        LlmError::Quota(_) => "quota".into(),
        LlmError::Empty { .. } => "empty".into(),
        LlmError::Refused(_) => "refused".into(),
        LlmError::Fatal(_) => "fatal".into(),
    }
}

/// What else must be true of single cases.
#[track_caller]
fn check_more(id: &str, run: &Run) {
    let messages = |at: usize| run.requests[at]["messages"].as_array().unwrap();
    let last = |at: usize| messages(at).last().unwrap();
    let call = || &messages(1)[2]["tool_calls"][0];
    match id {
        "text-tool-call-json-block" => {
            assert!(last(1)["content"].as_str().unwrap().contains("as plain text"));
        }
        "unknown-tool-name" => {
            assert!(
                last(1)["content"].as_str().unwrap().starts_with("Unknown tool")
            );
        }
        "one-of-two-tools-fails" => {
            assert_eq!(messages(1)[3]["content"], "Error: no such file")
        }
        "ollama-native-shape" => {
            assert_eq!(call()["function"]["arguments"], "{\"path\":\"a.txt\"}");
        }
        "args-empty-string" | "args-string-null" | "args-key-missing" => {
            assert_eq!(call()["function"]["arguments"], "{}");
        }
        "args-trailing-prose"
        | "args-cut-but-finish-tool-calls"
        | "args-bad-escape"
        | "args-raw-newline"
        | "args-array" => {
            let text = last(1)["content"].as_str().unwrap();
            assert!(text.starts_with("Error: the arguments"), "{text}");
            assert_eq!(call()["function"]["arguments"], "{}");
        }
        "error-detail-list" | "groq-rejects-reasoning" => {
            assert!(
                run.requests[0]
                    .to_string()
                    .contains("\"reasoning_content\":\"deep\"")
            );
            assert!(!run.requests[1].to_string().contains("reasoning"));
            assert_eq!(messages(1)[4]["tool_calls"], messages(0)[4]["tool_calls"]);
        }
        "error-nil-type" | "deepseek-400-passed-back" => {
            assert_eq!(messages(1)[2]["reasoning_content"], "deep");
            assert_eq!(messages(1)[4]["reasoning_content"], "");
        }
        "gemini-thought-signature" => {
            assert_eq!(
                call()["extra_content"]["google"]["thought_signature"],
                "SIG=="
            );
        }
        "anthropic-thinking-roundtrip" => {
            let blocks = &messages(1)[1]["content"];
            let signed =
                json!({"type": "thinking", "thinking": "hm", "signature": "S1"});
            assert_eq!(blocks[0], signed);
            assert_eq!(
                blocks[1],
                json!({"type": "redacted_thinking", "data": "D1"})
            );
        }
        "max-tokens-unsupported" => {
            assert_eq!(run.requests[0]["max_tokens"], 8000);
            assert_eq!(run.requests[1]["max_completion_tokens"], 8000);
            assert!(run.requests[1].get("max_tokens").is_none());
        }
        "base-with-v1" | "base-with-slash" | "redirect-301" => {
            assert_eq!(run.paths, ["POST /v1/chat/completions"]);
        }
        _ => {}
    }
}
