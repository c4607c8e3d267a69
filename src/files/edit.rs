//! `edit_file`: replaces one piece of text that occurs exactly once. Guessing
//! a place is worse than asking again, so there is no lenient matching.

use std::{io::Read, path::Path};

use anyhow::{anyhow, bail, ensure};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Workspace,
    content::{fingerprint, line_end, with_line_end},
    explain,
    hint::hint,
    open,
    write::{ensure_writable, replace},
};

/// What the model reads about the tool.
pub const EDIT_DESCRIPTION: &str = "\
Replace one piece of text in a file of the workspace. old_text must occur exactly \
once, to the last blank: add lines around it until it does.";

/// An edit holds the file several times in memory.
const MAX_BYTES: u64 = 32 << 20;

/// Arguments of the `edit_file` tool.
#[derive(Deserialize, JsonSchema)]
pub struct EditFile {
    /// Path of the file, relative to the workspace.
    pub path: String,
    /// The text to replace, exactly as it is in the file.
    pub old_text: String,
    /// The text to put there.
    pub new_text: String,
}

/// The `edit_file` tool. Works on the file as it is now, not as it was read.
///
/// # Errors
/// When the text occurs never or several times, or the file cannot be written.
/// The file is unchanged then.
pub async fn edit_file(ws: Workspace, args: EditFile) -> anyhow::Result<String> {
    let name = &args.path;
    // The byte order mark in front of a file belongs to the file, not the text.
    let old = args.old_text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let new = args.new_text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    ensure!(!old.is_empty(), "old_text is empty");
    ensure!(old != new, "old_text and new_text are the same");
    let path = ws.resolve(name)?;
    let mut known = ws.known();
    let content = read(&path, name)?;
    let text = content.replace("\r\n", "\n");
    let at = only_place(&text, &old, name)?;
    let start = in_original(&content, at);
    let end = in_original(&content, at + old.len());
    let new = match line_end(content.as_bytes()) {
        Some(line_end) => with_line_end(&new, line_end),
        None => args.new_text.trim_start_matches('\u{feff}').to_string(),
    };
    let edited = [&content[..start], &new, &content[end..]].concat();
    replace(&path, edited.as_bytes(), name)?;
    // What was out of date before remains so: the model has not seen it.
    let before = fingerprint(content.as_bytes());
    if known.get(&path).is_none_or(|hash| *hash == before) {
        known.insert(path, fingerprint(edited.as_bytes()));
    }
    Ok(format!("Edited {name} at line {}", line_number(&text, at)))
}

fn read(path: &Path, name: &str) -> anyhow::Result<String> {
    let mut file = open(path, name)?;
    let size = file.metadata().map_err(|error| explain(name, &error))?.len();
    ensure!(
        size <= MAX_BYTES,
        "{name} has {size} bytes, too many to edit as a text (at most {MAX_BYTES}); \
         use bash, such as sed"
    );
    ensure_writable(path, name)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| explain(name, &error))?;
    let binary = || anyhow!("{name} is binary or not UTF-8; use bash to change it");
    ensure!(!bytes.contains(&0), binary());
    String::from_utf8(bytes).map_err(|_| binary())
}

fn only_place(text: &str, old: &str, name: &str) -> anyhow::Result<usize> {
    let places = places(text, old);
    match places[..] {
        [place] => Ok(place),
        [] => bail!("old_text was not found in {name}{}", hint(text, old)),
        _ => {
            let lines: Vec<_> = places
                .iter()
                .take(10)
                .map(|at| line_number(text, *at).to_string())
                .collect();
            let (n, lines) = (places.len(), lines.join(", "));
            bail!(
                "old_text occurs {n} times in {name} (lines {lines}{}); nothing \
                 was changed, add lines around it until it is unique",
                if n > 10 { ", ..." } else { "" }
            )
        }
    }
}

/// Where `old` starts. Occurrences that overlap are different ones.
fn places(text: &str, old: &str) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old) {
        places.push(from + at);
        from += at + step;
    }
    places
}

fn line_number(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Where the byte `at` of the text with `\n` line ends lies in the original:
/// one further for every `\r` that was taken out before it.
fn in_original(original: &str, at: usize) -> usize {
    let removed = original.match_indices("\r\n").enumerate();
    at + removed.take_while(|(k, (cr, _))| cr - k < at).count()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Place, failure};
    use super::*;
    use proptest::prelude::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    async fn edit(
        place: &Place,
        path: &str,
        old: &str,
        new: &str,
    ) -> anyhow::Result<String> {
        let (path, old_text) = (path.to_string(), old.to_string());
        let new_text = new.to_string();
        edit_file(place.ws.clone(), EditFile { path, old_text, new_text }).await
    }

    /// Edits a file of this content; the new content or the error.
    async fn edited(content: &str, old: &str, new: &str) -> String {
        let place = Place::new(&[("f", content)]);
        match edit(&place, "f", old, new).await {
            Ok(_) => place.get("f"),
            Err(error) => {
                assert_eq!(place.get("f"), content, "changed despite {error}");
                format!("{error:#}")
            }
        }
    }

    #[tokio::test]
    async fn only_the_place_changes() {
        let cases = [
            ("a b c", "b", "x", "a x c"),
            ("a\nb\n", "b\n", "b", "a\nb"),
            ("a\nb", "b", "b\n", "a\nb\n"),
            ("a\nb\n", "a\nb", "", "\n"),
            ("x", "x", "$& $1 $$ \\1 ${0}", "$& $1 $$ \\1 ${0}"),
            ("漢é🦀z", "é🦀", "e", "漢ez"),
            ("\u{feff}first\n", "first", "1st", "\u{feff}1st\n"),
            ("x", "x", "a\r\nb", "a\r\nb"),
        ];
        for (content, old, new, expected) in cases {
            assert_eq!(edited(content, old, new).await, expected);
        }
    }

    #[tokio::test]
    async fn line_ends_match_and_stay() {
        let crlf = "a\r\nb\r\nc\r\n";
        for (old, new) in
            [("a\nb", "x\ny"), ("a\r\nb", "x\r\ny"), ("a\nb", "x\r\ny")]
        {
            assert_eq!(edited(crlf, old, new).await, "x\r\ny\r\nc\r\n");
            assert_eq!(edited("a\nb\nc", old, new).await, "x\ny\nc");
        }
        // In a mixed file the lines that are not touched stay as they are.
        let mixed = "1\r\n2\n3\r\n4\n";
        assert_eq!(edited(mixed, "2\n3\n", "x\n").await, "1\r\nx\r\n4\n");
        assert_eq!(edited(mixed, "\n4", "!").await, "1\r\n2\n3!\n");
    }

    #[tokio::test]
    async fn the_text_must_occur_once() {
        let error = edited("b\na\nb\n", "b", "x").await;
        assert!(error.contains("2 times in f (lines 1, 3)"), "{error}");
        let error = edited("aaa", "aa", "x").await;
        assert!(error.contains("2 times in f (lines 1, 1)"), "{error}");
        let error = edited(&"b\n".repeat(20), "b", "x").await;
        assert!(error.contains("20 times in f (lines 1, 2, "), "{error}");
        assert!(error.contains("10, ...)"), "{error}");
        let error = edited("a\n", "zzz", "x").await;
        assert!(error.starts_with("old_text was not found in f;"), "{error}");
        let error = edited("", "a", "x").await;
        assert_eq!(error, "old_text was not found in f: the file is empty");
        assert_eq!(edited("a", "", "x").await, "old_text is empty");
        let same = "old_text and new_text are the same";
        assert_eq!(edited("a", "a", "a").await, same);
    }

    #[tokio::test]
    async fn look_alikes_get_a_hint_and_are_refused() {
        let cases = [
            ("one\nit’s\n", "it's", 2, "U+2019"),
            ("a\u{a0}bc\n", "a bc", 1, "U+00A0"),
            ("x\ncafe\u{301} au lait\n", "café au lait", 2, "U+0301"),
            ("x\ncafé au lait\n", "cafe\u{301} au lait", 2, "U+00E9"),
            ("x\n\tlet a = 1;\n", "    let a = 1;", 2, "let a"),
            ("漢字“引用”\n", "漢字\"引用\"", 1, "U+201C, U+201D"),
            ("fn a() {\n  b();\n}\n", "fn a() {\n    b();\n}", 2, "b();"),
        ];
        for (content, old, line, detail) in cases {
            let error = edited(content, old, "new").await;
            let expected = format!("Line {line} looks alike");
            assert!(error.contains(&expected), "{error}");
            assert!(error.contains(detail), "{error}");
        }
        // Nothing but punctuation is no likeness.
        assert!(!edited("{}\n", "()", "x").await.contains("looks alike"));
    }

    #[tokio::test]
    async fn what_cannot_be_edited_says_why() {
        let place = Place::new(&[("dir/f", "x")]);
        place.put("latin1", b"caf\xe9");
        place.put("nul", b"a\0b");
        place.fifo("pipe");
        let cases = [
            ("dir", "is a directory"),
            ("none", "look for it with glob"),
            ("latin1", "not UTF-8"),
            ("nul", "binary"),
            ("pipe", "is not a regular file"),
            ("/etc/passwd", "Path escapes workspace: /etc/passwd"),
        ];
        for (path, expected) in cases {
            let error = failure(edit(&place, path, "a", "b").await);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn the_mode_stays_and_read_only_is_an_error() {
        let place = Place::new(&[("f", "x\nold")]);
        let chmod = |mode| {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(place.path("f"), permissions).unwrap();
        };
        chmod(0o750);
        let said = edit(&place, "f", "old", "new").await.unwrap();
        assert_eq!(said, "Edited f at line 2");
        let meta = fs::metadata(place.path("f")).unwrap();
        assert_eq!(meta.permissions().mode() & 0o7777, 0o750);
        chmod(0o444);
        let error = failure(edit(&place, "f", "new", "newer").await);
        assert!(error.contains("read-only"), "{error}");
        assert_eq!(place.get("f"), "x\nnew");
    }

    proptest! {
        /// Whatever the line ends, an edit does to the text what it would do
        /// without them, and it leaves all bytes around the place alone.
        #[test]
        fn positions_in_the_original_are_right(
            text in "(\r\n|\n|\r|a|é|🦀){0,12}",
            from in 0..12usize,
            to in 0..12usize,
        ) {
            let plain = text.replace("\r\n", "\n");
            let at = |n: usize| {
                plain.char_indices().nth(n).map_or(plain.len(), |(at, _)| at)
            };
            let (start, end) = (at(from.min(to)), at(from.max(to)));
            let (first, last) = (in_original(&text, start), in_original(&text, end));
            let lf = |piece: &str| piece.replace("\r\n", "\n");
            prop_assert_eq!(lf(&text[..first]), &plain[..start]);
            prop_assert_eq!(lf(&text[first..last]), &plain[start..end]);
            prop_assert_eq!(lf(&text[last..]), &plain[end..]);
        }
    }
}
