//! The conversation: what every chapter stores and every provider is sent.
//!
//! These types are neutral to the provider. Each wire format in
//! [`crate::llm`] translates them, so no chapter knows which one is spoken.

use serde_json::Value;

/// One call of a tool that the model asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Pairs the call with its result; unique in the whole conversation.
    pub id: String,
    /// The tool's name, as the model wrote it (it may not exist).
    pub name: String,
    /// The arguments: always a JSON object, or, if what the model sent is not
    /// one, the explanation that it gets back as this call's result.
    pub args: Result<Value, String>,
}

impl ToolCall {
    /// The arguments as an object; `null` where they could not be read.
    pub fn object(&self) -> &Value {
        self.args.as_ref().unwrap_or(&Value::Null)
    }
}

/// One entry of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What somebody asked for. It opens a turn.
    Prompt(String),
    /// What the program adds on its own in the user's role: a reminder, a
    /// notification. Models know no third role, but we must not confuse it
    /// with a request.
    Note(String),
    /// What the model said: text, calls, or both.
    Assistant {
        text: Option<String>,
        calls: Vec<ToolCall>,
        /// The provider's own message. It goes back as it came, because some
        /// fields (signed thoughts, for one) must return although we do not
        /// know them. `Null` for a message of our own making.
        raw: Value,
    },
    /// The result of one call.
    Tool { id: String, name: String, text: String },
}

impl Message {
    pub fn prompt(text: impl Into<String>) -> Self {
        Message::Prompt(text.into())
    }

    pub fn note(text: impl Into<String>) -> Self {
        Message::Note(text.into())
    }

    /// The answer to `call`. Every call needs exactly one.
    pub fn result(call: &ToolCall, text: impl Into<String>) -> Self {
        let (id, name) = (call.id.clone(), call.name.clone());
        Message::Tool { id, name, text: text.into() }
    }
}

/// Answers every call that has no result yet, saying `why`.
///
/// A cancelled turn stops in the middle of its calls. Providers refuse a
/// conversation with an unanswered call for good, so one lost result would
/// cost the user the whole session.
pub fn close_open_calls(history: &mut Vec<Message>, why: &str) {
    let Some(at) = history.iter().rposition(is_assistant) else {
        return;
    };
    let Message::Assistant { calls, .. } = &history[at] else { return };
    let results = history[at + 1..].iter();
    let answered = results.filter(|one| matches!(one, Message::Tool { .. })).count();
    let missing: Vec<_> =
        calls.iter().skip(answered).map(|call| Message::result(call, why)).collect();
    history.extend(missing);
}

fn is_assistant(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "go".into(), args: Ok(json!({})) }
    }

    fn asking(ids: &[&str]) -> Message {
        let calls = ids.iter().map(|id| call(id)).collect();
        Message::Assistant { text: None, calls, raw: Value::Null }
    }

    #[test]
    fn only_what_is_open_is_closed() {
        let mut history = vec![
            Message::prompt("x"),
            asking(&["1", "2", "3"]),
            Message::result(&call("1"), "done"),
        ];
        close_open_calls(&mut history, "Cancelled.");
        assert_eq!(
            history[3..],
            ["2", "3"].map(|id| { Message::result(&call(id), "Cancelled.") })
        );
        let closed = history.clone();
        close_open_calls(&mut history, "Cancelled.");
        assert_eq!(history, closed);
    }

    #[test]
    fn a_conversation_without_calls_stays_as_it_is() {
        let mut history =
            vec![Message::prompt("x"), asking(&[]), Message::note("y")];
        close_open_calls(&mut history, "Cancelled.");
        assert_eq!(history.len(), 3);
        history.clear();
        close_open_calls(&mut history, "Cancelled.");
        assert!(history.is_empty());
    }
}
