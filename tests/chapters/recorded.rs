//! Answers of a real server (llama.cpp), as they came, through the client.

use crate::support::{agent, raw};
use code_agent::llm::{Ask, Client, Config, LlmError, Model, Provider, Reply};
use code_agent::message::Message;
use serde_json::json;

/// Plays one recorded answer. Those that begin with `a_` are Anthropic's form.
async fn replay(name: &str) -> Result<Reply, LlmError> {
    let path =
        format!("{}/tests/cases/recorded/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let answer = std::fs::read(path).unwrap();
    let address = raw::serve(vec![answer]).await;
    let provider = match name.starts_with("a_") {
        true => Provider::Anthropic,
        false => Provider::OpenAi,
    };
    let config = Config { provider, ..Config::at(&address, "local") };
    let client = Client::connect(config).await.unwrap();
    let mut history = vec![Message::prompt("Hi.")];
    let tools = agent::tools(&agent::Log::default());
    let tools: Vec<_> = tools.into_iter().map(|tool| tool.definition).collect();
    client.chat(Ask::new("", &mut history, &tools)).await
}

#[tokio::test]
async fn texts() {
    for (name, text, finish) in [
        ("plain", "Hello!", "stop"),
        ("a_plain", "Hello!", "end_turn"),
        ("roundtrip", "Cargo.toml\nsrc", "stop"),
        ("a_roundtrip", "Cargo.toml\nsrc", "end_turn"),
        ("length_plain", "One to twenty", "length"),
        ("a_length", "One to twenty", "max_tokens"),
    ] {
        let reply = replay(name).await.unwrap();
        assert_eq!((&*reply.text, &*reply.finish), (text, finish), "{name}");
        assert_eq!(reply.is_cut(), name.contains("length"), "{name}");
        // What the cache served was read all the same.
        let expected = match name {
            "roundtrip" | "a_roundtrip" => 257,
            "length_plain" | "a_length" => 37,
            _ => 35,
        };
        assert_eq!(reply.usage.unwrap().input_tokens, expected, "{name}");
    }
}

#[tokio::test]
async fn calls() {
    for name in ["tools_auto", "a_tools_auto"] {
        let reply = replay(name).await.unwrap();
        assert_eq!(reply.text, "", "{name}");
        assert_eq!(reply.calls.len(), 1, "{name}");
        assert_eq!(reply.calls[0].name, "bash");
        assert_eq!(reply.calls[0].args, Ok(json!({"command": "ls"})));
    }
    let read = replay("tools_parallel_required").await.unwrap();
    assert_eq!(read.calls[0].args, Ok(json!({"path": "read.txt"})));
    let cut = replay("length_tools_required_mid_args").await.unwrap();
    assert!(cut.calls[0].args.as_ref().unwrap_err().contains("cut off"));
}

#[tokio::test]
async fn errors() {
    for name in ["overflow", "a_overflow"] {
        let error = replay(name).await.unwrap_err();
        let (expected, wanted) = (Some(15_030), Some(4096));
        let LlmError::ContextTooLong { used, limit, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!((used, limit), (expected, wanted));
    }
    for name in ["malformed_json", "roundtrip_bad_args", "roundtrip_empty_args"] {
        let error = replay(name).await.unwrap_err();
        assert!(matches!(error, LlmError::Fatal(_)), "{name}: {error:?}");
    }
}
