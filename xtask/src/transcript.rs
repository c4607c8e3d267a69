//! Recorded transcripts: what a reader sees who starts a chapter without a key
//! and types the demo's prompts.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::compile::cargo;
use crate::project::{Chapter, Project, write_if_changed};
use crate::session::session;

/// The scripts of a chapter's `demo.json` that a user plays.
fn scripts(project: &Project, chapter: &str) -> Result<Vec<Value>> {
    let path = format!("chapters/{chapter}/demo.json");
    let mut demo: Value = serde_json::from_str(&project.read(&path)?)
        .with_context(|| format!("{path} is not JSON"))?;
    let mut scripts = match demo["scripts"].take() {
        Value::Array(scripts) => scripts,
        _ => vec![],
    };
    // Hidden ones answer what the program asks the model by itself.
    scripts.retain(|script| script["hidden"] != true);
    if scripts.is_empty() {
        bail!("{path} has no prompt: add {{\"scripts\": [{{\"prompt\": …}}]}}");
    }
    Ok(scripts)
}

/// The first prompt of a chapter's demo.
pub fn prompt(project: &Project, chapter: &str) -> Result<String> {
    let scripts = scripts(project, chapter)?;
    Ok(scripts[0]["prompt"].as_str().unwrap_or_default().into())
}

/// What is typed in a demo: each prompt, and the answers to the questions that
/// follow from it.
fn input(project: &Project, chapter: &str) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for script in scripts(project, chapter)? {
        let answers = script["answers"].as_array().into_iter().flatten();
        let typed = std::iter::once(&script["prompt"]).chain(answers);
        lines.extend(typed.filter_map(Value::as_str).map(str::to_string));
    }
    if let Some(line) = lines.iter().find(|line| line.contains('\n')) {
        bail!(
            "chapters/{chapter}/demo.json: a pipe takes one line each, not `{line}`"
        );
    }
    Ok(lines)
}

/// Records the transcripts of the named chapters, or of all.
pub fn bless(project: &Project, names: &[String]) -> Result<bool> {
    let chapters = with_demo(project)?;
    let known = |name: &&String| chapters.iter().any(|c| c.name == **name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        bail!("chapters/{name}/demo.json does not exist: correct the name");
    }
    let wanted = |c: &Chapter| names.is_empty() || names.contains(&c.name);
    let chosen: Vec<Chapter> = chapters.into_iter().filter(wanted).collect();
    for (chapter, text) in record(project, &chosen)? {
        let path = format!("book/transcripts/{chapter}.txt");
        let same = project.read(&path).is_ok_and(|old| old == text);
        write_if_changed(&project.root.join(&path), &text)?;
        println!("{path}: {}", if same { "unchanged" } else { "recorded" });
    }
    Ok(true)
}

/// Compares the recorded transcripts with what the demos print now.
pub fn check(project: &Project) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for (chapter, fresh) in record(project, &with_demo(project)?)? {
        let path = format!("book/transcripts/{chapter}.txt");
        // A missing file is reported with the other missing files.
        let Ok(old) = project.read(&path) else {
            continue;
        };
        if let Some((line, now)) = first_difference(&old, &fresh) {
            faults.push(format!(
                "{path}:{line}: stale, the demo now prints `{now}`: if that is \
                 meant, run `cargo xtask bless {chapter}`"
            ));
        }
    }
    Ok(faults)
}

/// The first line in which the texts differ, as it is in the new one.
fn first_difference(old: &str, new: &str) -> Option<(usize, String)> {
    if old == new {
        return None;
    }
    let alike = old.lines().zip(new.lines()).take_while(|(a, b)| a == b).count();
    let now = new.lines().nth(alike).unwrap_or("(nothing more)");
    Some((alike + 1, now.to_string()))
}

fn with_demo(project: &Project) -> Result<Vec<Chapter>> {
    let mut chapters = project.chapters()?;
    chapters.retain(|c| project.has(&format!("chapters/{}/demo.json", c.name)));
    Ok(chapters)
}

/// Builds the binaries and plays each demo once.
fn record(project: &Project, chapters: &[Chapter]) -> Result<Vec<(String, String)>> {
    let target = crate::compile::metadata(project)?.target;
    let bins = chapters.iter().flat_map(|c| ["--bin", &c.name]);
    let built = cargo(project).args(["build", "--quiet"]).args(bins).output()?;
    if !built.status.success() {
        let errors = String::from_utf8_lossy(&built.stderr).into_owned();
        let first = errors.lines().find(|line| line.starts_with("error"));
        let first = first.unwrap_or_default();
        bail!("the demos cannot be built, {first}: mend `cargo build --bins`");
    }
    let play = |chapter: &Chapter| {
        let name = &chapter.name;
        let exe = format!("debug/{name}{}", std::env::consts::EXE_SUFFIX);
        let text = session(&target.join(exe), name, &input(project, name)?)?;
        Ok((name.clone(), text))
    };
    chapters.iter().map(play).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        let new = first_difference("a\nb\n", "a\nc\n");
        assert_eq!(new, Some((2, "c".to_string())));
        let shorter = first_difference("a\nb\n", "a\n");
        assert_eq!(shorter, Some((2, "(nothing more)".to_string())));
    }
}
