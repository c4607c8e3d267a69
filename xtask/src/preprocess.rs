//! The mdBook side: a book comes in as JSON on stdin, and goes out with every
//! directive expanded. mdBook's own crates would say the same in more code and
//! many more dependencies.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::page::expand;
use crate::project::Project;

/// Answers `supports RENDERER` with yes, and otherwise expands the book. Faults
/// go to stderr; then there is no book.
pub fn run(args: &[String]) -> Result<bool> {
    if args.first().is_some_and(|arg| arg == "supports") {
        return Ok(true);
    }
    let input: Value = serde_json::from_reader(std::io::stdin())
        .context("no book on stdin: mdbook runs this command")?;
    let (context, mut book) = match input {
        Value::Array(pair) if pair.len() == 2 => (pair[0].clone(), pair[1].clone()),
        _ => anyhow::bail!("expected [context, book] on stdin: use mdbook 0.5"),
    };
    let book_dir = PathBuf::from(context["root"].as_str().context("no root")?);
    let root = book_dir.parent().context("the book lies in no folder")?;
    let mut faults = Vec::new();
    expand_items(&Project { root: root.into() }, &mut book["items"], &mut faults);
    for fault in &faults {
        eprintln!("{fault}");
    }
    if faults.is_empty() {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &book)?;
        out.flush()?;
    }
    Ok(faults.is_empty())
}

/// Expands chapters and what is below them. Drafts have no path; separators and
/// part titles are no chapters.
fn expand_items(project: &Project, items: &mut Value, faults: &mut Vec<String>) {
    for item in items.as_array_mut().into_iter().flatten() {
        let Some(chapter) = item.get_mut("Chapter") else {
            continue;
        };
        if let (Some(path), Some(text)) =
            (chapter["path"].as_str(), chapter["content"].as_str())
        {
            match expand(project, path, text) {
                Ok(page) => chapter["content"] = page.text.into(),
                Err(errors) => faults.extend(errors),
            }
        }
        expand_items(project, &mut chapter["sub_items"], faults);
    }
}
