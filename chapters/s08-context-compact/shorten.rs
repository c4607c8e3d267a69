//! The cheap steps: what can leave a conversation without asking a model.
//!
//! Pure functions over the list. None of them parts a call from its results,
//! and none touches what the model has not seen yet.

use super::persist::place;
use crate::message::Message;
use crate::text::head;
use serde_json::{Value, json};
use std::ops::Range;

/// A longer list is snipped to `HEAD` and `TAIL` messages. Each snip changes
/// the requests from their fifth message on, so that the provider's cache is
/// of no use: the distance between the two numbers keeps it rare.
const MOST: usize = 50;
const HEAD: usize = 4;
const TAIL: usize = 24;
/// Fewer messages are not worth that.
const BATCH: usize = 10;

/// How many results micro-compaction leaves whole.
const KEPT_RESULTS: usize = 3;
/// Characters of a result that is not worth shortening.
const SHORT: usize = 200;

/// What a message weighs: the characters of its JSON.
pub fn size(message: &Message) -> usize {
    json(message).to_string().chars().count()
}

/// What a conversation weighs, in characters of JSON.
pub fn total(history: &[Message]) -> usize {
    history.iter().map(size).sum()
}

/// A message as the OpenAI format has it.
pub fn json(message: &Message) -> Value {
    match message {
        Message::Prompt(text) | Message::Note(text) => {
            json!({"role": "user", "content": text})
        }
        Message::Tool { id, name, text } => {
            let role = "tool";
            json!({"role": role, "tool_call_id": id, "name": name, "content": text})
        }
        Message::Assistant { raw, .. } if raw.is_object() => raw.clone(),
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| {
                let arguments =
                    call.args.as_ref().map_or("{}".into(), Value::to_string);
                let function = json!({"name": call.name, "arguments": arguments});
                json!({"id": call.id, "type": "function", "function": function})
            });
            let calls: Vec<_> = calls.collect();
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
    }
}

/// Where the part begins that the model has not seen: behind its last reply.
pub fn unseen(history: &[Message]) -> usize {
    let reply = |message: &Message| matches!(message, Message::Assistant { .. });
    history.iter().rposition(reply).map_or(0, |at| at + 1)
}

/// Where the part begins that stays as it is: what the model has not seen, and
/// the calls that it answers.
pub fn tail(history: &[Message]) -> usize {
    border(history, unseen(history))
}

/// The last place up to `at` where a cut parts no call from its results: in
/// front of anything but a result.
pub fn border(history: &[Message], mut at: usize) -> usize {
    while at > 0 && matches!(history.get(at), Some(Message::Tool { .. })) {
        at -= 1;
    }
    at
}

pub fn is_prompt(message: &Message) -> bool {
    matches!(message, Message::Prompt(_))
}

/// Takes the middle out of a list of more than 50 messages. Returns how many
/// characters that saves; what it took is added to `gone`.
pub fn snip(history: &mut Vec<Message>, gone: &mut Vec<Message>) -> usize {
    let head = border(history, HEAD);
    let gap = history.iter().take(head).position(|one| snipped(one).is_some());
    let head = gap.unwrap_or(head);
    let end = border(history, history.len().saturating_sub(TAIL)).min(tail(history));
    if history.len() <= MOST || end < head + BATCH {
        return 0;
    }
    cut(history, head..end, gone)
}

/// Puts one note in the place of a part; it also counts what an earlier note
/// stood for. The newest request stays, wherever it was. Returns how many
/// characters that saves; the part is added to `gone`.
pub fn cut(
    history: &mut Vec<Message>,
    part: Range<usize>,
    gone: &mut Vec<Message>,
) -> usize {
    let newest = history.iter().rposition(is_prompt);
    let newest = newest.filter(|at| part.contains(at));
    let going = part.clone().filter(|at| Some(*at) != newest);
    let (mut count, mut weight) = (0, 0);
    for message in going.map(|at| &history[at]) {
        count += snipped(message).unwrap_or(1);
        weight += size(message);
    }
    let note = Message::note(format!("[snipped {count} messages from the middle]"));
    let saved = weight.saturating_sub(size(&note));
    if saved > 0 {
        let newest = newest.map(|at| history[at].clone());
        gone.extend(history.splice(part, [note].into_iter().chain(newest)));
    }
    saved
}

/// How many messages an earlier note stands for.
fn snipped(message: &Message) -> Option<usize> {
    let Message::Note(text) = message else { return None };
    let number = text.strip_prefix("[snipped ")?;
    number.strip_suffix(" messages from the middle]")?.parse().ok()
}

/// Leaves one line of each result but the last three and the unseen ones, all
/// in one go, so that the requests after it share their beginning. Returns how
/// many characters that saves; the whole results are added to `gone`.
pub fn micro_compact(history: &mut [Message], gone: &mut Vec<Message>) -> usize {
    let result = |at: &usize| matches!(history[*at], Message::Tool { .. });
    let kept = (0..history.len()).rev().filter(result).nth(KEPT_RESULTS - 1);
    let end = kept.unwrap_or(0).min(unseen(history));
    let shorten = |message: &mut Message| {
        let Message::Tool { id, name, text } = message else { return 0 };
        if head(text, SHORT).len() == text.len() {
            return 0;
        }
        let (id, name, text) = (id.clone(), name.clone(), remnant(text));
        let whole = std::mem::replace(message, Message::Tool { id, name, text });
        let saved = size(&whole) - size(message);
        gone.push(whole);
        saved
    };
    history[..end].iter_mut().map(shorten).sum()
}

/// What stays of a result: where it can be found again.
pub fn remnant(text: &str) -> String {
    let chars = text.chars().count();
    match place(text) {
        Some(place) => format!("[{place}]"),
        None => {
            format!("[{chars} characters were here; call again if you need them]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;

    fn round(history: &mut Vec<Message>, id: &str, results: &[&str]) {
        let call = |n| ToolCall {
            id: format!("{id}.{n}"),
            name: "bash".into(),
            args: Ok(json!({"command": "ls"})),
        };
        let calls: Vec<_> = (0..results.len()).map(call).collect();
        history.push(Message::Assistant {
            text: Some("I look.".into()),
            calls: calls.clone(),
            raw: Value::Null,
        });
        for (call, text) in calls.iter().zip(results) {
            history.push(Message::result(call, *text));
        }
    }

    fn notes(history: &[Message]) -> Vec<&str> {
        let notes = history.iter().filter_map(|message| match message {
            Message::Note(text) => Some(text.as_str()),
            _ => None,
        });
        notes.collect()
    }

    fn results(history: &[Message]) -> Vec<&str> {
        let results = history.iter().filter_map(|message| match message {
            Message::Tool { text, .. } => Some(text.as_str()),
            _ => None,
        });
        results.collect()
    }

    #[test]
    fn a_size_is_what_the_wire_format_takes() {
        let text = "a\"\n漢🦀";
        assert_eq!(
            size(&Message::prompt(text)),
            r#"{"role":"user","content":"a\"\n漢🦀"}"#.chars().count()
        );
        let raw =
            json!({"role": "assistant", "content": null, "reasoning_content": "é"});
        let message =
            Message::Assistant { text: None, calls: vec![], raw: raw.clone() };
        assert_eq!(size(&message), raw.to_string().chars().count());
    }

    #[test]
    fn snip_marks_one_gap_and_leaves_it_alone() {
        let mut history = vec![Message::prompt("task")];
        for n in 0..25 {
            round(&mut history, &n.to_string(), &["ok"]);
        }
        let before = total(&history);
        let saved = snip(&mut history, &mut vec![]);
        assert_eq!(total(&history), before - saved);
        assert_eq!(history.len(), 3 + 1 + 24);
        assert_eq!(notes(&history), ["[snipped 24 messages from the middle]"]);
        assert!(matches!(&history[2], Message::Tool { .. }));
        let after_first = history.clone();
        assert_eq!(snip(&mut history, &mut vec![]), 0);
        assert_eq!(history, after_first);
        for n in 25..37 {
            round(&mut history, &n.to_string(), &["ok"]);
        }
        assert!(snip(&mut history, &mut vec![]) > 0);
        assert_eq!(notes(&history), ["[snipped 48 messages from the middle]"]);
        assert_eq!(history[..3], after_first[..3]);
    }

    #[test]
    fn the_newest_request_survives_a_snip_in_its_place() {
        let mut history = vec![Message::prompt("old")];
        round(&mut history, "a", &["ok"]);
        round(&mut history, "b", &["ok"]);
        history.push(Message::prompt("new"));
        for n in 0..50 {
            round(&mut history, &n.to_string(), &["ok"]);
        }
        snip(&mut history, &mut vec![]);
        let prompts: Vec<_> = history.iter().filter(|one| is_prompt(one)).collect();
        assert_eq!(prompts, [&Message::prompt("old"), &Message::prompt("new")]);
        assert_eq!(history[4], Message::prompt("new"));
    }

    #[test]
    fn many_results_of_one_reply_are_not_torn_apart() {
        let mut history = vec![Message::prompt("task")];
        for n in 0..20 {
            round(&mut history, &n.to_string(), &["ok"]);
        }
        round(&mut history, "many", &["ok"; 60]);
        snip(&mut history, &mut vec![]);
        let at = history.iter().position(|one| matches!(one, Message::Note(_)));
        let behind = &history[at.unwrap() + 1..];
        assert_eq!(behind.len(), 61);
        assert!(matches!(&behind[0], Message::Assistant { .. }));
    }

    #[test]
    fn micro_compaction_keeps_three_results_and_the_unseen() {
        let long = &*"漢".repeat(SHORT + 1);
        let mut history = vec![Message::prompt("task")];
        for n in 0..5 {
            round(&mut history, &n.to_string(), &[long]);
        }
        let before = total(&history);
        let saved = micro_compact(&mut history, &mut vec![]);
        assert_eq!(total(&history), before - saved);
        let short = "[201 characters were here; call again if you need them]";
        assert_eq!(results(&history), [short, short, long, long, long]);
        assert_eq!(micro_compact(&mut history, &mut vec![]), 0);

        round(&mut history, "many", &[long; 5]);
        micro_compact(&mut history, &mut vec![]);
        assert_eq!(results(&history)[4..], [short, long, long, long, long, long]);
    }
}
