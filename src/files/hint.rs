//! Why a text was not found although it seems to be there: look-alikes such as
//! curly quotes, no-break spaces and accents written as two characters.

use crate::text::head_tail;

/// Points at the lines that look like `old`, if there are any.
pub(super) fn hint(text: &str, old: &str) -> String {
    match nearest(text, old) {
        None if text.is_empty() => ": the file is empty".to_string(),
        None => "; nothing was changed, read the file again".to_string(),
        Some((number, line)) => format!(
            "; nothing was changed. Line {number} looks alike but differs in \
             blanks, quotes or accents{}: {}",
            unusual(line),
            head_tail(line, 300)
        ),
    }
}

/// The first line that differs in the first place where the lines of `old`
/// have the same skeleton as those of the text.
fn nearest<'a>(text: &'a str, old: &str) -> Option<(usize, &'a str)> {
    let wanted: Vec<String> = old.lines().map(skeleton).collect();
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let folded: Vec<String> = lines.iter().map(|line| skeleton(line)).collect();
    let same = |w: &[String]| w.iter().zip(&wanted).all(|(a, b)| a.contains(b));
    let start = folded.windows(wanted.len()).position(same)?;
    let differs = |(i, line): &(usize, &str)| !lines[start + i].contains(line);
    let i = old.lines().enumerate().find(differs).map_or(0, |(i, _)| i);
    Some((start + i + 1, lines[start + i]))
}

/// What is left of a line without everything that has look-alikes: blanks,
/// punctuation, and letters with accents, whether written as one character or
/// as two.
fn skeleton(line: &str) -> String {
    let is_mark = |c: char| ('\u{300}'..='\u{36f}').contains(&c);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ('一'..='鿿').contains(&c);
    let mut rest = line.chars().peekable();
    let mut kept = String::new();
    while let Some(c) = rest.next() {
        if is_plain(c) && !rest.peek().is_some_and(|next| is_mark(*next)) {
            kept.push(c);
        }
    }
    kept
}

/// Characters that a reader may take for others, by number.
fn unusual(line: &str) -> String {
    let mut found: Vec<char> = line.chars().filter(|c| !c.is_ascii()).collect();
    found.sort_unstable();
    found.dedup();
    let numbers: Vec<_> =
        found.iter().take(10).map(|c| format!("U+{:04X}", u32::from(*c))).collect();
    match numbers.is_empty() {
        true => String::new(),
        false => format!(" (it contains {})", numbers.join(", ")),
    }
}
