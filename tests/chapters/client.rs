//! The client from outside: what it learns, says and never says.

use crate::support::agent::{self, Log};
use crate::support::protocol;
use code_agent::llm::{Ask, Client, Config, LlmError, Model, Provider};
use code_agent::message::Message;
use code_agent::settings::UsageError;
use serde_json::{Value, json};
use std::process::Output;
use tokio::process::Command;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn says(text: &str) -> Value {
    json!({"choices": [{"message": {"role": "assistant", "content": text}}]})
}

fn calls(ids: &[&str]) -> Value {
    let call = |id: &&str| {
        let function =
            json!({"name": "read_file", "arguments": "{\"path\": \"a\"}"});
        json!({"id": id, "type": "function", "function": function})
    };
    let calls: Vec<_> = ids.iter().map(call).collect();
    json!({"choices": [{"message": {"role": "assistant", "content": "Hm.",
        "reasoning_content": "deep", "tool_calls": calls}}]})
}

/// A server that gives these answers, each once, the last one for ever.
async fn server(answers: &[(u16, Value)]) -> MockServer {
    let server = MockServer::start().await;
    for (at, (status, body)) in answers.iter().enumerate() {
        let template = ResponseTemplate::new(*status).set_body_json(body);
        let mock = Mock::given(method("POST")).respond_with(template);
        let is_last = at + 1 == answers.len();
        let mock = if is_last { mock } else { mock.up_to_n_times(1) };
        mock.mount(&server).await;
    }
    server
}

async fn client(server: &MockServer) -> Client {
    Client::connect(Config::at(&server.uri(), "m")).await.unwrap()
}

async fn requests(server: &MockServer) -> Vec<Value> {
    let all = server.received_requests().await.unwrap();
    all.iter().map(|one| one.body_json().unwrap()).collect()
}

async fn ask(client: &Client, text: &str) -> Result<String, LlmError> {
    let mut history = vec![Message::prompt(text)];
    let reply = client.chat(Ask::new("You test.", &mut history, &[])).await?;
    Ok(reply.text)
}

#[tokio::test]
async fn older_messages_are_sent_byte_for_byte_again() {
    let steps = [calls(&["a", "b"]), calls(&["a"]), calls(&["", "x"]), says("DONE")];
    let server = server(&steps.map(|body| (200, body))).await;
    let log = Log::default();
    let mut history = vec![Message::prompt("Go.")];
    let tools = agent::tools(&log);
    agent::turn(&client(&server).await, &mut history, &tools, None).await.unwrap();
    history.push(Message::prompt("More."));
    agent::turn(&client(&server).await, &mut history, &tools, None).await.unwrap();
    let mut prefix = String::new();
    for request in server.received_requests().await.unwrap() {
        let body = String::from_utf8(request.body).unwrap();
        let (messages, tools) = body.split_once("],\"tools\"").unwrap();
        assert!(messages.starts_with(&prefix), "{prefix}\n{messages}");
        prefix = messages.to_string();
        protocol::check_openai(&serde_json::from_str(&body).unwrap());
        assert!(tools.contains("list_dir"));
    }
    assert_eq!(log.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn a_lesson_is_learnt_once() {
    let refusal =
        json!({"error": {"message": "`reasoning_content` is unsupported"}});
    let server = server(&[(400, refusal), (200, says("DONE"))]).await;
    let client = client(&server).await;
    let raw = json!({"role": "assistant", "content": "a", "reasoning_content": "b"});
    let said = Message::Assistant { text: Some("a".into()), calls: vec![], raw };
    for _ in 0..2 {
        let mut history =
            vec![Message::prompt("x"), said.clone(), Message::prompt("y")];
        client.chat(Ask::new("", &mut history, &[])).await.unwrap();
        assert_eq!(history[1], said, "the history itself stays as it is");
    }
    let requests = requests(&server).await;
    let with: Vec<_> =
        requests.iter().map(|one| one.to_string().contains("reasoning")).collect();
    assert_eq!(with, [true, false, false]);
}

#[tokio::test]
async fn a_request_is_repaired_at_most_once() {
    let refusal =
        json!({"error": {"message": "reasoning_content must be passed back"}});
    let server = server(&[(400, refusal)]).await;
    let client = client(&server).await;
    // Without a message of the model there is nothing that a repair changes.
    let error = ask(&client, "x").await.unwrap_err();
    assert!(matches!(error, LlmError::Fatal(_)), "{error:?}");
    assert_eq!(requests(&server).await.len(), 1);
    let said = Message::Assistant {
        text: Some("a".into()),
        calls: vec![],
        raw: Value::Null,
    };
    let mut history = vec![Message::prompt("x"), said, Message::prompt("y")];
    let again = self::client(&server).await;
    let error = again.chat(Ask::new("", &mut history, &[])).await.unwrap_err();
    assert!(matches!(error, LlmError::Fatal(_)), "{error:?}");
    assert_eq!(requests(&server).await.len(), 1 + 2);
}

#[tokio::test]
async fn a_model_that_goes_on_writing_calls_as_text_fails_visibly() {
    let server = server(&[(200, says("<tool_call>{}</tool_call>"))]).await;
    let log = Log::default();
    let mut history = vec![Message::prompt("Go.")];
    let client = client(&server).await;
    let end = agent::turn(&client, &mut history, &agent::tools(&log), None).await;
    let error = end.unwrap_err().to_string();
    assert!(error.contains("twice") && error.contains("--jinja"), "{error}");
    assert_eq!(history, [Message::prompt("Go.")]);
    assert_eq!(requests(&server).await.len(), 2);
    // Where no tools are offered, it is a text like any other.
    assert!(ask(&client, "x").await.unwrap().contains("<tool_call>"));
}

#[tokio::test]
async fn a_call_that_is_lost_in_thoughts_is_asked_for_again() {
    let lost = json!({"choices": [{"message": {"content": "",
        "reasoning_content": "I use <tool_call>{\"name\":\"read_file\"}"}}]});
    let server = server(&[(200, lost), (200, says("DONE"))]).await;
    let mut history = vec![Message::prompt("Go.")];
    let tools = agent::tools(&Log::default());
    let reply =
        agent::turn(&client(&server).await, &mut history, &tools, None).await;
    assert_eq!(reply.unwrap().text, "DONE");
    requests(&server).await.iter().for_each(protocol::check_openai);
}

#[tokio::test]
async fn context_and_limit_are_sent_and_not_stored() {
    let server = server(&[(200, says("DONE"))]).await;
    let mut history = vec![
        Message::prompt("Old."),
        Message::prompt("New."),
        Message::note("Note."),
    ];
    let before = history.clone();
    let ask = Ask::new("", &mut history, &[]);
    let ask = Ask { context: Some("It rains."), max_tokens: Some(9), ..ask };
    client(&server).await.chat(ask).await.unwrap();
    assert_eq!(history, before);
    let request = &requests(&server).await[0];
    assert_eq!(request["max_tokens"], 9);
    assert_eq!(request["messages"][1]["content"], "New.\n\nIt rains.");
    assert_eq!(request["messages"][0]["content"], "Old.");
}

#[tokio::test]
async fn a_history_of_one_provider_can_be_sent_to_the_other() {
    let server = server(&[(200, calls(&["c"])), (200, says("DONE"))]).await;
    let tools = agent::tools(&Log::default());
    let mut history = vec![Message::prompt("Go.")];
    agent::turn(&client(&server).await, &mut history, &tools, None).await.unwrap();
    history.push(Message::prompt("More."));
    let config = Config::at(&server.uri(), "m");
    let config = Config { provider: Provider::Anthropic, ..config };
    let other = Client::connect(config).await.unwrap();
    let error = other.chat(Ask::new("s", &mut history, &[])).await.unwrap_err();
    assert!(
        matches!(error, LlmError::Fatal(_)),
        "it is the wrong server: {error:?}"
    );
    let request = &requests(&server).await[2];
    protocol::check_anthropic(request);
    assert_eq!(request["messages"][1]["content"][0]["text"], "Hm.");
    assert_eq!(request["messages"][1]["content"][1]["id"], "c");
    assert_eq!(request["max_tokens"], 8192);
}

#[tokio::test]
async fn the_same_server_with_another_model() {
    let server = server(&[(200, says("DONE"))]).await;
    let other = client(&server).await.with_model("big");
    assert_eq!(other.model(), "big");
    ask(&other, "x").await.unwrap();
    assert_eq!(requests(&server).await[0]["model"], "big");
}

/// Connects to a server with this list of models, naming none.
async fn connect(
    provider: Provider,
    status: u16,
    list: Value,
) -> anyhow::Result<Client> {
    let server = MockServer::start().await;
    let place =
        if provider == Provider::Anthropic { "/v1/models" } else { "/models" };
    Mock::given(method("GET"))
        .and(path(place))
        .respond_with(ResponseTemplate::new(status).set_body_json(list))
        .mount(&server)
        .await;
    let config = Config::at(&server.uri(), "");
    Client::connect(Config { model: None, provider, ..config }).await
}

#[tokio::test]
async fn the_only_model_is_taken() {
    let one =
        json!({"object": "list", "data": [{"id": "llama", "object": "model"}]});
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let client = connect(provider, 200, one.clone()).await.unwrap();
        assert_eq!(client.model(), "llama");
    }
    let native = json!({"models": [{"name": "qwen:7b"}]});
    assert_eq!(
        connect(Provider::OpenAi, 200, native).await.unwrap().model(),
        "qwen:7b"
    );
}

#[tokio::test]
async fn a_choice_of_models_is_the_users() {
    let two = json!({"data": [{"id": "a"}, {"id": "b"}]});
    for (status, list, words) in [
        (200, two, "a, b"),
        (200, json!({"data": []}), "no model"),
        (404, json!({}), "HTTP 404"),
        (200, json!({}), "no list"),
    ] {
        let error = connect(Provider::OpenAi, status, list).await.err().unwrap();
        let error = error.downcast_ref::<UsageError>().expect("exit code 2");
        assert!(error.0.starts_with("OPENAI_MODEL is not set"), "{error}");
        assert!(error.0.contains(words), "{error}");
    }
}

#[tokio::test]
async fn an_address_without_v1_is_hinted_at() {
    let server = server(&[(404, json!({"error": "page not found"}))]).await;
    let error = ask(&client(&server).await, "x").await.unwrap_err().to_string();
    let url = format!("{}/chat/completions", server.uri());
    assert!(error.contains(&url) && error.contains("lack a /v1"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://user:hunter2@{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::connect(Config::at(&address, "m")).await.unwrap();
    let error = ask(&client, "x").await.unwrap_err();
    assert!(matches!(error, LlmError::Transport { .. }));
    let text = error.to_string();
    assert!(text.contains("cannot connect: http://127.0.0.1:"), "{text}");
    assert!(text.contains("refused") && !text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn what_is_no_answer_is_told_in_one_line() {
    for (status, body, words) in [
        (200, "just words", "something instead of JSON: just words"),
        (200, "{\"choices\": []}", "without any choices"),
        (200, "{\"error\": \"Unexpected endpoint\"}", "lack a /v1"),
        (200, "{\"odd\": 1}", "HTTP 200: {\"odd\": 1}"),
        (200, "{\"type\": \"x\", \"content\": []}", "/chat/completions"),
        (200, "{\"choices\": [{\"mess", "half an answer"),
        (401, "bad key sk-abcdefgh", "HTTP 401: bad key sk-…"),
        (200, "<p>key-123, and sk-abcdefgh", "<p>[key], and sk-…"),
        (400, "{\"choices\": [{\"finish_reason\": \"content_filter\"}]}", "filter"),
    ] {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(status).set_body_bytes(body);
        Mock::given(method("POST")).respond_with(answer).mount(&server).await;
        let key = Some("key-123".into());
        let config = Config { key, ..Config::at(&server.uri(), "m") };
        let client = Client::connect(config).await.unwrap();
        let error = ask(&client, "x").await.unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{body}: {error}");
    }
}

#[tokio::test]
async fn half_a_character_does_not_cost_the_answer() {
    let server = MockServer::start().await;
    let body = r#"{"choices": [{"message": {"content": "cut \ud83d here"}}]}"#;
    let answer = ResponseTemplate::new(200).set_body_bytes(body);
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    let text = ask(&client(&server).await, "x").await.unwrap();
    assert_eq!(text, "cut \u{fffd} here");
}

#[tokio::test]
async fn the_key_is_sent_where_it_belongs() {
    let server = server(&[(200, says("DONE"))]).await;
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let config = Config::at(&server.uri(), "m");
        let config = Config { key: Some("k".into()), provider, ..config };
        let _ = ask(&Client::connect(config).await.unwrap(), "x").await;
    }
    let sent = server.received_requests().await.unwrap();
    let header =
        |at: usize, name: &str| Some(sent[at].headers.get(name)?.to_str().unwrap());
    assert_eq!(header(0, "authorization"), Some("Bearer k"));
    assert_eq!(header(0, "x-api-key"), None);
    assert_eq!(header(1, "x-api-key"), Some("k"));
    assert_eq!(header(1, "authorization"), None);
    assert!(header(1, "anthropic-version").is_some());
}

/// Not a test by itself: others run it in a process with an environment and a
/// stderr of its own.
#[tokio::test]
#[ignore = "started by other tests"]
async fn child() {
    let address = std::env::var("TEST_ADDRESS").expect("started by other tests");
    let client = Client::connect(Config::at(&address, "m")).await.unwrap();
    match ask(&client, &"word ".repeat(16_000)).await {
        Ok(text) => println!("said: {text}"),
        Err(error) => println!("failed: {error}"),
    }
}

/// Both outputs of the child.
async fn run_child(address: String, proxy: Option<&str>) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "client::child", "--ignored", "--nocapture"]);
    command.env("TEST_ADDRESS", address);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    command.envs(proxy.map(|proxy| ("HTTP_PROXY", proxy)));
    let Output { stdout, stderr, .. } = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(stdout), text(stderr))
}

#[tokio::test]
async fn loopback_is_reached_without_a_proxy_and_others_name_it() {
    let server = server(&[(200, says("DONE"))]).await;
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://user:hunter2@{}", dead.local_addr().unwrap());
    drop(dead);
    let (stdout, _) = run_child(server.uri(), Some(&proxy)).await;
    assert!(stdout.contains("said: DONE"), "{stdout}");
    let (stdout, _) = run_child("http://far.invalid".into(), Some(&proxy)).await;
    assert!(stdout.contains("failed: no usable answer: cannot connect"), "{stdout}");
    assert!(stdout.contains("by the proxy http://127.0.0.1:"), "{stdout}");
    assert!(
        stdout.contains("of HTTP_PROXY") && !stdout.contains("hunter2"),
        "{stdout}"
    );
}

#[tokio::test]
async fn a_prompt_that_the_server_cut_is_told() {
    for (counted, warns) in [(2051, true), (16_000, false), (11, false)] {
        let mut answer = says("What?");
        answer["usage"] = json!({"prompt_tokens": counted, "completion_tokens": 2});
        let server = server(&[(200, answer)]).await;
        let (_, stderr) = run_child(server.uri(), None).await;
        let expected = format!("the server counts {counted} prompt tokens");
        assert_eq!(stderr.contains(&expected), warns, "{stderr}");
        assert_eq!(stderr.contains("num_ctx"), warns, "{stderr}");
    }
}
