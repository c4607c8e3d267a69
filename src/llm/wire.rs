//! What differs between the two formats, as one table.

use super::answer::Answer;
use super::history::Outgoing;
use super::repairs::Quirks;
use super::{Ask, Provider, anthropic, openai};
use crate::message::Message;
use serde_json::Value;

/// A wire format: where requests go, how they are written, how answers are
/// read. The functions are pure.
pub struct Wire {
    /// Where conversations go, behind the base address.
    pub chat: &'static str,
    /// Where the models are listed, and the variable that names one.
    pub models: (&'static str, &'static str),
    /// Writes a request to the model of this name.
    pub request: fn(&str, &Ask<'_>, &Outgoing<'_>, Quirks) -> Vec<u8>,
    /// Does a body hold an answer, and not an error in its place?
    pub is_answer: fn(&Value) -> bool,
    /// Reads an answer to this history.
    pub answer: fn(Value, &[Message]) -> Answer,
}

const OPENAI: Wire = Wire {
    chat: "/chat/completions",
    models: ("/models", "OPENAI_MODEL"),
    request: openai::request,
    is_answer: openai::is_answer,
    answer: openai::answer,
};

const ANTHROPIC: Wire = Wire {
    chat: "/v1/messages",
    models: ("/v1/models", "ANTHROPIC_MODEL"),
    request: anthropic::request,
    is_answer: anthropic::is_answer,
    answer: anthropic::answer,
};

impl Wire {
    pub fn of(provider: Provider) -> &'static Wire {
        match provider {
            Provider::Anthropic => &ANTHROPIC,
            Provider::OpenAi | Provider::Offline => &OPENAI,
        }
    }
}
