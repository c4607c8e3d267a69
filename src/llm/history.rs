//! The conversation as it may be sent.
//!
//! Servers refuse a conversation with a call that has no result, or a result
//! that has no call, and go on refusing it. Whatever a cancelled turn or a
//! shortened history left behind is mended here, on the way out.

use super::ids::new_id;
use crate::message::{Message, ToolCall};
use std::borrow::Cow;
use std::collections::HashSet;

/// Borrowed wherever the history is fine as it is.
pub type Outgoing<'a> = Vec<Cow<'a, Message>>;

const NO_RESULT: &str = "Error: the result of this call was lost.";
const GO_ON: &str = "Please go on.";

/// Pairs calls and results in both directions, makes ids unique, leaves out
/// messages that say nothing, adds `context` to the last prompt, and lets the
/// user speak last.
pub fn outgoing<'a>(history: &'a [Message], context: Option<&str>) -> Outgoing<'a> {
    let mut out = Outgoing::with_capacity(history.len() + 1);
    let mut seen = HashSet::new();
    let mut rest = history;
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        match first {
            Message::Assistant { calls, .. } if !calls.is_empty() => {
                let end = more.iter().position(is_assistant).unwrap_or(more.len());
                let group;
                (group, rest) = more.split_at(end);
                push_group(&mut out, first, calls, group, &mut seen);
            }
            other => push(&mut out, other),
        }
    }
    if let Some(context) = context {
        add_context(&mut out, context);
    }
    if out.last().is_some_and(|last| is_assistant(last)) {
        out.push(Cow::Owned(Message::note(GO_ON)));
    }
    out
}

fn is_assistant(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}

/// Everything but calls and results; messages without a word stay out.
fn push<'a>(out: &mut Outgoing<'a>, message: &'a Message) {
    let words = match message {
        Message::Prompt(text) | Message::Note(text) => text,
        Message::Assistant { text: Some(text), .. } => text,
        Message::Assistant { .. } | Message::Tool { .. } => return,
    };
    if !words.trim().is_empty() {
        out.push(Cow::Borrowed(message));
    }
}

/// A message with calls, their results in order, then what else came.
fn push_group<'a>(
    out: &mut Outgoing<'a>,
    assistant: &'a Message,
    calls: &'a [ToolCall],
    group: &'a [Message],
    seen: &mut HashSet<Cow<'a, str>>,
) {
    let at = out.len();
    out.push(Cow::Borrowed(assistant));
    let mut used = vec![false; group.len()];
    for (index, call) in calls.iter().enumerate() {
        // Results mostly stand where they belong: look there first.
        let places = (index..group.len()).chain(0..index.min(group.len()));
        let found =
            places.into_iter().find(|&i| !used[i] && answers(&group[i], call));
        let result = match found {
            Some(i) => {
                used[i] = true;
                Cow::Borrowed(&group[i])
            }
            None => Cow::Owned(Message::result(call, NO_RESULT)),
        };
        out.push(result);
        if call.id.is_empty() || !seen.insert(Cow::Borrowed(&call.id)) {
            let id = new_id(out.len(), |id| seen.contains(id));
            rename(&mut out[at..], index, &id);
            seen.insert(Cow::Owned(id));
        }
    }
    group.iter().for_each(|message| push(out, message));
}

fn answers(message: &Message, call: &ToolCall) -> bool {
    matches!(message, Message::Tool { id, .. } if *id == call.id)
}

/// Gives the call at `index` of this group, and its result, the id `new`.
fn rename(group: &mut [Cow<'_, Message>], index: usize, new: &str) {
    if let Some(Message::Assistant { calls, .. }) =
        group.first_mut().map(Cow::to_mut)
    {
        calls[index].id = new.into();
    }
    if let Some(Message::Tool { id, .. }) = group.last_mut().map(Cow::to_mut) {
        *id = new.into();
    }
}

fn add_context(out: &mut Outgoing<'_>, context: &str) {
    let prompt =
        out.iter_mut().rev().find(|one| matches!(***one, Message::Prompt(_)));
    if let Some(prompt) = prompt
        && let Message::Prompt(text) = prompt.to_mut()
    {
        *text = format!("{text}\n\n{context}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn assistant(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall {
            id: id.to_string(),
            name: "t".into(),
            args: Ok(json!({})),
        };
        let calls = ids.iter().map(call).collect();
        Message::Assistant { text: None, calls, raw: Value::Null }
    }

    fn said(text: &str) -> Message {
        Message::Assistant {
            text: Some(text.into()),
            calls: vec![],
            raw: Value::Null,
        }
    }

    fn result(id: &str) -> Message {
        Message::Tool { id: id.into(), name: "t".into(), text: format!("of {id}") }
    }

    /// One letter a message, with ids.
    fn shape(history: &[Message]) -> String {
        let shown = outgoing(history, None).into_iter().map(|one| match &*one {
            Message::Prompt(text) => format!("p:{text}"),
            Message::Note(text) => format!("n:{text}"),
            Message::Assistant { calls, .. } => {
                let ids: Vec<_> = calls.iter().map(|call| &*call.id).collect();
                format!("a:{}", ids.join("+"))
            }
            Message::Tool { id, text, .. } if text == NO_RESULT => {
                format!("lost:{id}")
            }
            Message::Tool { id, .. } => format!("t:{id}"),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_sound_history_is_only_borrowed() {
        let history =
            [Message::prompt("x"), assistant(&["a", "b"]), result("a"), result("b")];
        let out = outgoing(&history, None);
        assert!(out.iter().all(|one| matches!(one, Cow::Borrowed(_))));
        assert_eq!(shape(&history), "p:x a:a+b t:a t:b");
    }

    #[test]
    fn calls_and_results_are_paired_in_both_directions() {
        let history = [
            result("orphan"),
            Message::prompt("x"),
            assistant(&["a", "b", "c"]),
            result("b"),
            Message::note("n"),
            result("a"),
            result("a"),
            result("z"),
            assistant(&["d"]),
        ];
        assert_eq!(shape(&history), "p:x a:a+b+c t:a t:b lost:c n:n a:d lost:d");
    }

    #[test]
    fn ids_become_unique_and_stay_the_same() {
        let twice =
            [assistant(&["a", "a", ""]), result("a"), result("a"), result("")];
        assert_eq!(
            shape(&twice),
            "a:a+call00003+call00004 t:a t:call00003 t:call00004"
        );
        let again = [&twice[..], &[assistant(&["a"]), result("a")]].concat();
        assert!(shape(&again).starts_with(&shape(&twice)));
        assert!(shape(&again).ends_with("a:call00006 t:call00006"));
    }

    #[test]
    fn who_says_nothing_is_left_out_and_the_user_speaks_last() {
        let history = [Message::prompt("x"), assistant(&[]), said(" "), said("s")];
        assert_eq!(shape(&history), "p:x a: n:Please go on.");
    }

    #[test]
    fn context_goes_with_the_last_prompt() {
        let history =
            [Message::prompt("a"), Message::prompt("b"), Message::note("n")];
        let out = outgoing(&history, Some("c"));
        assert_eq!(
            *out[1],
            Message::prompt(
                "b

c"
            )
        );
        assert_eq!(*out[0], history[0]);
    }
}
