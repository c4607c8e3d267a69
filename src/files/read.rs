//! `read_file`: a window of lines, with a note of what lies outside of it.

use std::{
    fs,
    io::{self, BufRead, BufReader},
    path::PathBuf,
};

use anyhow::{bail, ensure};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Workspace, aside, content::Fingerprint, explain, line::Line, open};

/// What the model reads about the tool.
pub const READ_DESCRIPTION: &str = "\
Read a text file of the workspace. Long files come in pieces; a note at the end \
says how to go on.";

const MAX_LINES: u64 = 2_000;
const MAX_CHARS: usize = 50_000;
/// Files of fewer bytes are read at once.
const SMALL: u64 = 1 << 20;

/// Arguments of the `read_file` tool.
#[derive(Deserialize, JsonSchema)]
pub struct ReadFile {
    /// Path of the file, relative to the workspace.
    pub path: String,
    /// First line to read, counted from 1. Default: 1.
    pub offset: Option<u64>,
    /// How many lines to read at most. Default: 2000.
    pub limit: Option<u64>,
}

/// The `read_file` tool. The text has no line numbers in front, so that pieces
/// of it can be given to `edit_file` as they are.
///
/// # Errors
/// When there is no text file at this path or no line at this offset.
pub async fn read_file(ws: Workspace, args: ReadFile) -> anyhow::Result<String> {
    let path = ws.resolve(&args.path)?;
    // A thread takes longer to start than a small file takes to read.
    match fs::metadata(&path).is_ok_and(|meta| (1..SMALL).contains(&meta.len())) {
        true => read(&ws, path, &args),
        false => aside(move || read(&ws, path, &args)).await,
    }
}

fn read(ws: &Workspace, path: PathBuf, args: &ReadFile) -> anyhow::Result<String> {
    let name = &args.path;
    let first = args.offset.unwrap_or(1).max(1);
    let limit = args.limit.unwrap_or(MAX_LINES);
    ensure!(limit > 0, "limit must be at least 1");
    let source = Fingerprint::new(open(&path, name)?);
    let mut reader = BufReader::with_capacity(65_536, source);
    let window = Window::read(&mut reader, first, limit)
        .map_err(|error| explain(name, &error))?;
    let source = reader.into_inner();
    if source.has_nul {
        bail!("{name} is a binary file (it contains NUL bytes); use bash for it");
    }
    let total = window.total;
    ensure!(
        first <= total.max(1),
        "offset={first} is past the end: {name} has {total} lines"
    );
    // `finish` reads nothing more: the window went to the end already.
    ws.known().insert(path, source.finish()?);
    Ok(window.report(first))
}

/// Lines `first..first + shown` of a file that has `total` of them.
#[derive(Default)]
struct Window {
    text: String,
    chars: usize,
    shown: u64,
    total: u64,
    full: bool,
    replaced: bool,
}

impl Window {
    /// Goes through the whole file, whatever its size is said to be, but keeps
    /// only the window in memory.
    fn read(reader: &mut impl BufRead, first: u64, limit: u64) -> io::Result<Self> {
        let mut window = Self::default();
        loop {
            let next = window.total + 1;
            let wanted = next >= first && window.shown < limit && !window.full;
            let Some(line) = Line::read(reader, wanted)? else {
                return Ok(window);
            };
            window.total = next;
            if wanted {
                window.add(&line);
            }
        }
    }

    fn add(&mut self, line: &Line) {
        let (text, chars) = line.shown(self.total == 1);
        self.full = self.shown > 0 && self.chars + chars > MAX_CHARS;
        if !self.full {
            self.text.push_str(&text);
            self.chars += chars;
            self.shown += 1;
            self.replaced |= line.is_damaged();
        }
    }

    fn report(self, first: u64) -> String {
        let (mut text, total) = (self.text, self.total);
        if text.is_empty() {
            return "(the file is empty)".to_string();
        }
        let last = first + self.shown - 1;
        let mut notes = String::new();
        if self.replaced {
            notes += "[bytes that are not UTF-8 were replaced by \u{fffd}]\n";
        }
        if last < total {
            let next = last + 1;
            notes += &format!(
                "[lines {first}-{last} of {total}; continue with offset={next}]"
            );
        } else if first > 1 || text.trim().is_empty() {
            notes += &format!("[lines {first}-{last} of {total}]");
        }
        if !notes.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text + notes.trim_end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        line::MAX_LINE_CHARS,
        tests::{Place, failure},
    };
    use super::*;
    use crate::text::head;

    async fn window(
        place: &Place,
        path: &str,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> anyhow::Result<String> {
        let path = path.to_string();
        read_file(place.ws.clone(), ReadFile { path, offset, limit }).await
    }

    async fn all(place: &Place, path: &str) -> anyhow::Result<String> {
        window(place, path, None, None).await
    }

    #[tokio::test]
    async fn the_text_comes_as_it_is() {
        let cases = [
            ("one\n", "one\n"),
            ("one\ntwo", "one\ntwo"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\rb\r", "a\rb\r"),
            ("\u{feff}first\n", "first\n"),
            ("", "(the file is empty)"),
            ("\u{feff}", "(the file is empty)"),
            ("\n\n", "\n\n[lines 1-2 of 2]"),
            ("漢é🦀\n", "漢é🦀\n"),
        ];
        for (content, expected) in cases {
            let place = Place::new(&[("f", content)]);
            assert_eq!(all(&place, "f").await.unwrap(), expected, "{content:?}");
        }
    }

    #[tokio::test]
    async fn windows_say_what_is_left() {
        let lines: String = (1..=10).map(|i| format!("{i}\n")).collect();
        let unended = lines.trim_end();
        let place = Place::new(&[("f", &lines), ("g", unended)]);
        let cases = [
            ("f", 1, 2, "1\n2\n[lines 1-2 of 10; continue with offset=3]"),
            ("f", 0, 1, "1\n[lines 1-1 of 10; continue with offset=2]"),
            ("f", 9, 5, "9\n10\n[lines 9-10 of 10]"),
            ("f", 10, 1, "10\n[lines 10-10 of 10]"),
            ("g", 10, 1, "10\n[lines 10-10 of 10]"),
            ("g", 9, 1, "9\n[lines 9-9 of 10; continue with offset=10]"),
            ("f", 1, u64::MAX, &lines),
        ];
        for (name, offset, limit, expected) in cases {
            let text = window(&place, name, Some(offset), Some(limit)).await;
            assert_eq!(text.unwrap(), expected);
        }
        for offset in [11, u64::MAX] {
            let error = failure(window(&place, "f", Some(offset), None).await);
            assert!(error.ends_with("is past the end: f has 10 lines"), "{error}");
        }
        assert!(window(&place, "f", None, Some(0)).await.is_err());
        assert!(window(&place, "f", Some(2), Some(u64::MAX)).await.is_ok());
    }

    #[tokio::test]
    async fn long_files_come_in_pieces_that_add_up() {
        let lines: String = (0..5_000).map(|i| format!("{i:060}\n")).collect();
        let place = Place::new(&[("f", &lines)]);
        let (mut joined, mut offset) = (String::new(), Some(1));
        while let Some(first) = offset {
            let text = window(&place, "f", Some(first), Some(5_000)).await.unwrap();
            assert!(text.chars().count() <= MAX_CHARS + 100);
            let (body, note) = text.rsplit_once('[').unwrap();
            joined.push_str(body);
            let next = note.split_once("offset=").map(|(_, n)| n);
            offset = next.map(|n| n.trim_end_matches(']').parse().unwrap());
        }
        assert_eq!(joined, lines);
        let text = all(&place, "f").await.unwrap();
        assert!(text.contains("[lines 1-819 of 5000; continue with offset=820]"));
    }

    #[tokio::test]
    async fn long_lines_are_cut_between_characters() {
        for before in 0..5 {
            let line = format!("{}{}", "a".repeat(before), "🦀".repeat(30_000));
            let place = Place::new(&[("f", &format!("{line}\nend\n"))]);
            let start = head(&line, MAX_LINE_CHARS);
            let cut = before + 30_000 - MAX_LINE_CHARS;
            let expected = format!("{start} [... {cut} characters cut ...]\nend\n");
            assert_eq!(all(&place, "f").await.unwrap(), expected);
        }
        let place = Place::new(&[("f", &"é".repeat(MAX_LINE_CHARS))]);
        assert_eq!(all(&place, "f").await.unwrap(), "é".repeat(MAX_LINE_CHARS));
    }

    #[tokio::test]
    async fn what_is_no_text_file_is_refused() {
        let place = Place::new(&[("dir/f", "x")]);
        place.put("late", &[&[b'a'; 100_000][..], b"\0"].concat());
        place.fifo("pipe");
        let cases = [
            ("dir", "is a directory"),
            (".", "is a directory"),
            ("late", "is a binary file"),
            ("pipe", "is not a regular file"),
            ("dir/none.rs", "look for it with glob, such as **/none.rs"),
            ("dir/f/x", "a part of this path is a file"),
            ("a\0b", "the path contains a NUL character"),
            ("../x", "Path escapes workspace: ../x"),
        ];
        for (path, expected) in cases {
            let error = failure(all(&place, path).await);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn bytes_that_are_not_utf8_are_replaced_and_said() {
        let place = Place::new(&[]);
        place.put("latin1", b"caf\xe9\nok");
        let note = "[bytes that are not UTF-8 were replaced by \u{fffd}]";
        let expected = format!("caf\u{fffd}\nok\n{note}");
        assert_eq!(all(&place, "latin1").await.unwrap(), expected);
    }

    /// The kernel says that these files have no bytes.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_reported_size_is_not_trusted() {
        let ws = Workspace::open("/proc/self".as_ref()).unwrap();
        let args = r#"{"path": "status"}"#;
        let args: ReadFile = serde_json::from_str(args).unwrap();
        let text = read_file(ws, args).await.unwrap();
        assert!(text.starts_with("Name:"), "{text}");
    }
}
