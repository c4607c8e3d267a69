//! `cargo xtask check`: book and code agree. Every fault is one line that says
//! where it is and how to mend it.

use anyhow::Result;

use crate::page::{Page, expand};
use crate::project::{Chapter, Project};
use crate::steps::Steps;
use crate::{compile, limits, links, order, transcript};

/// Runs all checks, prints what it did, and says whether all is well.
pub fn run(project: &Project) -> Result<bool> {
    let faults = faults(project)?;
    for fault in &faults {
        eprintln!("{fault}");
    }
    match faults.len() {
        0 => println!("check: all is well"),
        n => println!("check: {n} fault(s)"),
    }
    Ok(faults.is_empty())
}

/// The faults of all checks. What stops a slow one is a fault too, so that the
/// others are still told.
fn faults(project: &Project) -> Result<Vec<String>> {
    let (mut faults, chapters) = read(project)?;
    let told = |error: anyhow::Error| vec![format!("{error:#}")];
    println!("compiling the states between the steps…");
    faults.extend(compile::check(project, &chapters).unwrap_or_else(told));
    println!("playing the demos…");
    faults.extend(transcript::check(project).unwrap_or_else(told));
    Ok(faults)
}

/// A chapter's name and the steps of its page.
type Chapters = Vec<(String, Steps)>;

/// The checks that only read.
fn read(project: &Project) -> Result<(Vec<String>, Chapters)> {
    let mut faults = Vec::new();
    for chapter in project.chapters()? {
        faults.extend(missing(project, &chapter)?);
    }
    faults.extend(order::check(project)?);
    faults.extend(limits::lengths(project)?);
    let mut chapters = Vec::new();
    let pages = project.pages()?;
    for path in &pages {
        let (expanded, more) = page(project, path);
        faults.extend(more);
        let name = path.trim_end_matches(".md").to_string();
        chapters.extend(expanded.and_then(|page| page.steps).map(|s| (name, s)));
    }
    let steps: usize = chapters.iter().map(|(_, steps)| steps.len()).sum();
    let count = chapters.len();
    println!("{} pages, {steps} steps in {count} chapters", pages.len());
    Ok((faults, chapters))
}

/// Expands a page, if that is possible, and says what is wrong with it.
fn page(project: &Project, path: &str) -> (Option<Page>, Vec<String>) {
    let Ok(source) = project.read(&format!("book/src/{path}")) else {
        let fault = format!(
            "book/src/SUMMARY.md: links {path}, which is missing: \
             write it, or leave the link empty"
        );
        return (None, vec![fault]);
    };
    let mut faults = links::check(project, path, &source);
    faults.extend(limits::unmarked_rust(path, &source));
    match expand(project, path, &source) {
        Ok(page) => {
            faults.extend(limits::widths(path, &page.text));
            (Some(page), faults)
        }
        Err(errors) => {
            faults.extend(errors);
            (None, faults)
        }
    }
}

/// The parts that a chapter lacks.
fn missing(project: &Project, chapter: &Chapter) -> Result<Vec<String>> {
    let name = &chapter.name;
    let transcript = format!("book/transcripts/{name}.txt");
    let mut faults = Vec::new();
    for (path, cure) in [
        (chapter.main(), "write it"),
        (format!("chapters/{name}/demo.json"), "write it"),
        (transcript, &*format!("run `cargo xtask bless {name}`")),
    ] {
        if !project.has(&path) {
            faults.push(format!("{path} is missing: {cure}"));
        }
    }
    if !project.pages()?.contains(&chapter.page()) {
        faults.push(format!(
            "book/src/SUMMARY.md: does not link {}: write the page and link it",
            chapter.page()
        ));
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, assert_fault};

    const S01: &str = "book/src/s01-greet.md";

    #[test]
    fn every_fault_is_named() {
        // Each row is an edit (file, text, new text) and what must be said.
        let edits = Fixture::new().project.read("edits.json").unwrap();
        let edits: Vec<[String; 4]> = serde_json::from_str(&edits).unwrap();
        assert!(!edits.is_empty());
        for [file, from, to, expected] in edits {
            let fixture = Fixture::new();
            fixture.edit(&file, &from, &to);
            let (faults, _) = read(&fixture.project).unwrap();
            assert_fault(&faults, &expected);
        }
    }

    #[test]
    fn missing_parts_name_their_repair() {
        let fixture = Fixture::new();
        let root = &fixture.project.root;
        std::fs::remove_file(root.join("book/transcripts/s01-greet.txt")).unwrap();
        std::fs::remove_file(root.join("chapters/s02-count/demo.json")).unwrap();
        let (faults, _) = read(&fixture.project).unwrap();
        assert_fault(
            &faults,
            "s01-greet.txt is missing: run `cargo xtask bless s01-",
        );
        assert_fault(&faults, "chapters/s02-count/demo.json is missing: write it");
    }

    /// One fixture for all that needs cargo, so that it is built once.
    #[test]
    fn states_compile_and_transcripts_are_fresh() {
        let fixture = Fixture::new();
        let project = &fixture.project;
        assert_eq!(faults(project).unwrap(), Vec::<String>::new());

        fixture.edit(S01, "let greeter\n", "");
        fixture.edit(S01, "fn agent_loop(g", "let greeter\nfn agent_loop(g");
        fixture.edit(S01, "agent_loop(&greeter\n", "");
        fixture.edit(
            S01,
            "let greeter",
            "agent_loop(&greeter\n```\n```step\nlet greeter",
        );
        let transcript = "book/transcripts/s02-count.txt";
        let recorded = project.read(transcript).unwrap();
        fixture.edit(transcript, "Hello, Grace!", "Hello, Alan!");
        let found = faults(project).unwrap();
        assert_eq!(found.len(), 2, "{found:#?}");
        assert_fault(
            &found,
            "s01-greet.md:16: step 2 does not compile, cannot find value",
        );
        assert_fault(&found, "stale, the demo now prints `Hello, Grace!`");

        transcript::bless(project, &["s02-count".into()]).unwrap();
        assert_eq!(project.read(transcript).unwrap(), recorded);
        let unknown = transcript::bless(project, &["s07".into()]);
        assert_fault(&[unknown.unwrap_err().to_string()], "chapters/s07/demo.json");
    }
}
