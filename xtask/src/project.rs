//! Where things lie in the repository, so that no other file has to know.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The repository, found from the current folder.
pub struct Project {
    pub root: PathBuf,
}

/// A folder below `chapters/`.
pub struct Chapter {
    pub name: String,
    /// The chapter whose `main.rs` this one starts from; the first has none.
    pub previous: Option<String>,
}

impl Chapter {
    pub fn main(&self) -> String {
        format!("chapters/{}/main.rs", self.name)
    }

    pub fn page(&self) -> String {
        format!("{}.md", self.name)
    }
}

impl Project {
    /// Looks for the folder with `chapters/` and `book/`, here and above.
    pub fn find() -> Result<Project> {
        let here = std::env::current_dir()?;
        here.ancestors()
            .find(|dir| dir.join("chapters").is_dir() && dir.join("book").is_dir())
            .map(|dir| Project { root: dir.into() })
            .context("no `chapters` and `book` here or above: cd to the checkout")
    }

    /// The text of a file; `path` is relative to the root.
    pub fn read(&self, path: &str) -> Result<String> {
        std::fs::read_to_string(self.root.join(path))
            .with_context(|| format!("cannot read {path}"))
    }

    pub fn has(&self, path: &str) -> bool {
        self.root.join(path).is_file()
    }

    /// All chapters in the order of the course: by folder name, `claw` last.
    pub fn chapters(&self) -> Result<Vec<Chapter>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.root.join("chapters"))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_by_key(|name| (name == "claw", name.clone()));
        let mut chapters: Vec<Chapter> = Vec::new();
        for name in names {
            let previous = chapters.last().map(|before| before.name.clone());
            chapters.push(Chapter { name, previous });
        }
        Ok(chapters)
    }

    /// The Rust files below a folder, relative to the root and sorted.
    pub fn rust_files(&self, dir: &str) -> Vec<String> {
        let mut files = Vec::new();
        let Ok(entries) = std::fs::read_dir(self.root.join(dir)) else {
            return files;
        };
        for entry in entries.flatten() {
            let path = format!("{dir}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                files.extend(self.rust_files(&path));
            } else if path.ends_with(".rs") {
                files.push(path);
            }
        }
        files.sort();
        files
    }

    /// The files of a chapter that its page must show whole: all but
    /// `main.rs`, which the steps show, and files of tests.
    pub fn modules(&self, chapter: &str) -> Vec<String> {
        let dir = format!("chapters/{chapter}/");
        let mut files = self.rust_files(dir.trim_end_matches('/'));
        files.retain(|file| {
            *file != format!("{dir}main.rs") && !file.ends_with("/tests.rs")
        });
        files
    }

    /// The pages that the summary links, without drafts: paths below `book/src`.
    pub fn pages(&self) -> Result<Vec<String>> {
        let summary = self.read("book/src/SUMMARY.md")?;
        let links = summary.lines().flat_map(crate::links::targets);
        Ok(links
            .map(|link| link.trim_start_matches("./").to_string())
            .filter(|link| link.ends_with(".md"))
            .collect())
    }
}

/// Writes a file with its folders, and leaves it alone when nothing changed,
/// so that cargo does not see a new date.
pub fn write_if_changed(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    std::fs::write(path, text)
        .with_context(|| format!("cannot write {}", path.display()))
}
