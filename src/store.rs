//! Writing files so that nobody, not even after a crash, sees half of one.

use std::{fs, io, io::Write, path::Path};

use tempfile::Builder;

/// Puts `bytes` at `path`: they go to a temporary file in the same folder,
/// onto the disk, and only then take the old file's name. Whatever fails, the
/// old content is still there and the temporary file is not.
///
/// The permission bits of a file that is replaced are kept. Its hard links are
/// not: its other names keep the old content, since only a new file can appear
/// all at once.
///
/// # Errors
/// Any I/O error; the folder must exist.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = new_file_options().tempfile_in(folder)?;
    file.write_all(bytes)?;
    match fs::metadata(path) {
        Ok(old) => file.as_file().set_permissions(old.permissions())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Temporary files are private by default; one that stays must get the same
/// permissions as any other new file.
fn new_file_options() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_new_file_has_the_usual_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, usual) =
            (folder.path().join("ours"), folder.path().join("usual"));
        write_atomic(&ours, b"x").unwrap();
        fs::write(&usual, b"x").unwrap();
        assert_eq!(mode(&ours), mode(&usual));
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.sh");
        fs::write(&path, "old").unwrap();
        for bits in [0o755, 0o600, 0o640] {
            let permissions = fs::Permissions::from_mode(bits);
            fs::set_permissions(&path, permissions).unwrap();
            write_atomic(&path, b"new").unwrap();
            assert_eq!(mode(&path), bits);
            assert_eq!(fs::read(&path).unwrap(), b"new");
        }
    }

    #[test]
    fn a_failure_leaves_no_debris() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("is-a-folder");
        fs::create_dir_all(path.join("inside")).unwrap();
        assert!(write_atomic(&path, b"x").is_err());
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn other_names_of_a_file_keep_the_old_content() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, "old").unwrap();
        fs::hard_link(&path, &other).unwrap();
        write_atomic(&path, b"new").unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"old");
    }
}
