//! What an answer amounts to, once a wire format has been taken off it.

use super::{LlmError, Reply, Usage, markup};
use crate::message::{Message, ToolCall};
use crate::tool::Definition;
use serde_json::Value;

const CUT: &str = "the answer was cut off by its length limit, so this call was \
                   not run. Send less at once, a file in pieces.";

/// What the model said, in no provider's words.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    /// The text without thoughts.
    pub text: String,
    /// Thoughts: never shown, but a call may be lost in them.
    pub thoughts: String,
    /// The message says itself that it is a refusal.
    pub refused: bool,
    pub calls: Vec<ToolCall>,
    /// The message as it goes back.
    pub raw: Value,
    pub finish: String,
    pub usage: Option<Usage>,
}

impl Answer {
    /// Is there a call that the server has not recognised?
    pub fn attempts_call(&self, tools: &[Definition]) -> bool {
        let text = if self.text.is_empty() { &self.thoughts } else { &self.text };
        !tools.is_empty()
            && self.calls.is_empty()
            && markup::attempts_call(text, tools)
    }

    /// Forgets calls: without tools on offer there is nothing to call.
    pub fn drop_calls(&mut self) {
        if !self.calls.is_empty() {
            self.calls.clear();
            // It holds the calls as well; the text is enough to rebuild it.
            self.raw = Value::Null;
        }
    }

    /// Judges the answer.
    ///
    /// # Errors
    /// It is a refusal, it is empty, or it is not finished.
    pub fn into_reply(mut self) -> Result<Reply, LlmError> {
        if self.finish == "pause_turn" {
            return Err(LlmError::Fatal(
                "the server paused the turn (pause_turn): that is not supported here"
                    .into(),
            ));
        }
        if self.is_refusal() {
            return Err(LlmError::Refused(self.refusal()));
        }
        if self.calls.is_empty() && self.text.trim().is_empty() {
            if self.finish == "model_context_window_exceeded" {
                let (message, used, limit) = (self.finish, None, None);
                return Err(LlmError::ContextTooLong { message, used, limit });
            }
            return Err(LlmError::Empty { finish: self.finish });
        }
        if is_cut(&self.finish) {
            self.calls.iter_mut().for_each(|call| call.args = Err(CUT.into()));
        }
        Ok(self.reply())
    }

    /// A text is shown, refusal or not; calls beside it are not run.
    fn is_refusal(&self) -> bool {
        let filtered = matches!(&*self.finish, "content_filter" | "refusal");
        let can_be_shown = self.calls.is_empty()
            && !self.text.trim().is_empty()
            && self.finish != "refusal";
        (filtered || self.refused) && !can_be_shown
    }

    fn refusal(&self) -> String {
        let calls = match self.calls.len() {
            0 => String::new(),
            n => format!("; {n} tool call(s) not run"),
        };
        let who = match &*self.finish {
            "content_filter" => "a content filter stopped the answer",
            _ => "the model refused to answer",
        };
        match self.text.trim() {
            "" => format!("{who}{calls}"),
            text => format!("{who}{calls}: {text}"),
        }
    }

    fn reply(self) -> Reply {
        let Answer { text, calls, raw, finish, usage, .. } = self;
        let text = Some(text).filter(|text| !text.trim().is_empty());
        let message =
            Message::Assistant { text: text.clone(), calls: calls.clone(), raw };
        let text = text.unwrap_or_default();
        Reply { message, text, calls, finish, usage }
    }
}

/// Does this word say that a length limit cut the answer?
pub fn is_cut(finish: &str) -> bool {
    let words = ["length", "max_tokens", "model_context_window_exceeded"];
    words.iter().any(|word| finish.eq_ignore_ascii_case(word))
}

/// Adds up counts under any of these names. Servers leave them out, or send
/// `null` or `12.0`.
pub fn count(usage: &Value, names: &[&str]) -> Option<u64> {
    let number = |name: &&str| {
        let value = &usage[*name];
        value.as_u64().or_else(|| value.as_f64().map(|float| float as u64))
    };
    names.iter().filter_map(number).reduce(u64::saturating_add)
}

/// The counts, if there is at least one.
pub fn usage(input: Option<u64>, output: Option<u64>) -> Option<Usage> {
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(text: &str, calls: usize, finish: &str) -> Answer {
        let call = |n| ToolCall {
            id: format!("c{n}"),
            name: "t".into(),
            args: Ok(json!({})),
        };
        let calls = (0..calls).map(call).collect();
        let (text, finish) = (text.into(), finish.into());
        Answer { text, calls, finish, ..Answer::default() }
    }

    #[test]
    fn what_counts_as_an_answer() {
        let fine =
            |text, calls, finish| answer(text, calls, finish).into_reply().is_ok();
        assert!(fine("x", 0, "stop") && fine("", 1, "stop") && fine("x", 1, ""));
        assert!(fine("part", 0, "content_filter"));
        assert!(!fine("", 0, "tool_calls") && !fine(" \n", 0, "stop"));
        assert!(!fine("", 1, "content_filter") && !fine("x", 1, "refusal"));
        assert!(!fine("x", 0, "pause_turn") && !fine("", 0, "refusal"));
    }

    #[test]
    fn a_refusal_is_shown_unless_calls_stand_beside_it() {
        let refused =
            |calls| Answer { refused: true, ..answer("No.", calls, "stop") };
        assert_eq!(refused(0).into_reply().unwrap().text, "No.");
        let error = refused(1).into_reply().unwrap_err().to_string();
        assert!(error.contains("1 tool call(s) not run: No."), "{error}");
    }

    #[test]
    fn calls_of_a_cut_answer_are_not_run() {
        for finish in ["length", "max_tokens", "MAX_TOKENS"] {
            let reply = answer("", 2, finish).into_reply().unwrap();
            assert!(reply.is_cut());
            assert!(reply.calls.iter().all(|call| call.args.is_err()), "{finish}");
        }
    }

    #[test]
    fn counts_are_read_in_any_form() {
        let odd = json!({"a": 2.0, "b": null, "c": 3, "d": -1.0, "e": "x"});
        assert_eq!(count(&odd, &["a", "b", "c", "d", "e", "f"]), Some(5));
        assert_eq!(count(&Value::Null, &["a"]), None);
        assert_eq!(usage(None, None), None);
    }
}
