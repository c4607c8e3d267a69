//! A strict fake model: it plays prepared answers in order, checks every
//! request for the rules of the protocol, and takes nothing that the test did
//! not expect.

use super::protocol;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// One prepared answer.
#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// How many seconds it is held back.
    pub delay: u64,
}

/// A text.
pub fn say(text: &str) -> Answer {
    assistant(json!({"role": "assistant", "content": text}), "stop")
}

/// One call of a tool.
pub fn call(name: &str, args: Value) -> Answer {
    calls(&[(name, args)])
}

/// Several calls in one reply. Their ids are made unique by the fake.
pub fn calls(calls: &[(&str, Value)]) -> Answer {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(n, (name, args))| {
            json!({"id": format!("call_N_{}", n + 1), "type": "function",
                "function": {"name": name, "arguments": args.to_string()}})
        })
        .collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    assistant(message, "tool_calls")
}

/// A whole answer by hand.
pub fn http(status: u16, body: impl ToString) -> Answer {
    Answer { status, headers: vec![], body: body.to_string(), delay: 0 }
}

fn assistant(message: Value, finish: &str) -> Answer {
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    http(200, json!({"choices": [choice]}))
}

impl Answer {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Held back for so many seconds: the program is meant to give up first.
    pub fn after(mut self, seconds: u64) -> Self {
        self.delay = seconds;
        self
    }
}

/// Answers to requests whose newest user message starts with `prompt`.
struct Route {
    prompt: String,
    answers: VecDeque<Answer>,
    last_repeats: bool,
}

#[derive(Default)]
struct State {
    routes: Vec<Route>,
    requests: Vec<Value>,
    faults: Vec<String>,
    answered: usize,
}

/// The server. It runs on a thread of its own.
pub struct Fake {
    server: MockServer,
    state: Arc<Mutex<State>>,
}

/// Questions that later chapters ask on the side. A test of an early chapter
/// knows nothing of them, so they are answered, and not counted.
const SIDE_CALLS: [(&str, &str); 4] = [
    ("Summarize this coding-agent conversation", "Nothing happened yet."),
    ("Given the recent conversation and the memory catalog", "[]"),
    ("Extract durable", "[]"),
    ("Consolidate these memory files", "[]"),
];

impl Fake {
    pub fn start() -> Fake {
        let state = Arc::new(Mutex::new(State::default()));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            let mock = Mock::given(any()).respond_with(Player(state.clone()));
            mock.mount(&server).await;
            server
        });
        Fake { server, state }
    }

    /// Adds answers for conversations whose newest prompt starts with
    /// `prompt`; an empty one matches all. The first route that matches and
    /// has an answer left is taken.
    pub fn route(&self, prompt: &str, answers: Vec<Answer>, last_repeats: bool) {
        let (prompt, answers) = (prompt.into(), answers.into());
        let route = Route { prompt, answers, last_repeats };
        self.state.lock().unwrap().routes.push(route);
    }

    pub fn url(&self) -> String {
        self.server.uri()
    }

    /// The bodies of the requests so far, side calls left out.
    pub fn requests(&self) -> Vec<Value> {
        self.state.lock().unwrap().requests.clone()
    }

    /// What was wrong: broken protocol, unexpected requests, unused answers.
    pub fn faults(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        let mut faults = state.faults.clone();
        for route in state.routes.iter().filter(|route| !route.last_repeats) {
            if !route.answers.is_empty() {
                let left = route.answers.len();
                faults.push(format!("{left} answers for {:?} left", route.prompt));
            }
        }
        faults
    }
}

struct Player(Arc<Mutex<State>>);

impl Respond for Player {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let answer = self.0.lock().unwrap().answer(request);
        let mut response = ResponseTemplate::new(answer.status);
        let json = ("content-type".to_string(), "application/json".to_string());
        for (name, value) in [json].iter().chain(&answer.headers) {
            response = response.insert_header(name.as_str(), value.as_str());
        }
        let response = response.set_delay(Duration::from_secs(answer.delay));
        response.set_body_bytes(answer.body)
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Answer {
        let body: Value = match serde_json::from_slice(&request.body) {
            Ok(body) => body,
            Err(_) => return self.unexpected(request),
        };
        let check = match request.url.path() {
            "/v1/chat/completions" => protocol::check_openai,
            "/v1/messages" => protocol::check_anthropic,
            _ => return self.unexpected(request),
        };
        if let Err(fault) = catch_unwind(|| check(&body)) {
            let fault = code_agent::tool::panic_text(&*fault);
            self.faults.push(format!("{fault}\nin {body:#}"));
        }
        let prompts = user_texts(&body);
        let newest = prompts.last().cloned().unwrap_or_default();
        let side = SIDE_CALLS.iter().find(|(start, _)| newest.starts_with(start));
        let route = self.routes.iter_mut().find(|route| {
            let starts = |text: &String| text.starts_with(&route.prompt);
            !route.answers.is_empty()
                && (route.prompt.is_empty() && side.is_none()
                    || !route.prompt.is_empty() && prompts.iter().any(starts))
        });
        let Some(route) = route else {
            if let Some((_, answer)) = side {
                return say(answer);
            }
            self.requests.push(body);
            return self.unexpected(request);
        };
        let answer = match route.answers.len() {
            1 if route.last_repeats => route.answers[0].clone(),
            _ => route.answers.pop_front().expect("checked above"),
        };
        self.requests.push(body);
        self.answered += 1;
        let body =
            answer.body.replace("call_N_", &format!("call_{}_", self.answered));
        Answer { body, ..answer }
    }

    fn unexpected(&mut self, request: &Request) -> Answer {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let (method, path) = (&request.method, request.url.path());
        self.faults.push(format!("unexpected request: {method} {path} {body}"));
        http(400, json!({"error": {"message": "the test expected no such request"}}))
    }
}

/// The texts of the user messages, in both wire formats.
fn user_texts(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let mut texts = vec![];
    for message in messages.iter().filter(|message| message["role"] == "user") {
        match &message["content"] {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(blocks) => texts.extend(
                blocks
                    .iter()
                    .filter_map(|block| Some(block["text"].as_str()?.into())),
            ),
            _ => {}
        }
    }
    texts
}
