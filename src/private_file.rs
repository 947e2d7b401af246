//! Files with secrets in the data directory. Only their owner can read them, and each is created once, with its whole content.

use nix::fcntl::OFlag;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const GROUP_AND_OTHERS: u32 = 0o077;

/// Do others than the owner have access?
pub fn has_open_mode(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & GROUP_AND_OTHERS != 0
}

/// Reads a file with a secret. `None` if it is missing.
///
/// # Errors
/// The file cannot be read, is not a regular file, or other users have access to it.
pub fn read(directory: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    let path = directory.join(name);
    // Without the flag, a named pipe would block until a process writes to it. It does not change how a regular file is read.
    let flags = OFlag::O_NONBLOCK.bits();
    let mut file = match File::options().read(true).custom_flags(flags).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let refuse = |reason: String| Err(io::Error::other(reason));
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return refuse("it is not a regular file".to_owned());
    }
    if has_open_mode(&metadata) {
        let (mode, path) = (metadata.permissions().mode() & 0o777, path.display());
        return refuse(format!(
            "its mode is {mode:04o}, so other users of this machine have access; run `chmod 600 {path}`, and replace the secret if \
             another user may have read it"
        ));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Reads a file with a secret. Creates a missing one with the bytes of `make`; processes that do so at the same time get the same bytes.
pub fn read_or_create(
    directory: &Path,
    name: &str,
    make: impl FnOnce() -> Vec<u8>,
) -> io::Result<Vec<u8>> {
    if let Some(bytes) = read(directory, name)? {
        return Ok(bytes);
    }
    create_once(directory, name, &make())?;
    read(directory, name)?.ok_or_else(|| {
        io::Error::other(
            "it is a symbolic link to a missing file; restore that file, or remove the link to get a new secret",
        )
    })
}

/// Creates a file with mode 0600 unless it exists; durable when this returns. Returns whether this call has created the file. If
/// not, another process has, and the caller must read its content.
///
/// A hard link gives a complete draft its name: a crash leaves no part of the file, and a link, unlike a rename, never replaces a
/// file that another process has created meanwhile. A crash can leave the draft, which no process reads.
pub fn create_once(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<bool> {
    let suffix = hex::encode(rand::random::<[u8; 8]>());
    let draft = directory.join(format!("{name}.{suffix}.new"));
    let linked = write_draft(&draft, bytes)
        .and_then(|()| fs::hard_link(&draft, directory.join(name)))
        .map(|()| true)
        .or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(false),
            _ => Err(error),
        });
    let removed = fs::remove_file(&draft);
    let created = linked?;
    removed?;
    File::open(directory)?.sync_all()?;
    Ok(created)
}

fn write_draft(draft: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const NAME: &str = "key";

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_private_and_never_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        assert!(create_once(directory.path(), NAME, b"first").unwrap());
        assert!(!create_once(directory.path(), NAME, b"second").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert!(!has_open_mode(&metadata));
        assert_eq!(names(directory.path()), [NAME]);
    }

    #[test]
    fn a_file_that_others_can_access_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        let make = || b"whole".to_vec();
        assert_eq!(read(directory.path(), NAME).unwrap(), None);
        let load = || read_or_create(directory.path(), NAME, make);
        assert_eq!(load().unwrap(), b"whole");
        for mode in [0o640, 0o604, 0o660, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = load().unwrap_err().to_string();
            let command = format!("chmod 600 {}", path.display());
            assert!(error.contains(&command), "{error}");
            assert!(error.contains(&format!("{mode:04o}")), "{error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(load().unwrap(), b"whole");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = load().unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    /// Without a writer, opening a named pipe blocks.
    #[test]
    fn a_named_pipe_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        nix::unistd::mkfifo(&directory.path().join(NAME), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = read(directory.path(), NAME).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_link_to_a_missing_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("missing", directory.path().join(NAME)).unwrap();
        let loaded = read_or_create(directory.path(), NAME, || b"whole".to_vec());
        let error = loaded.unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        assert_eq!(names(directory.path()), [NAME]);
    }

    #[test]
    fn the_draft_of_a_crashed_process_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let drafts = ["key.0000000000000000.new", "key.new"];
        for draft in drafts {
            fs::write(directory.path().join(draft), b"").unwrap();
        }
        assert!(create_once(directory.path(), NAME, b"whole").unwrap());
        assert_eq!(fs::read(directory.path().join(NAME)).unwrap(), b"whole");
        assert_eq!(names(directory.path()), [NAME, drafts[0], drafts[1]]);
    }

    #[test]
    fn a_failed_creation_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        create_once(&directory.path().join("missing"), NAME, b"whole").unwrap_err();
        create_once(directory.path(), "missing/key", b"whole").unwrap_err();
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn concurrent_creators_agree_and_no_reader_sees_a_part() {
        for _ in 0..20 {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(NAME);
            let read_once_there = || loop {
                match fs::read(&path) {
                    Ok(bytes) => break bytes,
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
                }
            };
            let create = |content: [u8; 4096]| {
                let created = create_once(directory.path(), NAME, &content).unwrap();
                (created, fs::read(&path).unwrap())
            };
            let (seen, made) = thread::scope(|scope| {
                let reader = scope.spawn(read_once_there);
                let creators = [1, 2, 3, 4].map(|it| scope.spawn(move || create([it; 4096])));
                let made = creators.map(|it| it.join().unwrap());
                (reader.join().unwrap(), made)
            });
            assert_eq!(seen.len(), 4096);
            assert!(made.iter().all(|(_, content)| *content == seen));
            assert_eq!(made.iter().filter(|(created, _)| *created).count(), 1);
        }
    }
}
