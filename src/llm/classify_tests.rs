//! Sentences of real servers, and what they mean.

use super::*;
use serde_json::json;
use std::time::Duration;

fn told(status: u16, message: &str) -> LlmError {
    let body = json!({"error": {"message": message}}).to_string();
    classify(status, &HeaderMap::new(), &body)
}

fn too_long(status: u16, message: &str) -> (Option<u64>, Option<u64>) {
    match told(status, message) {
        LlmError::ContextTooLong { used, limit, .. } => (used, limit),
        other => panic!("{message}: {other:?}"),
    }
}

#[test]
fn a_conversation_that_is_too_long() {
    for (message, used, limit) in [
        (
            "This model's maximum context length is 8192 tokens. However, your \
             messages resulted in 9001 tokens.",
            9001,
            8192,
        ),
        ("prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000),
        (
            "This model's maximum context length is 2048 tokens. However, you \
             requested 2723 tokens (1699 in the messages, 1024 in the \
             completion).",
            2723,
            2048,
        ),
        (
            "request exceeded model token limit: 262144 (requested: 270000)",
            270_000,
            262_144,
        ),
        (
            "maximum context length is 32768 tokens. However, you requested 0 \
             output tokens and your prompt contains at least 32769 input tokens",
            32_769,
            32_768,
        ),
        (
            "The input (140000 tokens) is longer than the model's context length \
             (131072 tokens).",
            140_000,
            131_072,
        ),
        (
            "The input token count (1200000) exceeds the maximum number of \
             tokens allowed (1048576).",
            1_200_000,
            1_048_576,
        ),
        (
            "This model's maximum prompt length is 131072 but the request \
             contains 537812 tokens.",
            537_812,
            131_072,
        ),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for \
             model with 32768 maximum context length",
            40_000,
            32_768,
        ),
        (
            "prompt token count of 130000 exceeds the limit of 128000",
            130_000,
            128_000,
        ),
        (
            "request (15,030 tokens) exceeds the available context size (4,096 \
             tokens), try increasing it",
            15_030,
            4096,
        ),
    ] {
        assert_eq!(too_long(400, message), (Some(used), Some(limit)), "{message}");
    }
    let dashscope = "Range of input length should be [1, 129024]";
    assert_eq!(too_long(400, dashscope), (None, Some(129_024)));
    for message in [
        "Input is too long for requested model.",
        "Please reduce the length of the messages or completion.",
        "tokens to keep from the initial prompt is greater than the context length",
        "context window exceeds limit (2013)",
        "prompt too long; exceeded max context length by 5 tokens",
        "litellm.ContextWindowExceededError: something",
    ] {
        too_long(400, message);
    }
    too_long(500, "no user query found in messages");
    let rate = "Request too large for model m on tokens per min (TPM): Limit 8000, \
         Requested 9000, please reduce your message size and try again.";
    assert_eq!(too_long(413, rate), (Some(9000), Some(8000)));
    assert_eq!(too_long(429, rate), (Some(9000), Some(8000)));
}

#[test]
fn an_answer_limit_that_is_too_large() {
    for (message, limit) in [
        (
            "input length and `max_tokens` exceed context limit: 190000 + 32000 \
             > 200000, decrease input length or `max_tokens` and try again",
            10_000,
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This \
             model's maximum context length is 4096 tokens and your request has \
             200 input tokens (5000 > 4096 - 200).",
            3896,
        ),
        (
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            8192,
        ),
        (
            "max_tokens is too large: 100000. This model supports at most 16384 \
             completion tokens, whereas you provided 100000.",
            16_384,
        ),
        (
            "max_tokens: 100000 > 8192, which is the maximum allowed number of \
             output tokens for claude",
            8192,
        ),
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value",
            8192,
        ),
        ("Range of max_tokens should be [1, 8192]", 8192),
    ] {
        match told(400, message) {
            LlmError::MaxTokens { limit: found, .. } => {
                assert_eq!(found, Some(limit))
            }
            other => panic!("{message}: {other:?}"),
        }
    }
    // Where the prompt leaves no room, a smaller answer is no cure.
    too_long(400, "`max_tokens` exceed context limit: 200001 + 32000 > 200000");
}

#[test]
fn wait_or_stop() {
    type Is = fn(&LlmError) -> bool;
    let rate: Is = |error| matches!(error, LlmError::RateLimited { .. });
    let busy: Is = |error| matches!(error, LlmError::Overloaded { .. });
    let again: Is = |error| matches!(error, LlmError::Transport { .. });
    let quota: Is = |error| matches!(error, LlmError::Quota(_));
    let fatal: Is = |error| matches!(error, LlmError::Fatal(_));
    for (status, message, is) in [
        (429, "slow down", rate),
        (400, "Too many tokens, please wait before trying again.", rate),
        (400, "Throttled: prompt is too long for now, please wait", rate),
        (
            429,
            "Rate limit reached, tokens per min. Please try again in 4.77s.",
            rate,
        ),
        (429, "You exceeded your current quota. Please try again in 26s", rate),
        (429, "You exceeded your current quota, please check your billing", quota),
        (429, "Limit of requests per day reached. Try again in 7m12s", quota),
        (402, "Insufficient Balance", quota),
        (400, "Your credit balance is too low to access the API", quota),
        (529, "Overloaded", busy),
        (429, "The engine is currently overloaded, please try again later", busy),
        (503, "Loading model", again),
        (502, "<html>bad gateway</html>", again),
        (408, "timeout", again),
        (400, "Failed to call a function: tool_use_failed", again),
        (500, "error parsing tool call: raw='{'", again),
        (500, "Failed to parse tool call arguments as JSON: line 1", fatal),
        (500, "Cannot have both content and thinking", fatal),
        (400, "Jinja Exception: System message must be at the beginning.", fatal),
        (401, "Incorrect API key provided", fatal),
        (404, "no such model", fatal),
        (422, "Field required: max_tokens", fatal),
        (
            400,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'",
            fatal,
        ),
    ] {
        let error = told(status, message);
        assert!(is(&error), "{status} {message}: {error:?}");
    }
}

#[test]
fn the_header_beats_the_status_and_the_wait_is_read() {
    let mut headers = HeaderMap::new();
    headers.insert("x-should-retry", "false".parse().unwrap());
    assert!(matches!(classify(500, &headers, "no"), LlmError::Fatal(_)));
    headers.insert("x-should-retry", "true".parse().unwrap());
    headers.insert("retry-after", "7200".parse().unwrap());
    let wait = Some(Duration::from_secs(7200));
    let expected = LlmError::Transport { message: "HTTP 400: no".into(), wait };
    assert_eq!(classify(400, &headers, "no"), expected);
}

#[test]
fn an_error_inside_of_a_200_has_its_own_code() {
    let told = |body: &str| classify(200, &HeaderMap::new(), body);
    let transport = told(r#"{"error":{"code":502,"message":"gone"}}"#);
    assert!(matches!(transport, LlmError::Transport { .. }));
    let rate = told(r#"{"error":{"code":"429","message":"slow down"}}"#);
    assert!(matches!(rate, LlmError::RateLimited { .. }));
    let busy = told(r#"{"type":"error","error":{"type":"overloaded_error"}}"#);
    assert!(matches!(busy, LlmError::Overloaded { .. }));
    let fatal = told(r#"{"error":"Unexpected endpoint or method."}"#);
    assert!(matches!(fatal, LlmError::Fatal(_)));
}
