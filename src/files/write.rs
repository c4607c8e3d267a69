//! `write_file`: a file's whole content at once. What `read_file` hides from
//! the model, a byte order mark and `\r\n`, is put back when a file is replaced.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use anyhow::{anyhow, ensure};
use rustix::fs::{Access, access};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Workspace,
    content::{Fingerprint, fingerprint, line_end, with_line_end},
    explain, regular_file,
};
use crate::store::write_atomic;

/// What the model reads about the tool.
pub const WRITE_DESCRIPTION: &str = "\
Write a whole file in the workspace, replacing it if it exists. Missing folders \
are made. To change a part of a file, use edit_file.";

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Arguments of the `write_file` tool.
#[derive(Deserialize, JsonSchema)]
pub struct WriteFile {
    /// Path of the file, relative to the workspace.
    pub path: String,
    /// The whole content of the file, to the last newline.
    pub content: String,
}

/// The `write_file` tool.
///
/// # Errors
/// When the file cannot be written, or somebody else has changed it since the
/// agent saw it: the content was made from an old version, and would undo that
/// change unseen.
pub async fn write_file(ws: Workspace, args: WriteFile) -> anyhow::Result<String> {
    let name = &args.path;
    ensure!(!name.ends_with('/'), "{name} is the name of a folder");
    let path = ws.resolve(name)?;
    let mut known = ws.known();
    let mut bytes = args.content.into_bytes();
    if regular_file(&path, name)?.is_some() {
        ensure_writable(&path, name)?;
        let fresh = is_fresh(&path, known.get(&path).copied());
        ensure!(
            fresh.map_err(|error| explain(name, &error))?,
            "{name} was changed by somebody else since you read it; nothing was \
             written, read it again first"
        );
        bytes = in_style_of(&path, bytes).map_err(|error| explain(name, &error))?;
    }
    replace(&path, &bytes, name)?;
    known.insert(path, fingerprint(&bytes));
    Ok(format!("Wrote {} bytes to {name}", bytes.len()))
}

/// Whether the file still has the fingerprint that is `known`, if any.
fn is_fresh(path: &Path, known: Option<u64>) -> io::Result<bool> {
    match known {
        Some(old) => Ok(Fingerprint::new(File::open(path)?).finish()? == old),
        None => Ok(true),
    }
}

/// Replacing a file needs no right to write it, so we have to ask.
pub(super) fn ensure_writable(path: &Path, name: &str) -> anyhow::Result<()> {
    // The first question is for the super-user, who may write everything.
    let read_only = fs::metadata(path).is_ok_and(|m| m.permissions().readonly());
    ensure!(
        !read_only && access(path, Access::WRITE_OK).is_ok(),
        "{name} is read-only; nothing was written"
    );
    Ok(())
}

/// Puts `bytes` at `path` in one step, in a folder that may have to be made.
pub(super) fn replace(path: &Path, bytes: &[u8], name: &str) -> anyhow::Result<()> {
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| write_atomic(path, bytes));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            anyhow!("{name}: permission denied: its folder is not writable")
        }
        _ => explain(name, &error),
    })
}

fn in_style_of(path: &Path, content: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut old = Vec::new();
    File::open(path)?.take(65_536).read_to_end(&mut old)?;
    let mut new = content;
    if line_end(&old) == Some("\r\n") {
        // It comes from a `String`.
        new = with_line_end(&String::from_utf8_lossy(&new), "\r\n").into_bytes();
    }
    if old.starts_with(BOM) && !new.starts_with(BOM) {
        new.splice(..0, BOM.iter().copied());
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Place, failure};
    use super::super::{EditFile, ReadFile, edit_file, read_file};
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    async fn write(
        place: &Place,
        path: &str,
        content: &str,
    ) -> anyhow::Result<String> {
        let (path, content) = (path.to_string(), content.to_string());
        write_file(place.ws.clone(), WriteFile { path, content }).await
    }

    async fn read(place: &Place, path: &str) {
        let path = path.to_string();
        let args = ReadFile { path, offset: None, limit: None };
        read_file(place.ws.clone(), args).await.unwrap();
    }

    async fn edit(place: &Place, path: &str, old: &str, new: &str) {
        let (path, old) = (path.to_string(), old.to_string());
        let args = EditFile { path, old_text: old, new_text: new.to_string() };
        edit_file(place.ws.clone(), args).await.unwrap();
    }

    fn chmod(place: &Place, name: &str, mode: u32) {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(place.path(name), permissions).unwrap();
    }

    #[tokio::test]
    async fn new_files_hold_exactly_the_content() {
        let place = Place::new(&[]);
        for content in ["", "a", "a\n", "a\n\n", "é\r\n", "\u{feff}x"] {
            let said = write(&place, "a/b/f", content).await.unwrap();
            assert_eq!(said, format!("Wrote {} bytes to a/b/f", content.len()));
            assert_eq!(place.get("a/b/f"), content);
            fs::remove_dir_all(place.path("a")).unwrap();
        }
    }

    #[tokio::test]
    async fn what_read_hides_is_put_back() {
        let cases = [
            ("\u{feff}a\n", "b\n", "\u{feff}b\n"),
            ("\u{feff}a\n", "\u{feff}b", "\u{feff}b"),
            ("a\r\nb\r\n", "b\nc", "b\r\nc"),
            ("a\r\nb\r\n", "b\r\nc\r\n", "b\r\nc\r\n"),
            ("\u{feff}a\r\n", "b\n", "\u{feff}b\r\n"),
            ("a\n", "b\r\n", "b\r\n"),
            ("a", "b\n", "b\n"),
        ];
        for (old, new, expected) in cases {
            let place = Place::new(&[("f", old)]);
            write(&place, "f", new).await.unwrap();
            assert_eq!(place.get("f"), expected, "{old:?} {new:?}");
        }
    }

    #[tokio::test]
    async fn the_mode_stays_and_read_only_is_an_error() {
        let place = Place::new(&[("run.sh", "old")]);
        chmod(&place, "run.sh", 0o755);
        write(&place, "run.sh", "new").await.unwrap();
        let meta = fs::metadata(place.path("run.sh")).unwrap();
        assert_eq!(meta.permissions().mode() & 0o7777, 0o755);
        chmod(&place, "run.sh", 0o555);
        let error = failure(write(&place, "run.sh", "newer").await);
        assert_eq!(error, "run.sh is read-only; nothing was written");
        assert_eq!(place.get("run.sh"), "new");
    }

    #[tokio::test]
    async fn a_link_inside_stays_a_link() {
        let place = Place::new(&[("real", "old")]);
        symlink("real", place.path("link")).unwrap();
        write(&place, "link", "new").await.unwrap();
        assert_eq!(place.get("real"), "new");
        assert!(place.path("link").is_symlink());
    }

    #[tokio::test]
    async fn what_cannot_be_written_says_why() {
        let place = Place::new(&[("dir/f", "x")]);
        place.fifo("pipe");
        let cases = [
            ("dir", "dir is a directory"),
            ("", "is a directory"),
            ("pipe", "is not a regular file"),
            ("dir/f/x", "dir/f/x: a part of this path is a file"),
            ("dir/f/x/y", "dir/f/x/y: a part of this path is a file"),
            ("../x", "Path escapes workspace: ../x"),
            ("a\0b", "the path contains a NUL character"),
        ];
        for (path, expected) in cases {
            let error = failure(write(&place, path, "new").await);
            assert!(error.contains(expected), "{error}");
        }
        let long = "n".repeat(300);
        assert!(failure(write(&place, &long, "x").await).starts_with(&long));
        let left = fs::read_dir(place.ws.root()).unwrap().count();
        assert_eq!(left, 2, "debris");
    }

    #[tokio::test]
    async fn a_change_by_somebody_else_is_not_overwritten() {
        let place = Place::new(&[("f", "one\n"), ("unread", "x")]);
        read(&place, "f").await;
        place.put("f", b"two\n");
        let error = failure(write(&place, "f", "three\n").await);
        assert!(error.contains("f was changed by somebody else"), "{error}");
        assert_eq!(place.get("f"), "two\n");
        read(&place, "f").await;
        for content in ["three\n", "four\n"] {
            write(&place, "f", content).await.unwrap();
        }
        // The same bytes written again are no change, nor is a missing file.
        place.put("f", b"four\n");
        write(&place, "f", "five\n").await.unwrap();
        fs::remove_file(place.path("f")).unwrap();
        write(&place, "f", "six\n").await.unwrap();
        write(&place, "unread", "y").await.unwrap();
        place.put("unread", b"z");
        assert!(write(&place, "unread", "y").await.is_err());
    }

    #[tokio::test]
    async fn an_edit_refreshes_only_what_was_fresh() {
        let place = Place::new(&[("f", "one\n")]);
        read(&place, "f").await;
        edit(&place, "f", "one", "two").await;
        write(&place, "f", "three\n").await.unwrap();
        place.put("f", b"three\nunseen\n");
        edit(&place, "f", "three", "four").await;
        let error = failure(write(&place, "f", "five\n").await);
        assert!(error.contains("changed by somebody else"), "{error}");
    }
}
