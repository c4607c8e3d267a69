//! One call of a model: what is asked, what comes back, what can go wrong.
//!
//! [`Model`] is the only trait of the early chapters. The plain [`Client`]
//! sends one request; a later chapter wraps it in a model that retries, and
//! everything written before gains that without being edited.

mod answer;
mod anthropic;
mod arguments;
mod classify;
mod client;
mod config;
mod error;
mod fault;
mod history;
mod http;
mod ids;
mod json;
mod markup;
mod models;
mod openai;
mod repairs;
mod response;
mod retry_after;
mod secrets;
mod wire;

#[cfg(test)]
mod odd_shapes;

pub use client::Client;
pub use config::{ANTHROPIC_DEFAULT_MODEL, Config, OPENAI_DEFAULT_MODEL, Provider};
pub use error::LlmError;
pub use secrets::SHORTEST as SHORTEST_KEY;

use crate::message::{Message, ToolCall};
use crate::tool::Definition;
use std::pin::Pin;

/// A future in a box, so that [`Model`] can be used as `dyn Model`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What one request says.
pub struct Ask<'a> {
    /// The system prompt. Sent with each request, never stored.
    pub system: &'a str,
    /// The conversation. `&mut`, since a model that recovers from "too long"
    /// must be able to shorten it for good.
    pub history: &'a mut Vec<Message>,
    /// The tools that the model may call, in a stable order.
    pub tools: &'a [Definition],
    /// Text that goes out with the prompt that opened the turn, and is never
    /// stored.
    pub context: Option<&'a str>,
    /// The limit of the answer in tokens. `None`: the server's own.
    pub max_tokens: Option<u32>,
}

impl<'a> Ask<'a> {
    /// A request without extras: what the early chapters need.
    pub fn new(
        system: &'a str,
        history: &'a mut Vec<Message>,
        tools: &'a [Definition],
    ) -> Self {
        Ask { system, history, tools, context: None, max_tokens: None }
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The message to store, unchanged.
    pub message: Message,
    /// Its text, for the reader; empty when there are only calls.
    pub text: String,
    /// Its calls. Their presence, not `finish`, decides whether to go on.
    pub calls: Vec<ToolCall>,
    /// The provider's own word for why it stopped, such as `stop`, `length`
    /// or `end_turn`; empty when it said none.
    pub finish: String,
    pub usage: Option<Usage>,
}

impl Reply {
    /// Did the output limit cut the answer short?
    pub fn is_cut(&self) -> bool {
        answer::is_cut(&self.finish)
    }
}

/// Token counts as the server reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// Something that answers a conversation.
pub trait Model: Send + Sync {
    fn chat<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Result<Reply, LlmError>>;
}
