//! Limits that keep the chapters readable: a loop on one screen, a program on a
//! few, code that is not wider than the page.

use anyhow::Result;

use crate::markdown::{Block, blocks};
use crate::project::Project;
use crate::rust;

/// Columns of code that fit on the page.
const WIDTH: usize = 85;

/// At most so many lines of `main.rs` and of `agent_loop`, and the chapters with
/// limits of their own.
const LIMITS: (usize, usize) = (150, 50);
const OWN_LIMITS: [(&str, usize, usize); 2] =
    [("s02-tool-use", 100, 35), ("s05-todo", 130, 50)];

/// Prints the lengths of all chapters, and returns those that are too long.
pub fn lengths(project: &Project) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    println!("{:24} {:>9} {:>12}", "chapter", "main.rs", "agent_loop");
    for chapter in project.chapters()? {
        let Ok(text) = project.read(&chapter.main()) else {
            continue;
        };
        let own = OWN_LIMITS.iter().find(|(name, ..)| *name == chapter.name);
        let (main_limit, loop_limit) = own.map_or(LIMITS, |own| (own.1, own.2));
        let main = text.lines().count();
        let agent_loop = agent_loop(&text);
        let cell = |n: usize, limit: usize| format!("{n}/{limit}");
        println!(
            "{:24} {:>9} {:>12}",
            chapter.name,
            cell(main, main_limit),
            agent_loop.map_or("-".into(), |n| cell(n, loop_limit))
        );
        for (what, n, limit) in [
            ("the file", main, main_limit),
            ("`agent_loop`", agent_loop.unwrap_or(0), loop_limit),
        ] {
            if n > limit {
                let main = chapter.main();
                faults.push(format!(
                    "{main}: {what} has {n} lines, the limit is {limit}: move a \
                     mechanism to a module"
                ));
            }
        }
    }
    Ok(faults)
}

/// The length of the function `agent_loop`, if there is one.
fn agent_loop(text: &str) -> Option<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| line.contains("fn agent_loop"))?;
    Some(rust::item(&lines, head).len())
}

/// Complains about code in an expanded page that is too wide. Transcripts and
/// prompts are what they are.
pub fn widths(path: &str, expanded: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for block in blocks(expanded) {
        let Block::Fence(fence) = block else { continue };
        if fence.info.starts_with("text,") {
            continue;
        }
        let mark = usize::from(fence.info == "diff");
        for line in fence.body {
            let width = line.chars().count().saturating_sub(mark);
            if width > WIDTH && !line.starts_with("@@ ") {
                faults.push(format!(
                    "book/src/{path}: code of {width} columns, more than {WIDTH}: \
                     break `{}`",
                    line.trim()
                ));
            }
        }
    }
    faults
}

/// Complains about Rust in the source of a page that no directive brought in:
/// it would drift from the code unseen.
pub fn unmarked_rust(path: &str, source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for block in blocks(source) {
        let Block::Fence(fence) = block else { continue };
        let mut words = fence.info.split([',', ' ']);
        let rust = matches!(words.next(), Some("rust" | "rs"));
        let includes = fence.body.iter().any(|line| line.contains("{{#"));
        if rust && !includes && !words.any(|word| word == "illustration") {
            faults.push(format!(
                "book/src/{path}:{}: Rust that is not from the code: use a \
                 directive, or mark it `rust,illustration`",
                fence.line
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_is_measured_with_its_braces() {
        assert_eq!(
            agent_loop("async fn agent_loop(\n    a: A,\n) {\n    b();\n}\nx"),
            Some(5)
        );
        assert_eq!(agent_loop("fn main() {}"), None);
    }

    #[test]
    fn wide_code_and_unmarked_rust_are_found() {
        let wide = "x".repeat(86);
        let page = format!(
            "```rust\n{wide}\n```\n```diff\n+{}\n```\n```text,transcript\n{wide}\n\
             ```\n",
            &wide[1..]
        );
        assert_eq!(widths("a.md", &page).len(), 1);
        let page = "```rust\nx\n```\n```rust,illustration\ny\n```\n```rust\n\
            {{#include a.rs}}\n```\n";
        let faults = unmarked_rust("a.md", page);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("book/src/a.md:1: "), "{faults:?}");
    }
}
