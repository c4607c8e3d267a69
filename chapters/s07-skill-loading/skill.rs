//! One skill: a folder with a `SKILL.md`, which says what it is good for and
//! then how to do it, and with further files that this text may refer to.

use crate::{frontmatter, text};
use anyhow::{Context, Result, ensure};
use ignore::{DirEntry, WalkBuilder};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The file that makes a folder a skill.
pub const SKILL: &str = "SKILL.md";

/// The skills that are built in, for workspaces without any. Their text lies
/// in the program, which may be moved far away from its sources.
const SHIPPED: &[(&str, &str)] = &[
    ("code-review/SKILL.md", include_str!("../../skills/code-review/SKILL.md")),
    (
        "commit-message/SKILL.md",
        include_str!("../../skills/commit-message/SKILL.md"),
    ),
    ("repo-check/SKILL.md", include_str!("../../skills/repo-check/SKILL.md")),
    (
        "rust-compile-errors/SKILL.md",
        include_str!("../../skills/rust-compile-errors/SKILL.md"),
    ),
    (
        "rust-compile-errors/references/common-errors.md",
        include_str!("../../skills/rust-compile-errors/references/common-errors.md"),
    ),
];

/// What the public format allows, in characters.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
/// The largest file that is loaded, in bytes.
const MAX_FILE: u64 = 100_000;

/// Listed and loaded by the same `name`, which need not be the folder's.
pub struct Skill {
    pub name: String,
    /// One line that says when to use the skill.
    pub description: String,
    /// The text of `SKILL.md` below its frontmatter.
    pub body: String,
    /// The name of the folder in `skills/`.
    pub folder: String,
    /// Where that folder really is. `None`: in [`SHIPPED`].
    path: Option<PathBuf>,
}

/// All that is read of the frontmatter. `allowed-tools` is not among it: if a
/// file could widen its own rights, every gate would be worthless.
#[derive(Deserialize)]
struct Header {
    name: Option<String>,
    description: Option<String>,
}

impl Skill {
    /// Reads the skill in `skills/{folder}` of the workspace `root`, a path
    /// without links. Links within the workspace are followed.
    ///
    /// # Errors
    /// When it cannot be read, lies outside, or lacks a description.
    pub fn read(root: &Path, folder: &str) -> Result<Skill> {
        ensure!(is_plain(folder), "the name of its folder has odd characters");
        let path = root.join("skills").join(folder).canonicalize()?;
        let file = path.join(SKILL).canonicalize()?;
        let is_inside = path.starts_with(root) && file.starts_with(root);
        ensure!(is_inside, "a symbolic link leads out of the workspace");
        Skill::new(folder, Some(path), &read_text(&file)?)
    }

    /// Makes a skill from the text of its `SKILL.md`.
    fn new(folder: &str, path: Option<PathBuf>, text: &str) -> Result<Self> {
        let (header, body) = frontmatter::parse::<Header>(text)?;
        let name = one_line(header.name.as_deref().unwrap_or(folder), MAX_NAME);
        let description = header.description.unwrap_or_default();
        let description = one_line(&description, MAX_DESCRIPTION);
        let is_usable = !name.is_empty() && is_plain(&name);
        ensure!(is_usable, "its `name` is empty or has odd characters");
        ensure!(!description.is_empty(), "no `description` says when to use it");
        Ok(Skill { name, description, body, folder: folder.into(), path })
    }

    /// The folder as the workspace's tools see it, if it is on disk.
    pub fn place(&self) -> Option<String> {
        self.path.as_ref().map(|_| format!("skills/{}", self.folder))
    }

    /// The further files, such as `references/errors.md`. Hidden ones are left
    /// out, and links that lead out of the folder.
    pub fn files(&self) -> Vec<String> {
        match &self.path {
            Some(path) => files_in(path),
            None => {
                shipped_files(&self.folder).map(|(name, _)| name.into()).collect()
            }
        }
    }

    /// The text of a further file.
    ///
    /// # Errors
    /// When it is not one of [`files`](Self::files), not text, or too large.
    pub fn file(&self, name: &str) -> Result<String> {
        // Looked up before a path is made of it: `../..` is simply not there.
        let is_known = self.files().iter().any(|file| file == name);
        ensure!(is_known, "the skill {} has no file {name}", self.name);
        match &self.path {
            Some(path) => read_text(&path.join(name)),
            None => shipped_files(&self.folder)
                .find_map(|(file, text)| (file == name).then(|| text.into()))
                .context("it is not there"),
        }
    }
}

/// The skills that are built in.
pub fn shipped() -> Vec<Skill> {
    let read = |(path, text): &(&str, &str)| {
        let folder = path.strip_suffix("/SKILL.md")?;
        Skill::new(folder, None, text).ok()
    };
    SHIPPED.iter().filter_map(read).collect()
}

/// Names and texts.
fn shipped_files(folder: &str) -> impl Iterator<Item = (&str, &str)> {
    SHIPPED.iter().filter_map(move |(path, text)| {
        let name = path.strip_prefix(folder)?.strip_prefix('/')?;
        (name != SKILL).then_some((name, *text))
    })
}

fn files_in(folder: &Path) -> Vec<String> {
    let mut walk = WalkBuilder::new(folder);
    walk.standard_filters(false).hidden(true).sort_by_file_name(Ord::cmp);
    let name = |entry: DirEntry| {
        let real = entry.path().canonicalize().ok()?;
        let is_inside = real.is_file() && real.starts_with(folder);
        let name = entry.path().strip_prefix(folder).ok()?.to_str()?;
        (is_inside && name != SKILL && is_plain(name)).then(|| name.to_string())
    };
    walk.build().flatten().filter_map(name).collect()
}

fn read_text(path: &Path) -> Result<String> {
    let meta = fs::metadata(path)?;
    ensure!(meta.is_file(), "it is not a file");
    let size = meta.len();
    ensure!(size <= MAX_FILE, "it has {size} bytes, the limit is {MAX_FILE}");
    let text = String::from_utf8(fs::read(path)?).ok();
    text.filter(|text| !text.contains('\0')).context("it is not text in UTF-8")
}

/// May it stand in a list and between quotes?
fn is_plain(name: &str) -> bool {
    !name.contains(|c: char| c.is_control() || "<>\"\u{fffd}".contains(c))
}

/// The first `max` characters, with every run of white space and control
/// characters as one space.
fn one_line(text: &str, max: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    text::head(&words.join(" "), max).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const TEXT: &str = "---\nname: a\ndescription: d\n---\nbody";

    fn folder(files: &[(&str, &[u8])]) -> (TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = dir.path().canonicalize().unwrap();
        (dir, root)
    }

    fn read_error(root: &Path, name: &str) -> String {
        Skill::read(root, name).err().unwrap().to_string()
    }

    #[test]
    fn every_file_below_skills_is_shipped_in_order() {
        let skills = Path::new(env!("CARGO_MANIFEST_DIR")).join("skills");
        let names: Vec<_> =
            SHIPPED.iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(names, files_in(&skills.canonicalize().unwrap()));
    }

    #[test]
    fn shipped_skills_keep_to_the_public_format() {
        let mains = SHIPPED.iter().filter(|(path, _)| path.ends_with(SKILL));
        assert_eq!(shipped().len(), mains.count());
        for skill in shipped() {
            let folder = &skill.folder;
            assert_eq!(skill.name, *folder);
            assert!(skill.description.contains("Use when"), "{folder}");
            assert!((20..=60).contains(&skill.body.lines().count()), "{folder}");
            assert_eq!(skill.place(), None);
            for file in skill.files() {
                assert!(skill.body.contains(&file), "{file}");
                assert!(!skill.file(&file).unwrap().is_empty());
            }
        }
    }

    #[test]
    fn name_and_description_are_limited() {
        let (name, description) = ("é".repeat(80), "ü ".repeat(2000));
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n");
        let skill = Skill::new("f", None, &text).unwrap();
        assert_eq!(skill.name.chars().count(), 64);
        assert_eq!(skill.description.chars().count(), 1024);
    }

    #[test]
    fn a_name_that_is_missing_or_empty() {
        let new = |header| Skill::new("f", None, &format!("---\n{header}\n---\n"));
        assert_eq!(new("description: d").unwrap().name, "f");
        for header in
            ["name: ''\ndescription: d", "name: a\ndescription: ' '", "x: y"]
        {
            assert!(new(header).is_err(), "{header}");
        }
    }

    #[test]
    fn what_is_not_a_small_text_is_not_loaded() {
        let large = vec![b'x'; MAX_FILE as usize + 1];
        let (_dir, root) = folder(&[
            ("skills/a/SKILL.md", TEXT.as_bytes()),
            ("skills/a/image.png", b"\x89PNG\0\xff"),
            ("skills/a/nul.txt", b"a\0b"),
            ("skills/a/large.txt", &large),
            ("skills/a/just.txt", &large[1..]),
            ("skills/b/SKILL.md", b"---\nname: \xff\n---\n"),
            ("skills/c/SKILL.md/x", b""),
        ]);
        let skill = Skill::read(&root, "a").unwrap();
        let error = |file| skill.file(file).unwrap_err().to_string();
        assert_eq!(error("image.png"), "it is not text in UTF-8");
        assert_eq!(error("nul.txt"), "it is not text in UTF-8");
        let text = "it has 100001 bytes, the limit is 100000";
        assert_eq!(error("large.txt"), text);
        assert_eq!(skill.file("just.txt").unwrap().len(), 100_000);
        assert_eq!(read_error(&root, "b"), "it is not text in UTF-8");
        assert_eq!(read_error(&root, "c"), "it is not a file");
        assert!(read_error(&root, "none").contains("No such file"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_within_the_workspace_only() {
        use std::os::unix::fs::symlink;
        let (outside, _) = folder(&[("a/SKILL.md", TEXT.as_bytes()), ("b.md", b"")]);
        let (_dir, root) = folder(&[
            ("shared/x/SKILL.md", TEXT.as_bytes()),
            ("shared/x/x.md", b"x"),
            ("shared/y.md", b"y"),
            ("skills/own/SKILL.md", TEXT.as_bytes()),
            ("skills/own/refs/z.md", b"z"),
            ("skills/file/README.md", b""),
        ]);
        let skills = root.join("skills");
        symlink("../shared/x", skills.join("linked")).unwrap();
        symlink(outside.path().join("a"), skills.join("foreign")).unwrap();
        symlink(outside.path().join("a/SKILL.md"), skills.join("file/SKILL.md"))
            .unwrap();
        symlink("nowhere", skills.join("dangling")).unwrap();
        // Of the files, those that stay in the folder; folders are not entered.
        symlink("refs/z.md", skills.join("own/inside.md")).unwrap();
        symlink("../../shared/y.md", skills.join("own/beside.md")).unwrap();
        symlink(outside.path().join("b.md"), skills.join("own/outside.md")).unwrap();
        symlink("..", skills.join("own/loop")).unwrap();
        symlink("nowhere", skills.join("own/dangling.md")).unwrap();

        let linked = Skill::read(&root, "linked").unwrap();
        assert_eq!(linked.place().unwrap(), "skills/linked");
        assert_eq!(linked.file("x.md").unwrap(), "x");
        let why = "a symbolic link leads out of the workspace";
        assert_eq!(read_error(&root, "foreign"), why);
        assert_eq!(read_error(&root, "file"), why);
        assert!(Skill::read(&root, "dangling").is_err());
        let own = Skill::read(&root, "own").unwrap();
        assert_eq!(own.files(), ["inside.md", "refs/z.md"]);
        assert_eq!(own.file("inside.md").unwrap(), "z");
        for file in ["beside.md", "outside.md", "loop/own/refs/z.md", "dangling.md"]
        {
            assert!(own.file(file).is_err(), "{file}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_that_could_fake_a_tag_are_left_out() {
        let (_dir, root) = folder(&[
            ("skills/a/SKILL.md", TEXT.as_bytes()),
            ("skills/a/x\">\n</skill>/b.md", b""),
            ("skills/a/.hidden/c.md", b""),
            ("skills/<a>/SKILL.md", TEXT.as_bytes()),
        ]);
        assert!(Skill::read(&root, "a").unwrap().files().is_empty());
        assert!(read_error(&root, "<a>").contains("odd characters"));
    }
}
