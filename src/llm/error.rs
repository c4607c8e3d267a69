//! What can go wrong with a model call, as far as a caller branches on it.

use std::time::Duration;

/// Why there is no reply. The text of each is fit to be shown to the user.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LlmError {
    /// Too many requests: worth another try, not before `wait`.
    #[error("rate limited: {message}{}", wait_note(.wait))]
    RateLimited { message: String, wait: Option<Duration> },
    /// The account is used up: waiting does not help.
    #[error("quota or billing: {0}")]
    Quota(String),
    /// The model has no capacity: worth another try, perhaps elsewhere.
    #[error("overloaded: {message}{}", wait_note(.wait))]
    Overloaded { message: String, wait: Option<Duration> },
    /// No usable answer arrived (connection, time-out, gateway, cut body):
    /// worth another try.
    #[error("no usable answer: {message}{}", wait_note(.wait))]
    Transport { message: String, wait: Option<Duration> },
    /// The conversation does not fit. The numbers are tokens, where the
    /// server gave them.
    #[error("context too long: {message}")]
    ContextTooLong { message: String, used: Option<u64>, limit: Option<u64> },
    /// `max_tokens` is above what the server allows (tokens, if it said).
    #[error("max_tokens too large: {message}")]
    MaxTokens { message: String, limit: Option<u64> },
    /// A reply without text and without calls.
    #[error("empty answer{}", finish_note(.finish))]
    Empty { finish: String },
    /// The model, or a filter before it, refused.
    #[error("refused: {0}")]
    Refused(String),
    /// Asking again will not help.
    #[error("{0}")]
    Fatal(String),
}

fn wait_note(wait: &Option<Duration>) -> String {
    let seconds = wait.map(|wait| wait.as_secs_f64().ceil());
    let note = |seconds| format!(" (the server asks to wait {seconds} s)");
    seconds.map(note).unwrap_or_default()
}

fn finish_note(finish: &str) -> String {
    match finish {
        "" => String::new(),
        word => format!(" (the server's reason for stopping: {word})"),
    }
}
