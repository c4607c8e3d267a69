//! `glob`: finds files by name. What the project itself ignores (build output,
//! installed packages) would fill the result, and is left out.

use std::path::{Component, Path};

use anyhow::{Context, ensure};
use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Workspace, aside};

/// What the model reads about the tool.
pub const GLOB_DESCRIPTION: &str = "\
List the files of the workspace whose path matches a pattern, such as **/*.rs or \
src/*.{c,h}. Files that .gitignore names are left out; hidden ones are found only \
if the pattern names them, as in .github/** or **/.env.";

const MAX_FILES: usize = 200;

/// Arguments of the `glob` tool.
#[derive(Deserialize, JsonSchema)]
pub struct Glob {
    /// The pattern, relative to the workspace. `**` stands for any folders.
    pub pattern: String,
}

/// The `glob` tool. Symbolic links are listed but not followed.
///
/// # Errors
/// When the pattern is malformed or leads out of the workspace.
pub async fn glob(ws: Workspace, args: Glob) -> anyhow::Result<String> {
    // The model is told the folder's full name, and uses it.
    let root = format!("{}/", ws.root().display());
    let pattern = args.pattern.strip_prefix(&root).unwrap_or(&args.pattern);
    let pattern = pattern.trim_start_matches("./").to_string();
    let matcher = matcher(&pattern)?;
    aside(move || Ok(search(ws.root(), &pattern, &matcher))).await
}

fn search(root: &Path, pattern: &str, matcher: &GlobMatcher) -> String {
    let (mut files, mut unreadable) = (Vec::new(), 0);
    for entry in walk(root, names_hidden(pattern)).build() {
        match entry {
            Err(_) => unreadable += 1,
            Ok(entry) => files.extend(hit(&entry, root, matcher)),
        }
    }
    files.sort_unstable();
    if files.is_empty() && root.join(pattern).is_dir() {
        return format!("{pattern} is a folder; {pattern}/** lists what is in it");
    }
    report(&files, pattern, unreadable)
}

fn matcher(pattern: &str) -> anyhow::Result<GlobMatcher> {
    ensure!(!pattern.is_empty(), "the pattern is empty");
    ensure!(!pattern.contains('\0'), "the pattern contains a NUL character");
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    ensure!(
        Path::new(pattern).components().all(inside),
        "Path escapes workspace: {pattern} (patterns are relative to it)"
    );
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .with_context(|| format!("bad pattern {pattern}"))?;
    Ok(glob.compile_matcher())
}

/// Whether some part of the pattern starts with a dot.
fn names_hidden(pattern: &str) -> bool {
    let starts = ["/.", "{.", ",."];
    pattern.starts_with('.') || starts.iter().any(|start| pattern.contains(start))
}

/// What is ignored depends on the project alone, not on the user's settings.
/// Outside a repository only the workspace counts: a `.gitignore` in the home
/// folder, made for something else, may say `*`.
fn walk(root: &Path, hidden_too: bool) -> WalkBuilder {
    let in_repository = root.ancestors().any(|dir| dir.join(".git").exists());
    let mut walk = WalkBuilder::new(root);
    walk.hidden(!hidden_too)
        .require_git(false)
        .git_global(false)
        .parents(in_repository)
        .filter_entry(|entry| entry.file_name() != ".git");
    walk
}

/// The path of `entry` below `root`, if it is no folder and matches.
fn hit(entry: &DirEntry, root: &Path, matcher: &GlobMatcher) -> Option<String> {
    let path = entry.path().strip_prefix(root).ok()?;
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    let is_hit = !is_folder && matcher.is_match(path);
    is_hit.then(|| path.to_string_lossy().into_owned())
}

fn report(files: &[String], pattern: &str, unreadable: usize) -> String {
    let total = files.len();
    let mut text = match total {
        0 => format!("No files match {pattern} (ignored ones were left out)"),
        _ => files[..total.min(MAX_FILES)].join("\n"),
    };
    if total > MAX_FILES {
        text += &format!(
            "\n[{MAX_FILES} of {total} files; narrow the pattern for the rest]"
        );
    }
    if unreadable > 0 {
        text += &format!("\n[{unreadable} folders could not be read]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Place, failure};
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    async fn find(place: &Place, pattern: &str) -> String {
        let pattern = pattern.to_string();
        glob(place.ws.clone(), Glob { pattern }).await.unwrap()
    }

    #[tokio::test]
    async fn patterns_select_files_in_order() {
        let names = ["z.rs", "src/b.rs", "src/a.rs", "src/deep/c.rs", "src/x.c"];
        let place = Place::new(&names.map(|name| (name, "")));
        let cases = [
            ("*.rs", "z.rs"),
            ("**/*.rs", "src/a.rs\nsrc/b.rs\nsrc/deep/c.rs\nz.rs"),
            ("src/*.rs", "src/a.rs\nsrc/b.rs"),
            ("./src/**/c.rs", "src/deep/c.rs"),
            ("src/?.{c,rs}", "src/a.rs\nsrc/b.rs\nsrc/x.c"),
            ("src/[ab].rs", "src/a.rs\nsrc/b.rs"),
            ("src/deep", "src/deep is a folder; src/deep/** lists what is in it"),
            ("**/*.py", "No files match **/*.py (ignored ones were left out)"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(find(&place, pattern).await, expected);
        }
    }

    #[tokio::test]
    async fn hidden_files_have_to_be_named() {
        let names = [".env", "a", "sub/.env", ".github/ci.yml", ".git/config"];
        let place = Place::new(&names.map(|name| (name, "")));
        assert_eq!(find(&place, "**").await, "a");
        assert_eq!(find(&place, "**/.env").await, ".env\nsub/.env");
        assert_eq!(find(&place, ".github/**").await, ".github/ci.yml");
        assert_eq!(find(&place, "{a,.env}").await, ".env\na");
        assert!(find(&place, ".git/**").await.starts_with("No files match"));
    }

    #[tokio::test]
    async fn ignored_trees_are_left_out() {
        let mut files = vec![(".gitignore", "/target\nnode_modules\n*.log\n")];
        let names = ["a.js", "x.log", "target/x.js", "sub/node_modules/x.js"];
        files.extend(names.map(|name| (name, "")));
        let place = Place::new(&files);
        assert_eq!(find(&place, "**").await, "a.js");
        // The rules of the folder around count in a repository only.
        let around = place.outer.path();
        fs::write(around.join(".gitignore"), "*.js\n").unwrap();
        assert_eq!(find(&place, "**").await, "a.js");
        fs::create_dir(around.join(".git")).unwrap();
        assert!(find(&place, "**").await.starts_with("No files match"));
    }

    #[tokio::test]
    async fn links_are_listed_but_not_followed() {
        let place = Place::new(&[("dir/f", "")]);
        symlink("dir", place.path("link")).unwrap();
        symlink("..", place.path("dir/up")).unwrap();
        symlink(place.outer.path(), place.path("out")).unwrap();
        assert_eq!(find(&place, "**").await, "dir/f\ndir/up\nlink\nout");
        assert!(find(&place, "link/*").await.starts_with("No files match"));
    }

    #[tokio::test]
    async fn too_many_hits_are_cut_and_said() {
        let names: Vec<String> = (0..250).map(|i| format!("f{i:03}")).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
        let text = find(&Place::new(&files), "*").await;
        let note = "\n[200 of 250 files; narrow the pattern for the rest]";
        assert_eq!(text, names[..200].join("\n") + note);
    }

    #[tokio::test]
    async fn bad_patterns_are_refused() {
        let place = Place::new(&[("a", "")]);
        let cases = [
            ("../*", "Path escapes workspace: ../*"),
            ("src/../../*", "Path escapes workspace: "),
            ("/etc/*", "Path escapes workspace: /etc/*"),
            ("[a", "bad pattern [a: "),
            ("{a", "bad pattern {a: "),
            ("", "the pattern is empty"),
            ("a\0", "the pattern contains a NUL"),
        ];
        for (pattern, expected) in cases {
            let args = Glob { pattern: pattern.to_string() };
            let error = failure(glob(place.ws.clone(), args).await);
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
