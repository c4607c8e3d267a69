//! Listings: modules shown whole in pieces, and excerpts of helpers. Like the
//! steps they quote code instead of counting lines.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::markdown::{Fence, rust_block};
use crate::project::Project;
use crate::rust;

/// How far each module has been shown.
#[derive(Default)]
pub struct Modules(BTreeMap<String, usize>);

impl Modules {
    /// The next piece of a module: up to the line that `until:` quotes (and the
    /// comments above that line), or the rest.
    pub fn piece(
        &mut self,
        project: &Project,
        dir: &str,
        fence: &Fence,
    ) -> Result<String, String> {
        let [until, fold] = options(fence, ["until", "fold"])?;
        let path = format!("{dir}/{}", fence.directive().1);
        let source = read(project, &path)?;
        let lines: Vec<&str> = source.lines().collect();
        let start = *self.0.get(&path).unwrap_or(&0);
        let end = match until {
            None | Some("end") => lines.len(),
            Some(text) => {
                let places = shown(&lines).into_iter().filter(|&at| at >= start);
                let at = unique(&lines, places, text).map_err(|fault| {
                    format!("{path} from line {}: {fault}", start + 1)
                })?;
                rust::with_notes(&lines, at)
            }
        };
        self.0.insert(path.clone(), end);
        let tests = rust::test_lines(&lines);
        // The tests may lie between: leave their lines out, and the blank
        // lines at both ends.
        let solid = |&at: &usize| !tests[at] && !lines[at].trim().is_empty();
        let Some(first) = (start..end).find(solid) else {
            return Err(format!(
                "this piece of {path} is empty: delete it or move `until:`"
            ));
        };
        let last = (first..end).rev().find(solid).unwrap_or(first);
        let code: Vec<&str> =
            (first..=last).filter(|&at| !tests[at]).map(|at| lines[at]).collect();
        Ok(folded(fold, &listing(&path, first..last + 1, &code)))
    }

    /// Complains about modules of the folder that are not shown to their end.
    pub fn unshown(&self, project: &Project, chapter: &str) -> Vec<String> {
        let mut faults = Vec::new();
        for path in project.modules(chapter) {
            let source = project.read(&path).unwrap_or_default();
            let lines: Vec<&str> = source.lines().collect();
            let start = *self.0.get(&path).unwrap_or(&0);
            let left = shown(&lines)
                .into_iter()
                .find(|&at| at >= start && !lines[at].trim().is_empty());
            if let Some(at) = left {
                let name = path.trim_start_matches(&format!("chapters/{chapter}/"));
                faults.push(format!(
                    "{path} is not shown from line {} on, `{}`: add a block \
                     \"```module {name}\"",
                    at + 1,
                    lines[at].trim()
                ));
            }
        }
        faults
    }
}

/// A part of any file: from the line that `from:` quotes to the end of the item
/// that begins there, or to the next line that `to:` quotes.
pub fn excerpt(project: &Project, fence: &Fence) -> Result<String, String> {
    let [from, to, fold] = options(fence, ["from", "to", "fold"])?;
    let path = fence.directive().1;
    let source = read(project, path)?;
    let lines: Vec<&str> = source.lines().collect();
    let from = from.ok_or("an excerpt needs a line `from: TEXT`")?;
    let start = unique(&lines, 0..lines.len(), from)
        .map_err(|fault| format!("{path}: {fault}"))?;
    let end = match to {
        None => rust::item(&lines, start).end,
        Some(text) => {
            let last = (start..lines.len()).find(|&at| lines[at].contains(text));
            let fault =
                || format!("{path}: no line after `{from}` contains `{text}`");
            last.ok_or_else(fault)? + 1
        }
    };
    let code = &lines[start..end];
    Ok(folded(fold, &listing(path, start..end, code)))
}

/// The lines that count: all but those of the tests.
fn shown(lines: &[&str]) -> Vec<usize> {
    let tests = rust::test_lines(lines);
    (0..lines.len()).filter(|&at| !tests[at]).collect()
}

/// The one line that contains a text; a line that is the text comes first.
fn unique(
    lines: &[&str],
    places: impl IntoIterator<Item = usize>,
    text: &str,
) -> Result<usize, String> {
    let found: Vec<usize> =
        places.into_iter().filter(|&at| lines[at].contains(text)).collect();
    let exact = found.iter().copied().filter(|&at| lines[at].trim() == text);
    let exact: Vec<usize> = exact.collect();
    match (&exact[..], &found[..]) {
        ([one], _) | ([], [one]) => Ok(*one),
        (_, []) => {
            Err(format!("no line contains `{text}`: quote one that is there"))
        }
        _ => {
            let names: Vec<String> =
                found.iter().map(|at| (at + 1).to_string()).collect();
            Err(format!(
                "lines {} contain `{text}`: quote more of the one you mean",
                names.join(", ")
            ))
        }
    }
}

fn read(project: &Project, path: &str) -> Result<String, String> {
    let fault = |_| format!("there is no file {path}: correct the name");
    project.read(path).map_err(fault)
}

/// The values of a directive's `key: value` lines, in the order of the keys.
fn options<'a, const N: usize>(
    fence: &Fence<'a>,
    keys: [&str; N],
) -> Result<[Option<&'a str>; N], String> {
    let mut values = [None; N];
    for line in fence.body.iter().filter(|line| !line.trim().is_empty()) {
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        let Some(at) = keys.iter().position(|known| *known == key.trim()) else {
            return Err(format!(
                "`{}` is none of the lines this block knows: {}",
                line.trim(),
                keys.map(|key| format!("`{key}: TEXT`")).join(", ")
            ));
        };
        values[at] = Some(value.trim());
    }
    Ok(values)
}

/// Lines with one above them that says where they are from.
fn listing(path: &str, lines: Range<usize>, code: &[&str]) -> String {
    let block = match path.ends_with(".rs") {
        true => rust_block(code),
        false => format!("```text\n{}\n```\n", code.join("\n")),
    };
    format!("*`{path}`, lines {}–{}:*\n\n{block}", lines.start + 1, lines.end)
}

fn folded(summary: Option<&str>, listing: &str) -> String {
    let Some(summary) = summary else {
        return listing.to_string();
    };
    let mut html = String::new();
    let safe = summary.replace('&', "&amp;").replace('<', "&lt;");
    for (at, part) in safe.split('`').enumerate() {
        let code = if at % 2 == 1 { ["<code>", "</code>"] } else { ["", ""] };
        html += &format!("{}{part}{}", code[0], code[1]);
    }
    format!("<details>\n<summary>{html}</summary>\n\n{listing}\n</details>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rust_is_marked_as_rust() {
        let block = |path| listing(path, 1..3, &["# a", "b"]);
        assert!(block("a.rs").contains("```rust,ignore\n## a\nb\n```"));
        assert!(block("a.snap").ends_with("lines 2–3:*\n\n```text\n# a\nb\n```\n"));
    }
}
