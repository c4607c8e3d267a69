//! From an error of a server to what a caller can do about it.
//!
//! There is no standard: the same fault comes with a dozen sentences, and the
//! same status means different things. So this is a table of phrases (in small
//! letters) and an order of looking, not a set of rules. The order matters: a
//! throttled request must not cost the conversation, and a request that can
//! never fit must not be sent again and again.

use super::error::LlmError;
use super::fault::{Fault, number_after, number_at_start, number_named};
use super::retry_after;
use reqwest::header::HeaderMap;

/// Says "wait", whatever else it says.
const THROTTLED: &[&str] =
    &["throttl", "too many requests", "please wait", "overloaded"];

/// The name of the parameter, in the three dialects, and what is wrong.
const CAP: &[&str] = &["max_tokens", "max_completion_tokens", "max_output_tokens"];
const CAP_TOO_LARGE: &[&str] = &[
    "too large",
    "exceed context limit",
    "less than or equal",
    "maximum allowed",
    "range of",
    "valid range",
    "at most",
];
const CAP_LIMIT_AFTER: &[&str] =
    &["[1,", "at most", "less than or equal to", "cannot exceed", " > "];

/// Codes: they mean a conversation that is too long under any status.
const OVERFLOW_CODES: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "contextwindowexceedederror",
    "request_too_large",
];
const OVERFLOW: &[&str] = &[
    "context window exceeds limit",
    "exceed context limit",
    "exceeded max context length",
    "exceeded model token limit",
    "exceeds the available context size",
    "exceeds the context window",
    "exceeds the maximum allowed length",
    "exceeds the maximum number of tokens",
    "greater than the context length",
    "input is too long",
    "longer than the model's context length",
    "maximum context length",
    "maximum prompt length is",
    "no user query found",
    "prompt is too long",
    "prompt token count of",
    "prompt too long",
    "range of input length",
    "reduce the length of the messages",
    "too large for model with",
];
/// A request above what the account may send in a minute: waiting is no help.
const ABOVE_RATE: &[&str] = &["tokens per min", "tpm"];
const USED_AFTER: &[&str] = &[
    "contains at least",
    "resulted in",
    "prompt contains",
    "request contains",
    "request has",
    "prompt is too long:",
    "token count of",
    "token count",
    "the input",
    "requested:",
    "requested",
    "request (",
];
const LIMIT_AFTER: &[&str] = &[
    "maximum context length is",
    "maximum prompt length is",
    "context length (",
    "context size (",
    "token limit:",
    "input length should be [1,",
    "tokens allowed",
    "too large for model with",
    "limit of",
    "limit",
    " > ",
];

const QUOTA: &[&str] = &[
    "insufficient_quota",
    "insufficient balance",
    "credit balance",
    "per day",
    "perday",
];
/// These may also speak about a minute's quota: then a wait is named.
const PERHAPS_QUOTA: &[&str] = &["quota", "billing", "credits"];

/// An accident of sampling: the next try may go well, even after a 400.
const ACCIDENT: &[&str] = &["tool_use_failed", "error parsing tool call"];
/// A 500 that comes back as often as the same request is sent.
const FIXED: &[&str] = &[
    "failed to parse tool call arguments",
    "system message must be",
    "content and thinking",
];
/// Words of an error inside of a 200 that names no code.
const SERVER_SIDE: &[&str] = &["server_error", "internal_error", "api_error"];

/// Tells an error by its status, headers and body.
pub fn classify(status: u16, headers: &HeaderMap, body: &str) -> LlmError {
    let fault = Fault::read(status, headers, body);
    let throttled = fault.has_any(THROTTLED);
    if !throttled && let Some(error) = too_large(&fault) {
        return error;
    }
    if is_quota(&fault) {
        return LlmError::Quota(fault.message);
    }
    by_status(fault, throttled)
}

fn too_large(fault: &Fault) -> Option<LlmError> {
    let told_by_text = matches!(fault.status, 200 | 400 | 413 | 422 | 500);
    if told_by_text && fault.has_any(CAP) && fault.has_any(CAP_TOO_LARGE) {
        let limit =
            room(&fault.text).or_else(|| first(&fault.text, CAP_LIMIT_AFTER));
        if limit != Some(0) {
            return Some(LlmError::MaxTokens {
                message: fault.message.clone(),
                limit,
            });
        }
    }
    let above_rate = matches!(fault.status, 413 | 429)
        && fault.text.contains("request too large")
        && fault.has_any(ABOVE_RATE);
    // Whatever a server or a gateway says to it: the request was too large.
    let overflow = fault.status == 413
        || fault.has_any(OVERFLOW_CODES)
        || above_rate
        || told_by_text && fault.has_any(OVERFLOW);
    overflow.then(|| LlmError::ContextTooLong {
        message: fault.message.clone(),
        used: number_named(&fault.value, "n_prompt_tokens")
            .or_else(|| first(&fault.text, USED_AFTER)),
        limit: number_named(&fault.value, "n_ctx")
            .or_else(|| first(&fault.text, LIMIT_AFTER)),
    })
}

/// What is left for the answer: `P + T > W` (prompt, answer, window) leaves
/// W − P, and so does `T > W - P`.
fn room(text: &str) -> Option<u64> {
    let at = text.find(" > ")?;
    let (left, right) = (&text[..at], &text[at + 3..]);
    let first = number_at_start(right)?;
    let behind = right.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',');
    if let Some(prompt) = behind.strip_prefix(" - ").and_then(number_at_start) {
        return Some(first.saturating_sub(prompt));
    }
    let (sum, _) = left.rsplit_once(" + ")?;
    let start =
        sum.rfind(|c: char| !c.is_ascii_digit() && c != ',').map_or(0, |i| i + 1);
    Some(first.saturating_sub(number_at_start(sum.get(start..)?)?))
}

fn first(text: &str, phrases: &[&str]) -> Option<u64> {
    phrases.iter().find_map(|phrase| number_after(text, phrase))
}

fn is_quota(fault: &Fault) -> bool {
    let waits = retry_after::wait(fault.headers, &fault.text).is_some();
    match fault.status {
        402 => true,
        200 | 400 | 403 | 429 => {
            fault.has_any(QUOTA) || fault.has_any(PERHAPS_QUOTA) && !waits
        }
        _ => false,
    }
}

fn by_status(fault: Fault, throttled: bool) -> LlmError {
    let wait = retry_after::wait(fault.headers, &fault.text);
    let overloaded = fault.has_any(&["overloaded"]) || fault.status == 529;
    let server_side = fault.status == 200 && fault.has_any(SERVER_SIDE);
    let again =
        match fault.headers.get("x-should-retry").map(|value| value.as_bytes()) {
            Some(b"true") => true,
            Some(b"false") => false,
            _ if fault.has_any(ACCIDENT) => true,
            _ if fault.has_any(FIXED) => false,
            _ => {
                throttled
                    || server_side
                    || matches!(fault.status, 408 | 409 | 429 | 500..)
            }
        };
    let message = fault.message;
    match fault.status {
        _ if !again => LlmError::Fatal(message),
        _ if overloaded => LlmError::Overloaded { message, wait },
        429 => LlmError::RateLimited { message, wait },
        400 | 200 if throttled => LlmError::RateLimited { message, wait },
        _ => LlmError::Transport { message, wait },
    }
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
