//! Finds the ends of Rust items by their indentation. That is enough for code
//! that rustfmt has laid out, and far smaller than a parser.

use std::ops::Range;

/// How many spaces a line begins with.
pub fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line begins with a closing bracket.
pub fn closes(line: &str) -> bool {
    line.trim_start().starts_with(['}', ')', ']'])
}

fn opens(line: &str) -> bool {
    line.trim_end().ends_with(['{', '(', '['])
}

/// A comment or an attribute: what belongs to the line below it.
fn is_note(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") && !line.starts_with("//!") || line.starts_with("#[")
}

/// Where the comments and attributes above a line begin.
pub fn with_notes(lines: &[&str], at: usize) -> usize {
    let belongs = |line: &&str| is_note(line) && indent(line) == indent(lines[at]);
    at - lines[..at].iter().rev().take_while(|&line| belongs(line)).count()
}

/// The item or statement that begins at a line, or at the comments above it.
pub fn item(lines: &[&str], at: usize) -> Range<usize> {
    let notes = lines[at..].iter().take_while(|line| is_note(line)).count();
    let head = (at + notes).min(lines.len() - 1);
    let mut last = head;
    loop {
        while opens(lines[last]) && last + 1 < lines.len() {
            last = closing(lines, last);
        }
        let done = indent(lines[last]) == indent(lines[head])
            && (closes(lines[last]) || lines[last].trim_end().ends_with([';', ',']));
        match lines.get(last + 1) {
            Some(next) if goes_on(lines[head], next, done) => last += 1,
            _ => return at..last + 1,
        }
    }
}

/// Whether a line still belongs to the item above: its body's brace, a `where`
/// clause, or (unless the item is complete) a chain of calls.
fn goes_on(head: &str, next: &str, done: bool) -> bool {
    let level = indent(next) == indent(head);
    let deeper = indent(next) > indent(head) && !next.trim().is_empty();
    level && matches!(next.trim(), "{" | "where") || !done && deeper
}

/// An item without its body: the lines up to the opening brace, and the last.
pub fn shell(lines: &[&str], at: usize) -> (Range<usize>, usize) {
    let whole = item(lines, at);
    let opens_body = |&i: &usize| {
        lines[i].trim_end().ends_with('{') && indent(lines[i]) == indent(lines[at])
    };
    let open = whole.clone().find(opens_body).unwrap_or(whole.end - 1);
    (whole.start..open + 1, whole.end - 1)
}

/// The line that closes what a line opens.
fn closing(lines: &[&str], open: usize) -> usize {
    (open + 1..lines.len())
        .find(|&i| closes(lines[i]) && indent(lines[i]) == indent(lines[open]))
        .unwrap_or(lines.len() - 1)
}

/// For each line, whether it belongs to a top-level `#[cfg(test)]` item.
pub fn test_lines(lines: &[&str]) -> Vec<bool> {
    let mut tests = vec![false; lines.len()];
    for at in 0..lines.len() {
        if lines[at].trim_end() == "#[cfg(test)]" {
            tests[item(lines, at)].fill(true);
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = r##"//! Head.
use a::b;

/// Doc.
#[must_use]
pub async fn one<T>(
    a: T,
) -> Result<()>
where
    T: Copy,
{
    let text = r"
at column zero";
    if a {
        b();
    } else {
        c.iter()
            .map(|x| {
                x
            })
            .collect();
    }
    Ok(())
}

const X: u32 = 1;
struct Y;
#[cfg(test)]
mod tests {
    fn x() {}
}
"##;

    fn found(text: &str) -> String {
        let lines: Vec<&str> = CODE.lines().collect();
        let at = lines.iter().position(|line| line.contains(text)).unwrap();
        let range = item(&lines, at);
        format!("{} .. {}", lines[range.start].trim(), lines[range.end - 1].trim())
    }

    #[test]
    fn items_end_where_they_close() {
        for (text, expected) in [
            ("use a", "use a::b; .. use a::b;"),
            ("/// Doc", "/// Doc. .. }"),
            ("if a {", "if a { .. }"),
            ("c.iter()", "c.iter() .. .collect();"),
            (".map", ".map(|x| { .. })"),
            ("a: T", "a: T, .. a: T,"),
            ("const X", "const X: u32 = 1; .. const X: u32 = 1;"),
            ("struct Y", "struct Y; .. struct Y;"),
            ("Ok(())", "Ok(()) .. Ok(())"),
            ("#[cfg", "#[cfg(test)] .. }"),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn tests_and_notes_are_found() {
        let lines: Vec<&str> = CODE.lines().collect();
        let tests = test_lines(&lines);
        assert_eq!(tests.iter().filter(|&&test| test).count(), 4);
        assert_eq!(with_notes(&lines, 5), 3);
        assert_eq!(with_notes(&lines, 1), 1, "the file's head stays");
    }

    #[test]
    fn a_shell_is_the_item_without_its_body() {
        let lines: Vec<&str> = CODE.lines().collect();
        let (head, last) = shell(&lines, 5);
        assert_eq!(
            lines[head].join("|"),
            "pub async fn one<T>(|    a: T,|) -> Result<()>|where|    T: Copy,|{"
        );
        assert_eq!(lines[last], "}");
        let line = ["impl A for B {}"];
        assert_eq!(shell(&line, 0), (0..1, 0));
    }
}
