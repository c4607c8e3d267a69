//! A course of three tiny chapters for the tests: a copy of `fixture/`, so that
//! each test may spoil its own.

use std::path::Path;

use crate::project::Project;

pub struct Fixture {
    pub project: Project,
    _dir: tempfile::TempDir,
}

impl Fixture {
    pub fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixture");
        copy(&source, dir.path());
        let root = dir.path().to_path_buf();
        Fixture { project: Project { root }, _dir: dir }
    }

    /// Replaces a text that must be there.
    pub fn edit(&self, file: &str, from: &str, to: &str) {
        let text = self.project.read(file).unwrap();
        assert!(text.contains(from), "{file} has no {from:?}");
        let text = text.replacen(from, to, 1);
        std::fs::write(self.project.root.join(file), text).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_name() == "target" {
            continue;
        } else if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Some fault must contain a text.
pub fn assert_fault(faults: &[String], text: &str) {
    let found = faults.iter().any(|fault| fault.contains(text));
    assert!(found, "no fault says {text:?}: {faults:#?}");
}
