//! Prints a step as a unified diff, which `patch` would apply to the file as it
//! is before the step.

use std::ops::Range;

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// A line as it is printed: `+`, `-` or a space, and the text.
pub type Marked<'a> = (char, &'a str);

/// The changes among the lines of a file, with a few lines around them.
pub fn unified(lines: &[Marked]) -> String {
    let mut text = String::new();
    for group in groups(lines) {
        let above = &lines[..group.start];
        let (before, length) = (count(above), count(&lines[group.clone()]));
        text += &format!(
            "@@ -{} +{} @@{}\n",
            range(before.0, length.0),
            range(before.1, length.1),
            heading(above)
        );
        for (mark, line) in &lines[group] {
            text += format!("{mark}{line}").trim_end();
            text.push('\n');
        }
    }
    text
}

/// The stretches of lines to print: changes with the lines around them.
fn groups(lines: &[Marked]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for at in (0..lines.len()).filter(|&at| lines[at].0 != ' ') {
        let start = at.saturating_sub(CONTEXT);
        let end = (at + 1 + CONTEXT).min(lines.len());
        match groups.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => groups.push(start..end),
        }
    }
    groups
}

/// How many of the lines are in the file before and after the step.
fn count(lines: &[Marked]) -> (usize, usize) {
    let without = |sign| lines.iter().filter(|(mark, _)| *mark != sign).count();
    (without('+'), without('-'))
}

/// `START,LENGTH` as a hunk header has it: an empty stretch names the line
/// before it.
fn range(before: usize, length: usize) -> String {
    let start = if length == 0 { before } else { before + 1 };
    format!("{start},{length}")
}

/// The item in which a stretch begins, to say where in the file we are.
fn heading(above: &[Marked]) -> String {
    let top =
        |line: &&Marked| line.1.starts_with(|c: char| c == '}' || c.is_alphabetic());
    match above.iter().rev().find(top) {
        Some((_, line)) if line.trim_end().ends_with(['{', '(']) => {
            let name = line.split(['(', '{']).next().unwrap_or_default();
            format!(" {}", name.trim_end())
        }
        _ => String::new(),
    }
}
