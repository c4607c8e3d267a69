//! The plain client: one request, one answer, no second try.
//!
//! Two things it does settle by itself, since only it sees them: a request
//! whose form a server refuses is sent once in another form, and a model that
//! writes a call as plain text is told so once. Both happen on copies; the
//! history changes only by what the caller stores.

use super::answer::Answer;
use super::config::Config;
use super::history::{self, Outgoing};
use super::http::{Http, Received};
use super::repairs::Quirks;
use super::wire::Wire;
use super::{Ask, BoxFuture, LlmError, Model, Reply, Usage};
use super::{json, models, response};
use crate::cli;
use crate::message::Message;
use hyper::body::Bytes;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const CORRECTION: &str = "Your last message holds a tool call as plain text, so \
    nothing was run. Call the tool through the tool interface. If it was meant as \
    an example for the reader, put it into a code block.";
const UNCORRECTED: &str = "the model writes tool calls as plain text, twice in a \
    row: the server does not recognise them. Start it with the tool parser of this \
    model (llama.cpp: --jinja, vLLM: --tool-call-parser), or choose another model";

/// A careful guess: most texts have fewer.
const BYTES_PER_TOKEN: u64 = 4;
/// Less than this is no window, but a server that does not count.
const SMALLEST_WINDOW: u64 = 256;

/// A model behind an address.
pub struct Client {
    http: Http,
    wire: &'static Wire,
    model: String,
    /// What this server has taught us so far.
    quirks: Mutex<Quirks>,
    /// Was the user told that the server cuts the prompt?
    warned: AtomicBool,
}

impl Client {
    /// Prepares a client. Asks the server for its models if none is named.
    ///
    /// # Errors
    /// The model is unset and the server lists none, or more than one
    /// ([`UsageError`](crate::settings::UsageError)); no certificates.
    pub async fn connect(config: Config) -> anyhow::Result<Client> {
        let http = Http::new(&config)?;
        let wire = Wire::of(config.provider);
        let model = match config.model {
            Some(model) => model,
            None => models::only_one(&http, wire).await?,
        };
        Ok(Client::new(http, wire, model))
    }

    fn new(http: Http, wire: &'static Wire, model: String) -> Client {
        let quirks = Mutex::default();
        Client { http, wire, model, quirks, warned: AtomicBool::new(false) }
    }

    /// The name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The same server with another model.
    pub fn with_model(&self, name: &str) -> Client {
        Client::new(self.http.clone(), self.wire, name.into())
    }

    async fn answer(&self, ask: Ask<'_>) -> Result<Reply, LlmError> {
        let mut messages = history::outgoing(ask.history, ask.context);
        let answer = self.exchange(&ask, &messages).await?;
        if !answer.attempts_call(ask.tools) {
            return judged(answer);
        }
        cli::note(
            "[llm] a tool call in plain text: the model is asked to repeat it",
        );
        messages.extend(correction(answer));
        let answer = self.exchange(&ask, &messages).await?;
        if answer.attempts_call(ask.tools) {
            return Err(LlmError::Fatal(UNCORRECTED.into()));
        }
        judged(answer)
    }

    /// One request and its answer, in the form that this server wants.
    async fn exchange(
        &self,
        ask: &Ask<'_>,
        messages: &Outgoing<'_>,
    ) -> Result<Answer, LlmError> {
        let Wire { chat: path, request, is_answer, answer, .. } = self.wire;
        let quirks = *self.quirks();
        let body = Bytes::from(request(&self.model, ask, messages, quirks));
        let size = body.len();
        let mut received = self.http.post(path, body.clone()).await?;
        if let Some(better) = learn(&received, quirks) {
            *self.quirks() = better;
            let changed = Bytes::from(request(&self.model, ask, messages, better));
            // The same bytes would get the same answer.
            if changed != body {
                received = self.http.post(path, changed).await?;
            }
        }
        match json::parse(&received.body) {
            // Some gateways send what a filter stopped with status 400.
            Ok(body) if is_blank(&body["error"]) && is_answer(&body) => {
                let mut answer = answer(body, ask.history);
                if ask.tools.is_empty() {
                    answer.drop_calls();
                }
                self.warn_if_cut(size, answer.usage);
                Ok(answer)
            }
            _ => {
                let received = self.http.masked(received);
                Err(response::explain(&received, &self.http.shown(path)))
            }
        }
    }

    fn quirks(&self) -> MutexGuard<'_, Quirks> {
        // It is a plain value: a panic elsewhere cannot have left it half done.
        self.quirks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some servers cut a prompt that is too long in silence, and answer what
    /// is left. The only trace is their count.
    fn warn_if_cut(&self, bytes: usize, usage: Option<Usage>) {
        let expected = bytes as u64 / BYTES_PER_TOKEN;
        let Some(Usage { input_tokens: counted, .. }) = usage else { return };
        if counted >= SMALLEST_WINDOW
            && counted.saturating_mul(3) < expected
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            cli::note(&format!(
                "[llm] the server counts {counted} prompt tokens, about {expected} \
                 were sent: it has probably cut the prompt. Give it a larger \
                 context (Ollama: num_ctx)."
            ));
        }
    }
}

impl Model for Client {
    fn chat<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Result<Reply, LlmError>> {
        Box::pin(self.answer(ask))
    }
}

/// Some servers send an empty `error` with every answer.
fn is_blank(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        Value::Bool(true) => false,
    }
}

fn judged(answer: Answer) -> Result<Reply, LlmError> {
    let refused = answer.refused || answer.finish == "content_filter";
    let reply = answer.into_reply()?;
    if refused {
        cli::note("[llm] this answer is a refusal, or was stopped by a filter");
    }
    Ok(reply)
}

/// What a refused request teaches about this server.
fn learn(received: &Received, quirks: Quirks) -> Option<Quirks> {
    let refused = received.status >= 400;
    refused
        .then(|| received.body.to_lowercase())
        .and_then(|body| quirks.learn(&body))
}

/// What the model said, and what is wrong with it.
fn correction<'a>(answer: Answer) -> impl Iterator<Item = Cow<'a, Message>> {
    let said = answer.into_reply().ok().map(|reply| reply.message);
    said.into_iter().chain([Message::note(CORRECTION)]).map(Cow::Owned)
}
