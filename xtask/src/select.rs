//! Selectors: how a page names the changed lines that a step takes. They quote
//! code instead of counting lines, so that edits elsewhere don't move them.
//!
//! ```text
//! TEXT           the whole hunk (run of changed lines) with this line
//! TEXT .. TEXT   from the first line to the next line with the second text
//! TEXT ..        the item that begins here, with the comments above it
//! TEXT {}        that item without its body: signature and closing brace
//! + TEXT         any TEXT may say that the line is inserted (`-`: deleted)
//! ```
//!
//! TEXT is a part of a changed line that no other changed line has; a line that
//! is TEXT and nothing else is preferred, then one that no step has taken yet.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::diff::{Diff, Tag};
use crate::rust;

/// For each line of the diff, the step that has taken it.
pub type Owners = Vec<Option<usize>>;

/// The lines that a selector names and no earlier step has taken, or what is
/// wrong with it and how to mend it.
pub fn select(
    diff: &Diff,
    owners: &Owners,
    selector: &str,
) -> Result<BTreeSet<usize>, String> {
    let named = named(diff, owners, selector)?;
    let changed = || named.iter().copied().filter(|&at| diff.lines[at].changed());
    let free: BTreeSet<usize> =
        changed().filter(|&at| owners[at].is_none()).collect();
    if free.is_empty() {
        let owner = changed().find_map(|at| owners[at]).unwrap_or(0);
        return Err(format!(
            "step {} has all lines of `{selector}` already: delete one of the two",
            owner + 1
        ));
    }
    Ok(with_blanks(diff, owners, free))
}

fn named(
    diff: &Diff,
    owners: &Owners,
    selector: &str,
) -> Result<Vec<usize>, String> {
    let find = |text| find(diff, owners, text);
    if let Some(text) = selector.strip_suffix(" {}") {
        return Ok(shell(diff, find(text)?));
    }
    if let Some(text) = selector.strip_suffix(" ..") {
        return Ok(item(diff, find(text)?).collect());
    }
    let Some((from, to)) = selector.split_once(" .. ") else {
        return Ok(diff.hunk(find(selector)?).collect());
    };
    let first = find(from)?;
    let last = matches(diff, to).into_iter().find(|&at| at >= first);
    let last = last.ok_or_else(|| {
        format!(
            "no changed line after `{from}` contains `{to}`: quote one that does"
        )
    })?;
    Ok((first..=last).collect())
}

/// The one changed line that a text means.
fn find(diff: &Diff, owners: &Owners, text: &str) -> Result<usize, String> {
    let all = matches(diff, text);
    let (_, plain) = sign(text);
    let exact = |&at: &usize| diff.lines[at].text.trim() == plain;
    let free = |&at: &usize| owners[at].is_none();
    let found = narrow(narrow(all, exact), free);
    match found[..] {
        [one] => Ok(one),
        [] => Err(missing(diff, plain)),
        _ => {
            let names = found.iter().map(|&at| diff.lines[at].name());
            let names: Vec<String> = names.collect();
            Err(format!(
                "{} changed lines contain `{text}` ({}): quote more of the one you \
                 mean, or put `+ ` or `- ` before it",
                names.len(),
                names.join(", ")
            ))
        }
    }
}

fn missing(diff: &Diff, text: &str) -> String {
    match diff.lines.iter().find(|line| line.text.contains(text)) {
        Some(line) if line.changed() => format!(
            "the changed line with `{text}` is {}: turn the `+` or `-` round",
            line.name()
        ),
        Some(line) => format!(
            "no changed line contains `{text}`; line {} does, but both chapters \
             have it: quote a line that changes",
            line.number
        ),
        None => format!(
            "no changed line contains `{text}`: quote a line of the new main.rs, or \
             a deleted one"
        ),
    }
}

/// Keeps the candidates that are better, if there are any.
fn narrow(found: Vec<usize>, better: impl Fn(&usize) -> bool) -> Vec<usize> {
    let best: Vec<usize> = found.iter().copied().filter(better).collect();
    if best.is_empty() { found } else { best }
}

/// The changed lines that contain a text. A text without letters or digits,
/// such as `}`, would be in too many: it must be the whole line.
fn matches(diff: &Diff, text: &str) -> Vec<usize> {
    let (tag, text) = sign(text);
    let whole = !text.contains(char::is_alphanumeric);
    let lines = diff.lines.iter().enumerate();
    lines
        .filter(|(_, line)| line.changed() && tag.is_none_or(|tag| line.tag == tag))
        .filter(|(_, line)| match whole {
            true => line.text.trim() == text,
            false => line.text.contains(text),
        })
        .map(|(at, _)| at)
        .collect()
}

fn sign(text: &str) -> (Option<Tag>, &str) {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("+ ") {
        (Some(Tag::Inserted), rest.trim())
    } else if let Some(rest) = text.strip_prefix("- ") {
        (Some(Tag::Deleted), rest.trim())
    } else {
        (None, text)
    }
}

/// The file that a changed line belongs to: its lines, their places in the
/// diff, and which of them the line is.
fn side(diff: &Diff, at: usize) -> (Vec<&str>, Vec<usize>, usize) {
    let places = diff.side(diff.lines[at].tag);
    let lines = places.iter().map(|&i| diff.lines[i].text.trim_end());
    (lines.collect(), places, diff.lines[at].number - 1)
}

fn item(diff: &Diff, at: usize) -> RangeInclusive<usize> {
    let (lines, places, line) = side(diff, at);
    let item = rust::item(&lines, rust::with_notes(&lines, line));
    places[item.start]..=places[item.end - 1]
}

fn shell(diff: &Diff, at: usize) -> Vec<usize> {
    let (lines, places, line) = side(diff, at);
    let (head, last) = rust::shell(&lines, line);
    let start = rust::with_notes(&lines, line);
    let mut shell: Vec<usize> = (places[start]..=places[head.end - 1]).collect();
    shell.push(places[last]);
    shell
}

/// Blank lines cannot be quoted, so they come along with a line near them:
/// the one before, in the same hunk and of the same kind, where there is one.
fn with_blanks(
    diff: &Diff,
    owners: &Owners,
    mut picked: BTreeSet<usize>,
) -> BTreeSet<usize> {
    let changed = |&at: &usize| diff.lines[at].changed();
    let places: Vec<usize> = (0..diff.lines.len()).filter(changed).collect();
    let (blank, solid): (Vec<usize>, Vec<usize>) =
        places.iter().partition(|&&at| diff.lines[at].blank());
    for at in blank.into_iter().filter(|&at| owners[at].is_none()) {
        let hunk = diff.hunk(at);
        let neighbour = solid.iter().min_by_key(|&&other| {
            let elsewhere = !hunk.contains(&other);
            let unlike = diff.lines[at].tag != diff.lines[other].tag;
            (elsewhere, unlike, other > at, at.abs_diff(other))
        });
        if neighbour.is_some_and(|other| picked.contains(other)) {
            picked.insert(at);
        }
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "fn a() {\n    one();\n    two();\n}\n";
    const NEW: &str = "\
use b;

/// Doc.
fn a() {
    for c in d {
        e(c);
    }
    two();
    more(
        1,
    );
}
";

    /// The lines that a selector takes, by name.
    fn taken(selector: &str) -> String {
        let diff = Diff::new(OLD, NEW);
        let owners = vec![None; diff.lines.len()];
        match select(&diff, &owners, selector) {
            Ok(lines) => {
                let names = lines.iter().map(|&at| diff.lines[at].name());
                names.collect::<Vec<_>>().join(" ")
            }
            Err(fault) => fault,
        }
    }

    #[test]
    fn selectors_take_what_they_say() {
        for (selector, lines) in [
            ("use b", "+1 +2 +3"),
            ("use b .. use b", "+1 +2"),
            ("Doc", "+1 +2 +3"),
            ("Doc .. Doc", "+3"),
            ("e(c)", "-2 +5 +6 +7"),
            ("for c ..", "+5 +6 +7"),
            ("for c {}", "+5 +7"),
            ("+ for c .. }", "+5 +6 +7"),
            ("- one() .. for c", "-2 +5"),
            ("- one ..", "-2"),
            ("more ..", "+9 +10 +11"),
            ("1, .. 1,", "+10"),
        ] {
            assert_eq!(taken(selector), lines, "{selector}");
        }
    }

    #[test]
    fn a_line_that_is_the_text_comes_first() {
        let diff = Diff::new("", "let a;\nlet a; // b\n");
        let owners = vec![None; 2];
        let lines = select(&diff, &owners, "let a; .. let a;").unwrap();
        assert_eq!(lines.into_iter().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn what_is_taken_is_left_out() {
        let diff = Diff::new("", NEW);
        let mut owners = vec![None; diff.lines.len()];
        for at in select(&diff, &owners, "fn a() {}").unwrap() {
            owners[at] = Some(0);
        }
        let rest = select(&diff, &owners, "fn a() ..").unwrap();
        assert_eq!(
            rest.into_iter().collect::<Vec<_>>(),
            (4..11).collect::<Vec<_>>()
        );
        owners.fill(Some(0));
        let fault = select(&diff, &owners, "use b").unwrap_err();
        assert!(fault.starts_with("step 1 has all lines"), "{fault}");
    }
}
