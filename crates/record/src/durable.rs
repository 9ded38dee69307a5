//! Files that are written whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::{NamedTempFile, TempPath};

/// A full disk or power failure leaves the old content. `mode` holds permissions of a new file, before the umask. A link stays a
/// link, and a pipe or device is written directly.
pub fn durable_write(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
        return write_directly(path, write);
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let permissions =
        existing.map_or_else(|| Permissions::from_mode(mode), |existing| existing.permissions());
    let (file, temporary) = match temporary_beside(&path, permissions) {
        // A file may be writable in a folder that is not.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && path.exists() => {
            return write_directly(&path, write);
        }
        file => file?,
    };
    write_synced(file, write)?;
    temporary.persist(&path)?;
    sync_folder(folder_of(&path));
    Ok(())
}

/// Writes a new file as [`durable_write`] does. Fails with [`io::ErrorKind::AlreadyExists`] if its name is taken.
pub fn durable_create(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let (file, temporary) = temporary_beside(path, Permissions::from_mode(mode))?;
    write_synced(file, write)?;
    temporary.persist_noclobber(path)?;
    sync_folder(folder_of(path));
    Ok(())
}

/// Readers find the whole file or none. It is not synced: a loss costs time only.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let (mut file, temporary) = temporary_beside(path, Permissions::from_mode(0o666))?;
    file.write_all(content)?;
    Ok(temporary.persist(path)?)
}

/// A temporary file beside another, which it may replace. Errors do not name it.
pub fn temporary_beside(path: &Path, permissions: Permissions) -> io::Result<(File, TempPath)> {
    let file =
        tempfile::Builder::new().prefix(".slob-").permissions(permissions).tempfile_in(folder_of(path));
    file.map(NamedTempFile::into_parts).map_err(without_temporary_name)
}

fn write_synced(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut buffered = BufWriter::new(file);
    write(&mut buffered)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

fn write_directly(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    write(&mut file)?;
    file.flush()
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Some file systems can't sync a folder.
pub(crate) fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// A user does not know the temporary file.
fn without_temporary_name(error: io::Error) -> io::Error {
    match error.to_string().rsplit_once(" at path ") {
        Some((message, _)) => io::Error::new(error.kind(), message),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path, text: &str) -> io::Result<()> {
        durable_write(path, 0o600, |file| file.write_all(text.as_bytes()))
    }

    #[test]
    fn an_error_does_not_name_the_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = text(&folder.path().join("none/page.html"), "").unwrap_err();
        let message = error.to_string();
        assert!(message.contains("No such file") && !message.contains(".slob-"), "{message}");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_new_file_replaces_none_and_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let failed = durable_create(&path, 0o600, |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let create = |text: &str| durable_create(&path, 0o600, |file| file.write_all(text.as_bytes()));
        create("first").unwrap();
        assert_eq!(create("second").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }

    #[test]
    fn a_file_is_replaced_whole_through_links_with_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        text(&file, "first").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        text(&link, "second").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        let failed = durable_write(&file, 0o600, |_| Err(io::Error::other("the source broke")));
        assert_eq!((failed.is_err(), fs::read_to_string(&file).unwrap()), (true, "second".to_owned()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file stays");
        text(Path::new("/dev/null"), "gone").unwrap();
    }
}
