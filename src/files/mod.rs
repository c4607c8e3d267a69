//! The file tools, and the workspace that none of their paths may leave.
//!
//! The tools that write do blocking I/O inside `async` functions: files are
//! small and disks are fast next to a model, and an operation that is never
//! suspended cannot be cancelled half-way. What only reads may take long, and
//! goes aside.

mod content;
mod edit;
mod glob;
mod hint;
mod line;
mod read;
mod write;

pub use edit::{EDIT_DESCRIPTION, EditFile, edit_file};
pub use glob::{GLOB_DESCRIPTION, Glob, glob};
pub use read::{READ_DESCRIPTION, ReadFile, read_file};
pub use write::{WRITE_DESCRIPTION, WriteFile, write_file};

use std::{
    collections::HashMap,
    fs::{self, File, Metadata},
    io::{self, ErrorKind},
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, anyhow, bail, ensure};

use crate::tool::Tool;

/// The file tools of this workspace.
pub fn tools(ws: &Workspace) -> [Tool; 4] {
    [
        Tool::new("read_file", READ_DESCRIPTION, ws.clone(), read_file),
        Tool::new("write_file", WRITE_DESCRIPTION, ws.clone(), write_file),
        Tool::new("edit_file", EDIT_DESCRIPTION, ws.clone(), edit_file),
        Tool::new("glob", GLOB_DESCRIPTION, ws.clone(), glob),
    ]
}

/// The folder that an agent works in, and what it knows of the files there.
///
/// Clones share that knowledge. Agents that do not share a conversation should
/// each open a workspace of their own: what one has read, another has not.
#[derive(Clone)]
pub struct Workspace(Arc<Inner>);

struct Inner {
    root: PathBuf,
    known: Mutex<HashMap<PathBuf, u64>>,
}

impl Workspace {
    /// Opens the folder at `path`.
    ///
    /// # Errors
    /// When there is no such folder or it cannot be reached.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        ensure_folder(path)?;
        let root = path
            .canonicalize()
            .with_context(|| format!("workspace {}", path.display()))?;
        let known = Mutex::default();
        Ok(Self(Arc::new(Inner { root, known })))
    }

    /// The folder, with all symbolic links resolved.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Where `path`, relative to the workspace or absolute, really lies. What
    /// does not exist yet cannot have its links resolved; the deepest folder
    /// on the way that does exist decides.
    ///
    /// This guards against mistakes. It is not a sandbox: `bash` can go
    /// anywhere, and a link may be swapped between this check and the use.
    ///
    /// # Errors
    /// When that place is outside, or a symbolic link leads nowhere.
    pub fn resolve(&self, path: &str) -> anyhow::Result<PathBuf> {
        ensure_folder(self.root())?;
        ensure!(!path.contains('\0'), "the path contains a NUL character");
        let escapes = format!("Path escapes workspace: {path}");
        ensure!(!path.starts_with("~/"), "{escapes} (`~` is not expanded)");
        // Through `components`, because `link/` would look behind the link.
        let full: PathBuf = self.root().join(path).components().collect();
        let exists = |path: &&Path| path.symlink_metadata().is_ok();
        let anchor = full.ancestors().find(exists).context("no root folder")?;
        let rest = full.strip_prefix(anchor)?;
        let Ok(real) = anchor.canonicalize() else {
            bail!("{escapes} (a symbolic link that leads nowhere)");
        };
        ensure!(real.starts_with(self.root()), escapes);
        let climbs = rest.components().any(|part| part == Component::ParentDir);
        ensure!(
            !climbs,
            "{escapes} (`..` behind a folder that does not exist, so nobody knows \
             where it leads)"
        );
        Ok(real.components().chain(rest.components()).collect())
    }

    /// Content hashes of the files that were read or written here, by path. Who
    /// changes a file keeps the lock meanwhile, so that two agents that share
    /// the workspace cannot overwrite each other's edit.
    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// # Errors
/// When `path` is no folder; the message says what it is instead.
pub fn ensure_folder(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let meta = fs::metadata(path)
        .with_context(|| format!("cannot use the workspace folder {shown}"))?;
    ensure!(meta.is_dir(), "the workspace {shown} is not a folder");
    Ok(())
}

/// The regular file at `path`, or `None` if there is nothing. Opening a pipe
/// or a device could wait for ever. `name` is what the model called it.
fn regular_file(path: &Path, name: &str) -> anyhow::Result<Option<Metadata>> {
    let meta = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| explain(name, &error))?,
    };
    ensure!(
        !meta.is_dir(),
        "{name} is a directory; use glob to see the files in it"
    );
    ensure!(
        meta.is_file(),
        "{name} is not a regular file but a pipe, a socket or a device"
    );
    Ok(Some(meta))
}

/// Runs work on files that may take long on a thread of its own. There it
/// cannot keep Ctrl-C waiting: the turn is dropped, and the work ends unseen.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await?
}

fn open(path: &Path, name: &str) -> anyhow::Result<File> {
    if regular_file(path, name)?.is_none() {
        let file = Path::new(name).file_name().unwrap_or_default().display();
        bail!("{name}: no such file; look for it with glob, such as **/{file}");
    }
    File::open(path).map_err(|error| explain(name, &error))
}

/// Names the file as the model knows it: the error itself may speak of a
/// temporary file.
fn explain(name: &str, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::PermissionDenied => anyhow!("{name}: permission denied"),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            anyhow!("{name}: a part of this path is a file, not a folder")
        }
        _ if error.raw_os_error().is_some() => anyhow!("{name}: {error}"),
        kind => anyhow!("{name}: {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// A workspace folder with files in it, and what is around it.
    pub(super) struct Place {
        pub(super) outer: TempDir,
        pub(super) ws: Workspace,
    }

    impl Place {
        pub(super) fn new(files: &[(&str, &str)]) -> Self {
            let outer = tempfile::tempdir().unwrap();
            let root = outer.path().join("ws");
            fs::create_dir(&root).unwrap();
            let ws = Workspace::open(&root).unwrap();
            let place = Self { outer, ws };
            for (name, text) in files {
                place.put(name, text.as_bytes());
            }
            place
        }

        pub(super) fn path(&self, name: &str) -> PathBuf {
            self.ws.root().join(name)
        }

        pub(super) fn put(&self, name: &str, bytes: &[u8]) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }

        pub(super) fn get(&self, name: &str) -> String {
            fs::read_to_string(self.path(name)).unwrap()
        }

        pub(super) fn fifo(&self, name: &str) {
            let made =
                std::process::Command::new("mkfifo").arg(self.path(name)).status();
            assert!(made.unwrap().success());
        }
    }

    /// The text of an error, for `contains`.
    pub(super) fn failure<T>(result: anyhow::Result<T>) -> String {
        match result {
            Ok(_) => panic!("should have failed"),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn paths_inside_resolve() {
        let place = Place::new(&[("src/main.rs", "x")]);
        symlink("src", place.path("inner")).unwrap();
        let inside = place.path("src/main.rs");
        let absolute = inside.to_str().unwrap();
        let same = ["src/main.rs", "./src//main.rs", "inner/main.rs", absolute];
        for path in same.iter().chain(&["src/../src/main.rs", "src/main.rs/"]) {
            assert_eq!(place.ws.resolve(path).unwrap(), inside, "{path}");
        }
        for path in ["new.txt", "a/b/c.txt", "src/new.rs", "src/main.rs/x", ".."] {
            let resolved = place.ws.resolve(path);
            match path {
                ".." => assert!(resolved.is_err()),
                _ => assert_eq!(resolved.unwrap(), place.path(path)),
            }
        }
        assert_eq!(place.ws.resolve("").unwrap(), place.ws.root());
        assert_eq!(place.ws.resolve(".").unwrap(), place.ws.root());
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        let place = Place::new(&[("src/main.rs", "x")]);
        let outer = place.outer.path();
        fs::create_dir(outer.join("ws-sibling")).unwrap();
        fs::create_dir(outer.join("other")).unwrap();
        fs::write(outer.join("other/secret"), "x").unwrap();
        symlink(outer.join("other"), place.path("out")).unwrap();
        symlink(outer.join("other/secret"), place.path("file")).unwrap();
        symlink(outer.join("other/new"), place.path("dangling")).unwrap();
        symlink("nowhere", place.path("dangling-inside")).unwrap();
        symlink("loop", place.path("loop")).unwrap();
        let sibling = outer.join("ws-sibling/x");
        let cases = [
            "..",
            "../x",
            "src/../../x",
            "/etc/passwd",
            "/",
            sibling.to_str().unwrap(),
            "new/../../x",
            "new/../src/main.rs",
            "src/new/../../../x",
            "out",
            "out/",
            "out/secret",
            "out/new/file",
            "out/../x",
            "file",
            "dangling",
            "dangling/",
            "dangling/x",
            "dangling-inside",
            "loop",
            "loop/x",
            "~/x",
        ];
        for path in cases {
            let error = failure(place.ws.resolve(path));
            let expected = format!("Path escapes workspace: {path}");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn a_workspace_may_be_reached_through_a_link() {
        let place = Place::new(&[("a.txt", "x")]);
        let link = place.outer.path().join("link");
        symlink(place.ws.root(), &link).unwrap();
        let ws = Workspace::open(&link).unwrap();
        assert_eq!(ws.root(), place.ws.root());
        for name in ["a.txt", "new/b.txt"] {
            let through_link = link.join(name);
            let resolved = ws.resolve(through_link.to_str().unwrap());
            assert_eq!(resolved.unwrap(), place.path(name));
        }
    }

    #[test]
    fn what_is_no_folder_cannot_be_opened() {
        let place = Place::new(&[("a.txt", "x")]);
        let error = failure(Workspace::open(&place.path("a.txt")));
        assert!(error.ends_with("a.txt is not a folder"), "{error}");
        let error = failure(Workspace::open(&place.path("none")));
        assert!(error.contains("none: No such file"), "{error}");
        let ws = place.ws.clone();
        drop(place);
        let error = failure(ws.resolve("a.txt"));
        assert!(error.starts_with("cannot use the workspace folder"), "{error}");
    }

    #[test]
    fn errors_name_the_path_of_the_model() {
        let error = |kind| explain("a/b", &io::Error::new(kind, "/tmp/.tmpX1"));
        let denied = error(ErrorKind::PermissionDenied).to_string();
        assert_eq!(denied, "a/b: permission denied");
        let full = error(ErrorKind::StorageFull).to_string();
        assert_eq!(full, "a/b: no storage space");
    }
}
