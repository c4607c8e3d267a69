//! From a response without an answer to an error with its cause and its cure.

use super::classify::classify;
use super::error::LlmError;
use super::fault::{BODY, excerpt};
use super::http::Received;
use super::json;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use serde_json::Value;

/// What to do about an error that names its cause only.
const CURES: [(&str, &str); 3] = [
    ("HTTP 401", "check the API key"),
    ("HTTP 403", "check the API key and what it is allowed to do"),
    ("does not support tools", "choose a model that can call tools"),
];

/// Says what is wrong with a response that holds no answer. `url` is where it
/// came from.
pub fn explain(received: &Received, url: &str) -> LlmError {
    match (received.status, json::parse(&received.body)) {
        (300..400, _) => redirected(received, url),
        (200..300, Ok(value)) => in_success(received, &value, url),
        (200..300, Err(error)) => not_json(received, &error, url),
        (404, _) => append(told(received), &not_found(url)),
        _ => with_cure(told(received)),
    }
}

fn told(received: &Received) -> LlmError {
    classify(received.status, &received.headers, &received.body)
}

fn in_success(received: &Received, value: &Value, url: &str) -> LlmError {
    if value["error"].is_null()
        && value["choices"].as_array().is_some_and(Vec::is_empty)
    {
        let message = format!("{url} sent an answer without any choices");
        return LlmError::Transport { message, wait: None };
    }
    append(told(received), &not_found(url))
}

fn not_json(received: &Received, error: &serde_json::Error, url: &str) -> LlmError {
    let Received { status, body, .. } = received;
    let start = body.trim_start();
    let kind = header(received, CONTENT_TYPE.as_str());
    if start.is_empty() || error.is_eof() {
        let what = if start.is_empty() { "an empty body" } else { "half an answer" };
        let message = format!("HTTP {status} with {what} from {url}");
        return LlmError::Transport { message, wait: None };
    }
    let advice = match start {
        _ if kind.contains("event-stream") || start.starts_with("data:") => {
            " The server streams (text/event-stream), although it was not asked to."
        }
        _ if start.starts_with('<') => " Is the address right?",
        _ => "",
    };
    LlmError::Fatal(format!(
        "HTTP {status} from {url}, but {kind} instead of JSON: {}{advice}",
        excerpt(body, BODY)
    ))
}

fn header<'a>(received: &'a Received, name: &str) -> &'a str {
    let value = received.headers.get(name);
    value.and_then(|value| value.to_str().ok()).unwrap_or("something")
}

fn redirected(received: &Received, url: &str) -> LlmError {
    LlmError::Fatal(format!(
        "HTTP {} from {url}: it has moved to {}. Redirects are not followed, set \
         the new address",
        received.status,
        header(received, LOCATION.as_str())
    ))
}

fn not_found(url: &str) -> String {
    let hint = if url.contains("/v1") {
        "check the address and the name of the model"
    } else {
        "does the base address lack a /v1?"
    };
    format!(" (from {url}: {hint})")
}

fn with_cure(error: LlmError) -> LlmError {
    let text = error.to_string();
    match CURES.iter().find(|(cause, _)| text.contains(cause)) {
        Some((_, cure)) => append(error, &format!(" ({cure})")),
        None => error,
    }
}

/// Adds to an error that ends it all; others keep their text.
fn append(error: LlmError, more: &str) -> LlmError {
    match error {
        LlmError::Fatal(message) => LlmError::Fatal(message + more),
        other => other,
    }
}
