//! Big texts move to files: the conversation keeps the path and a preview, and
//! `read_file` brings back any part. Unlike a summary, this loses nothing.

use super::shorten::{remnant, size, unseen};
use super::summary::with_less_summary;
use crate::files::Workspace;
use crate::message::{Message, ToolCall};
use crate::store::write_atomic;
use crate::text::{head, head_tail};
use serde_json::{Map, Value};
use std::cmp::Reverse;
use std::{fs, io};

const RESULTS: &str = ".task_outputs/tool-results";
const OPENING: &str = "<persisted-output>\n";

/// Characters of a moved text that stay in the conversation.
const PREVIEW: usize = 2_000;
/// What the words around a preview weigh at most. A text that is not longer
/// than both together stays, since moving it would save nothing.
const FRAME: usize = 300;

/// Writes a new file, under a name that nobody else has. Returns its path from
/// the workspace's root.
pub fn save(
    workspace: &Workspace,
    folder: &str,
    ending: &str,
    bytes: &[u8],
) -> io::Result<String> {
    let place = workspace.root().join(folder);
    fs::create_dir_all(&place)?;
    let mut claim = tempfile::Builder::new();
    let claim = claim.prefix("").suffix(ending).rand_bytes(8).tempfile_in(place)?;
    write_atomic(claim.path(), bytes)?;
    // Without this, it would be deleted as temporary files are.
    let (_, path) = claim.keep()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{folder}/{name}"))
}

/// Moves a text to a file. What is returned takes its place.
fn spill(workspace: &Workspace, text: &str, preview: usize) -> String {
    let path = match save(workspace, RESULTS, ".txt", text.as_bytes()) {
        Ok(path) => path,
        Err(error) => {
            let (cut, why) = (head_tail(text, preview), error.to_string());
            return format!(
                "{cut}\n[cut; saving the whole failed: {}]",
                head(&why, 100)
            );
        }
    };
    let start = head(text, preview);
    let chars = text.chars().count();
    // How a command ended must be seen at once.
    let end = match text.lines().next_back() {
        Some(last) if last.starts_with('[') && last.len() < 100 => {
            format!("[...]\n{last}\n")
        }
        _ => String::new(),
    };
    let go_on = match start.lines().count() {
        // One long line, of which read_file shows only the beginning.
        0 | 1 => format!("use bash with `fold -w 200 {path} | sed -n 11,30p`"),
        line => format!("read_file with offset={line}"),
    };
    format!(
        "{OPENING}{chars} characters in {path}\n\
         For the rest, {go_on}. It begins:\n\
         {start}\n{end}</persisted-output>"
    )
}

/// Where the whole of a moved text is: `N characters in PATH`.
pub fn place(text: &str) -> Option<&str> {
    let line = text.strip_prefix(OPENING)?.lines().next()?;
    line.contains(RESULTS).then(|| head(line, 120))
}

/// While the results that the model has not seen weigh more than half of
/// `limit`, moves the largest to a file. Returns how many characters that
/// saves.
pub fn persist_unseen(
    workspace: &Workspace,
    history: &mut [Message],
    limit: usize,
) -> usize {
    let (seen, unseen) = history.split_at_mut(unseen(history));
    let calls = match seen.last() {
        Some(Message::Assistant { calls, .. }) => calls.as_slice(),
        _ => &[],
    };
    let results =
        unseen.iter_mut().filter(|one| matches!(one, Message::Tool { .. }));
    largest_first(results, limit / 2, |result| {
        let Message::Tool { id, text, .. } = result else { return };
        let call = calls.iter().find(|call| call.id == *id);
        if let Some(first) = call.and_then(reread) {
            *text = page(text, first, limit);
        // An error is what the model must see at once.
        } else if is_long(text, PREVIEW) && !text.starts_with("Error:") {
            *text = spill(workspace, text, PREVIEW);
        }
    })
}

/// The last resort: moves whatever is largest, requests too, until the history
/// weighs `target` or nothing is left to move. Returns how many characters
/// that saves; whole messages of which a part is in no file are added to
/// `gone`.
pub fn shrink(
    workspace: &Workspace,
    history: &mut [Message],
    target: usize,
    gone: &mut Vec<Message>,
) -> usize {
    let shrink = |preview| {
        largest_first(history.iter_mut(), target, |message| match message {
            Message::Assistant { .. } => {
                let whole = message.clone();
                let Message::Assistant { calls, raw, .. } = message else { return };
                if shorten_arguments(calls, preview) {
                    // The provider's form holds them as well.
                    *raw = Value::Null;
                    gone.push(whole);
                }
            }
            Message::Prompt(text)
            | Message::Note(text)
            | Message::Tool { text, .. } => {
                if let Some(less) = with_less_summary(text, preview) {
                    if less.len() < text.len() {
                        gone.push(Message::prompt(&*text));
                    }
                    // The request in it may be what does not fit.
                    let spills = preview < PREVIEW && is_long(&less, PREVIEW);
                    *text =
                        if spills { spill(workspace, text, preview) } else { less };
                } else if is_long(text, preview) && place(text).is_some() {
                    *text = remnant(text);
                } else if is_long(text, preview) {
                    *text = spill(workspace, text, preview);
                }
            }
        })
    };
    [PREVIEW, PREVIEW / 10].into_iter().map(shrink).sum()
}

/// Leaves of long texts in arguments only how long they were: the calls have
/// run, and a file that was written is on the disk. Returns whether it did.
fn shorten_arguments(calls: &mut [ToolCall], most: usize) -> bool {
    let args = calls.iter_mut().filter_map(|call| call.args.as_mut().ok());
    let values = args.filter_map(Value::as_object_mut).flat_map(Map::values_mut);
    let long = values.filter(|value| is_long(value.as_str().unwrap_or(""), most));
    let cut = |value: &mut Value| {
        let chars = value.as_str().unwrap_or("").chars().count();
        *value = format!("[{chars} characters were here]").into();
    };
    long.map(cut).count() > 0
}

/// Shortens one message after the other, the largest first, until all of them
/// weigh no more than `most`. Returns how many characters that saves.
fn largest_first<'a>(
    messages: impl Iterator<Item = &'a mut Message>,
    most: usize,
    mut shorten: impl FnMut(&mut Message),
) -> usize {
    let mut messages: Vec<_> = messages.map(|one| (size(one), one)).collect();
    messages.sort_by_key(|(size, _)| Reverse(*size));
    let all: usize = messages.iter().map(|(size, _)| size).sum();
    let mut saved = 0;
    for (before, message) in messages {
        if all - saved <= most {
            break;
        }
        shorten(message);
        saved += before.saturating_sub(size(message));
    }
    saved
}

fn is_long(text: &str, preview: usize) -> bool {
    head(text, preview + FRAME).len() < text.len()
}

/// From which line on this call reads a moved text, if it does.
fn reread(call: &ToolCall) -> Option<u64> {
    let args = call.args.as_ref().ok()?;
    let is_moved = args["path"].as_str()?.contains(RESULTS);
    let offset = args.get("offset").and_then(Value::as_u64);
    (call.name == "read_file" && is_moved).then_some(offset.unwrap_or(1).max(1))
}

/// What was read of a moved text is in a file already; moving it once more
/// would show the same preview for ever. It is cut to one page instead, which
/// is more than a preview, and a line on how to go on.
fn page(text: &str, first: u64, limit: usize) -> String {
    let room = (limit / 4).max(PREVIEW + FRAME);
    if !is_long(text, room) {
        return text.into();
    }
    let start = head(text, room);
    let start = start.rfind('\n').map_or(start, |end| &start[..end]);
    let lines = start.lines().count().max(1) as u64;
    let go_on = format!("offset={} limit={lines}", first.saturating_add(lines));
    format!("{start}\n[{lines} lines; continue with {go_on}]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn folder() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        (folder, workspace)
    }

    fn history(calls: &[(&str, Value, &str)]) -> Vec<Message> {
        let call = |(n, (name, args, _)): (usize, &(&str, Value, &str))| ToolCall {
            id: n.to_string(),
            name: name.to_string(),
            args: Ok(args.clone()),
        };
        let made: Vec<_> = calls.iter().enumerate().map(call).collect();
        let results = made
            .iter()
            .zip(calls)
            .map(|(call, (_, _, text))| Message::result(call, *text));
        let results: Vec<_> = results.collect();
        let said = Message::Assistant { text: None, calls: made, raw: Value::Null };
        [Message::prompt("task"), said].into_iter().chain(results).collect()
    }

    fn text(message: &Message) -> &str {
        match message {
            Message::Prompt(text)
            | Message::Note(text)
            | Message::Tool { text, .. } => text,
            Message::Assistant { .. } => panic!("{message:?}"),
        }
    }

    fn content(workspace: &Workspace, text: &str) -> String {
        let (_, path) = place(text).unwrap().split_once(" characters in ").unwrap();
        fs::read_to_string(workspace.root().join(path)).unwrap()
    }

    #[test]
    fn the_largest_unseen_result_goes_first_and_alone_if_that_is_enough() {
        let (_folder, workspace) = folder();
        let (big, small) = ("漢🦀\n".repeat(2_000), "x".repeat(3_000));
        let calls = [("bash", json!({}), &*small), ("bash", json!({}), &*big)];
        let mut history = history(&calls);
        let before = super::super::shorten::total(&history);
        let saved = persist_unseen(&workspace, &mut history, 12_000);
        assert_eq!(super::super::shorten::total(&history), before - saved);
        assert_eq!(text(&history[2]), small);
        let moved = text(&history[3]);
        assert!(moved.starts_with(
            "<persisted-output>\n6000 characters in .task_outputs/tool-results/"
        ));
        assert!(moved.contains("read_file with offset=667. It begins:\n漢🦀\n"));
        assert!(moved.ends_with("漢🦀\n</persisted-output>"), "{moved}");
        assert_eq!(content(&workspace, moved), big);
        let once = history.clone();
        assert_eq!(persist_unseen(&workspace, &mut history, 12_000), 0);
        assert_eq!(history, once);
    }

    #[test]
    fn equal_results_get_files_of_their_own() {
        let (_folder, workspace) = folder();
        let big = "x".repeat(9_000);
        let calls = [("../../etc", json!({}), &*big), ("bash", json!({}), &*big)];
        let mut history = history(&calls);
        persist_unseen(&workspace, &mut history, 100);
        assert_ne!(place(text(&history[2])), place(text(&history[3])));
        assert_eq!(fs::read_dir(workspace.root().join(RESULTS)).unwrap().count(), 2);
        assert_eq!(fs::read_dir(workspace.root()).unwrap().count(), 1);
    }

    #[test]
    fn errors_stay_and_what_does_not_gain_stays() {
        let (_folder, workspace) = folder();
        let (error, short) =
            (format!("Error: {}", "x".repeat(9_000)), "x".repeat(2_300));
        let calls = [("bash", json!({}), &*error), ("bash", json!({}), &*short)];
        let mut history = history(&calls);
        let before = history.clone();
        assert_eq!(persist_unseen(&workspace, &mut history, 100), 0);
        assert_eq!(history, before);
    }

    #[test]
    fn a_disk_that_refuses_leaves_a_cut_result_that_says_so() {
        let (_folder, workspace) = folder();
        fs::write(workspace.root().join(".task_outputs"), "a file is in the way")
            .unwrap();
        let big = format!("first{}last", "é".repeat(9_000));
        let mut history = history(&[("bash", json!({}), &*big)]);
        assert!(persist_unseen(&workspace, &mut history, 1_000) > 0);
        let cut = text(&history[2]);
        assert!(
            cut.starts_with("first")
                && cut.contains("last\n[cut; saving the whole failed: ")
        );
        assert!(cut.contains("characters cut"));
    }

    /// Follows the notes as a model would, with a `read_file` that shows up to
    /// 50,000 characters of whole lines.
    #[test]
    fn a_moved_text_can_be_read_to_its_end() {
        let (_folder, workspace) = folder();
        let lines = |n: usize| format!("{n}: {}🦀\n", "é".repeat(n % 1_900));
        let whole: String = (0..300).map(lines).collect();
        let mut first = history(&[("bash", json!({}), &*whole)]);
        persist_unseen(&workspace, &mut first, 12_000);
        let (_, path) = place(text(&first[2])).unwrap().split_once(" in ").unwrap();
        let (mut offset, mut seen, mut reads) = (1, String::new(), 0);
        while offset <= 300 {
            let shown: String =
                whole.split_inclusive('\n').skip(offset - 1).take(40).collect();
            let args = json!({"path": format!("./{path}"), "offset": offset});
            let mut read = history(&[("read_file", args, &*shown)]);
            persist_unseen(&workspace, &mut read, 12_000);
            let page = text(&read[2]);
            match page.rsplit_once("\n[") {
                Some((page, note)) if note.contains("offset=") => {
                    seen += &format!("{page}\n");
                    let next = note.split_once("offset=").unwrap().1;
                    offset = next.split(' ').next().unwrap().parse().unwrap();
                }
                _ => {
                    seen += page;
                    offset += page.lines().count();
                }
            }
            reads += 1;
            assert!(size(&read[2]) <= 6_000 && reads < 300);
        }
        assert_eq!(seen, whole);
        assert_eq!(fs::read_dir(workspace.root().join(RESULTS)).unwrap().count(), 1);
    }

    #[test]
    fn shrinking_reaches_requests_and_many_small_messages() {
        let (_folder, workspace) = folder();
        let big = "🦀".repeat(9_000);
        let mut history = vec![Message::prompt(big.clone())];
        shrink(&workspace, &mut history, 3_000, &mut vec![]);
        assert_eq!(content(&workspace, text(&history[0])), big);
        let medium = "x".repeat(1_000);
        let mut history = history_of_notes(&medium);
        shrink(&workspace, &mut history, 20_000, &mut vec![]);
        assert!(super::super::shorten::total(&history) <= 20_000);
    }

    fn history_of_notes(text: &str) -> Vec<Message> {
        (0..30).map(|_| Message::note(text)).collect()
    }
}
