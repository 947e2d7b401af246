//! The data directory. Only its owner has access, because it holds prompts, images, password hashes and encryption keys.

use crate::private_file::has_open_mode;
use nix::sys::statvfs::FsFlags;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

/// Exists on a new ext4 volume. Does not count as content.
pub const LOST_AND_FOUND: &str = "lost+found";

/// Creates a missing directory and its missing parents with mode 0700, so that they survive a power cut.
pub fn create(path: &Path) -> io::Result<()> {
    let is_missing = |it: &&Path| !it.as_os_str().is_empty() && !it.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    for created in missing {
        let parent = match created.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        match File::open(parent).and_then(|it| it.sync_all()) {
            // A parent without read permission, as home directories often are, cannot be synced.
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Bytes that an unprivileged process may still write on the file system of this directory.
pub fn free_bytes(path: &Path) -> nix::Result<u64> {
    let disk = nix::sys::statvfs::statvfs(path)?;
    Ok(disk.blocks_available().saturating_mul(disk.fragment_size()))
}

/// Is the file system of this directory read-only? Linux mounts a failing disk so.
pub fn is_read_only(path: &Path) -> bool {
    let disk = nix::sys::statvfs::statvfs(path);
    disk.is_ok_and(|it| it.flags().contains(FsFlags::ST_RDONLY))
}

/// Why the directory cannot be created or used, and what to do.
pub fn fault(path: &Path, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "a file is in its place".to_owned()
        }
        _ => error.to_string(),
    };
    format!(
        "cannot use the data directory {}: {reason}; choose another with --data-dir, or with data_dir in [storage] of the configuration",
        path.display()
    )
}

/// A warning for the operator if other users can read the directory.
///
/// The service does not change the mode: the operator may have granted access to a group on purpose.
pub fn warning(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    has_open_mode(&metadata).then(|| {
        let (path, mode) = (path.display(), metadata.permissions().mode() & 0o777);
        format!(
            "the data directory `{path}` has mode {mode:04o}, so other users of this machine can read prompts, images and \
             password hashes; run `chmod -R go-rwx {path}`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn a_file_at_the_path_of_the_data_directory_is_reported() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        fs::write(&path, b"").unwrap();
        for path in [&path, &path.join("below")] {
            let error = create(path).unwrap_err();
            let fault = fault(path, &error);
            assert!(fault.contains("a file is in its place"), "{fault}");
            assert!(fault.contains("--data-dir"), "{fault}");
        }
    }

    #[test]
    fn a_new_directory_is_private_and_an_open_one_is_warned_about() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new").join("data");
        create(&path).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(warning(&path), None);
        fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
        create(&path).unwrap();
        let warning = warning(&path).unwrap();
        assert!(
            warning.contains("mode 0750") && warning.contains("chmod -R go-rwx"),
            "{warning}"
        );
    }
}
