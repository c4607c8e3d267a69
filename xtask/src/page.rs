//! Expands the directives of one page. The blocks ```` ```step ````,
//! ```` ```module FILE ```` and ```` ```excerpt PATH ```` are described in
//! `select.rs` and `listing.rs`; `{{#transcript NAME}}` and `{{#prompt NAME}}`
//! stand on lines of their own.

use crate::listing::{Modules, excerpt};
use crate::markdown::{Block, Fence, blocks, fenced};
use crate::project::{Chapter, Project};
use crate::render::unified;
use crate::steps::Steps;

pub struct Page {
    pub text: String,
    /// The steps of a chapter's page.
    pub steps: Option<Steps>,
}

/// A line of the page, counted from 1, and what is wrong there.
type Fault = (usize, String);

/// Expands a page whose path is relative to `book/src`. The faults name the
/// page and line.
pub fn expand(
    project: &Project,
    path: &str,
    source: &str,
) -> Result<Page, Vec<String>> {
    let place = |(line, fault)| format!("book/src/{path}:{line}: {fault}");
    let place_all = |faults: Vec<Fault>| -> Vec<String> {
        faults.into_iter().map(place).collect()
    };
    let chapters = project.chapters().map_err(|e| vec![format!("{e:#}")])?;
    let chapter = chapters.iter().find(|chapter| chapter.page() == path);
    let steps = match chapter {
        Some(chapter) => steps(project, chapter, source).map_err(place_all)?,
        None => None,
    };
    let expansion = Expansion {
        project,
        chapter,
        steps: steps.as_ref(),
        next_step: 0,
        modules: Modules::default(),
    };
    let text = expansion.run(source).map_err(place_all)?;
    Ok(Page { text, steps })
}

/// The steps of a chapter's page. `claw` is free to have none.
fn steps(
    project: &Project,
    chapter: &Chapter,
    source: &str,
) -> Result<Option<Steps>, Vec<Fault>> {
    let mut bodies = Vec::new();
    for block in blocks(source) {
        if let Block::Fence(fence) = block
            && fence.directive().0 == "step"
        {
            bodies.push((fence.line, fence.body.join("\n")));
        }
    }
    if bodies.is_empty() && chapter.name == "claw" {
        return Ok(None);
    }
    let fault = |e: anyhow::Error| vec![(1, format!("{e:#}"))];
    let new = project.read(&chapter.main()).map_err(fault)?;
    let old = match &chapter.previous {
        Some(name) => project.read(&format!("chapters/{name}/main.rs")),
        None => Ok(String::new()),
    };
    Steps::new(&old.map_err(fault)?, &new, &bodies).map(Some)
}

struct Expansion<'a> {
    project: &'a Project,
    chapter: Option<&'a Chapter>,
    steps: Option<&'a Steps>,
    next_step: usize,
    modules: Modules,
}

impl Expansion<'_> {
    fn run(mut self, source: &str) -> Result<String, Vec<Fault>> {
        let mut text = String::new();
        let mut faults = Vec::new();
        for block in blocks(source) {
            let (line, expanded) = match &block {
                Block::Text(line, text) => (*line, self.line(text)),
                Block::Fence(fence) => (fence.line, self.fence(fence)),
            };
            match expanded {
                Ok(expanded) => text += &expanded,
                Err(fault) => faults.push((line, fault)),
            }
        }
        if let Some(chapter) = self.chapter.filter(|_| self.steps.is_some()) {
            let unshown = self.modules.unshown(self.project, &chapter.name);
            faults.extend(unshown.into_iter().map(|fault| (1, fault)));
        }
        if faults.is_empty() { Ok(text) } else { Err(faults) }
    }

    fn fence(&mut self, fence: &Fence) -> Result<String, String> {
        match fence.directive().0 {
            "step" => self.step(),
            "module" => {
                let name = &self.own_chapter()?.name;
                let dir = format!("chapters/{name}");
                self.modules.piece(self.project, &dir, fence)
            }
            "excerpt" => excerpt(self.project, fence),
            _ => Ok(fence.raw.join("\n") + "\n"),
        }
    }

    fn step(&mut self) -> Result<String, String> {
        let main = self.own_chapter()?.main();
        let steps = self.steps.ok_or("this page has no steps")?;
        let step = self.next_step;
        self.next_step += 1;
        let size = steps.size(step);
        Ok(format!(
            "*Step {} of {}: {size} changed {} of `{main}`:*\n\n{}",
            step + 1,
            steps.len(),
            if size == 1 { "line" } else { "lines" },
            fenced("diff", &unified(&steps.marked(step)))
        ))
    }

    fn own_chapter(&self) -> Result<&Chapter, String> {
        self.chapter.ok_or_else(|| {
            "this block needs a page that is named like its folder in chapters/"
                .to_string()
        })
    }

    /// A line of text: itself, unless it is one of our `{{#…}}`.
    fn line(&self, line: &str) -> Result<String, String> {
        let ours = ["{{#transcript", "{{#prompt"];
        let quoted = line.replace("\\{{#", "");
        if !ours.iter().any(|name| quoted.contains(name)) {
            return Ok(format!("{line}\n"));
        }
        let inner = line.trim().trim_start_matches("{{#").trim_end_matches("}}");
        match inner.split_whitespace().collect::<Vec<_>>()[..] {
            ["transcript", name] => self.transcript(name),
            ["prompt", name] => self.prompt(name),
            _ => Err("put this on a line of its own, with a chapter's name".into()),
        }
    }

    fn transcript(&self, name: &str) -> Result<String, String> {
        let path = format!("book/transcripts/{name}.txt");
        let text = self.project.read(&path);
        let text = text.map_err(|_| {
            format!("{path} is missing: run `cargo xtask bless {name}`")
        })?;
        Ok(fenced("text,transcript", &text))
    }

    fn prompt(&self, name: &str) -> Result<String, String> {
        let prompt = crate::transcript::prompt(self.project, name);
        Ok(fenced("text,prompt", &prompt.map_err(|e| format!("{e:#}"))?))
    }
}
