//! What a page points to must exist: pages, images, included files and their
//! anchors. mdBook itself says nothing when they don't.

use std::path::{Component, Path, PathBuf};

use crate::markdown::{Block, blocks};
use crate::project::Project;

/// The targets of the links in one line of Markdown or HTML.
pub fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (start, end) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
        for part in line.split(start).skip(1) {
            found.extend(part.split(end).next().and_then(|t| t.split(' ').next()));
        }
    }
    found
}

/// Checks one page; `path` is relative to `book/src`.
pub fn check(project: &Project, path: &str, source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |line: usize, text: String| {
        faults.push(format!("book/src/{path}:{line}: {text}"));
    };
    for block in blocks(source) {
        if let Block::Text(line, text) = block {
            let prose = without_code(text);
            for target in targets(&prose) {
                if !exists(project, path, target) {
                    let cure = "correct the link or add the file to book/src";
                    fault(line, format!("the link to `{target}` is dead: {cure}"));
                }
            }
        }
    }
    // Includes work inside fenced blocks too.
    for (line, text) in source.lines().enumerate() {
        let shown = text.replace("\\{{#", "");
        for part in shown.split("{{#").skip(1) {
            let command = part.split("}}").next().unwrap_or_default();
            if let Some(problem) = directive(project, path, command) {
                fault(line + 1, problem);
            }
        }
    }
    faults
}

/// What is wrong with `{{#COMMAND}}`.
fn directive(project: &Project, page: &str, command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    match words.next()? {
        "include" | "rustdoc_include" | "playground" => {
            include(project, page, words.next()?)
        }
        "transcript" | "prompt" | "title" | "template" => None,
        name => Some(format!("`{{{{#{name}` is unknown: correct the name")),
    }
}

fn include(project: &Project, page: &str, target: &str) -> Option<String> {
    let (file, part) = target.split_once(':').unwrap_or((target, ""));
    let path = resolve(page, file);
    let Ok(text) = std::fs::read_to_string(project.root.join(&path)) else {
        return Some(format!(
            "the include names {}, which is missing: correct the path",
            path.display()
        ));
    };
    let anchor = part.split(':').next().unwrap_or_default();
    let is_range = anchor.is_empty() || anchor.parse::<usize>().is_ok();
    let begin = format!("ANCHOR: {anchor}");
    if is_range || text.lines().any(|line| line.trim_end().ends_with(&begin)) {
        return None;
    }
    Some(format!(
        "{} has no `{begin}`: add it or correct the include",
        path.display()
    ))
}

fn exists(project: &Project, page: &str, target: &str) -> bool {
    let file = target.split('#').next().unwrap_or_default();
    if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
        return true;
    }
    let path = resolve(page, file);
    path.starts_with("book/src") && project.root.join(path).exists()
}

/// A path that is relative to a page, made relative to the root.
fn resolve(page: &str, target: &str) -> PathBuf {
    let mut path = Path::new("book/src").join(page);
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

/// A line without its inline code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_in_markdown_and_html() {
        let line = r#"[a](b.md#c) ![d](e.svg "title") <img src="f.png"> [draft]()"#;
        assert_eq!(targets(line), ["b.md#c", "e.svg", "", "f.png"]);
    }

    #[test]
    fn paths_are_relative_to_the_page() {
        assert_eq!(resolve("a/b.md", "../../../src/x.rs"), Path::new("src/x.rs"));
        assert_eq!(resolve("b.md", "./img/c.svg"), Path::new("book/src/img/c.svg"));
    }

    #[test]
    fn inline_code_has_no_links() {
        assert_eq!(targets(&without_code("`[a](b)` [c](d)")), ["d"]);
    }
}
