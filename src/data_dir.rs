//! The data directory: for its owner alone, because it holds prompts, pictures, password hashes and the keys to secrets.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

/// The rights of the group and of others.
const NOT_THE_OWNER: u32 = 0o077;

/// Makes the directory with mode 0700 if it is not there.
///
/// # Errors
/// Why it cannot be made.
pub fn create(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// What to tell the operator of a directory that others can read; `None` for one that is private.
///
/// It is not changed silently: the operator may have given a group access on purpose.
pub fn warning(path: &Path) -> Option<String> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let is_open = mode & NOT_THE_OWNER != 0;
    is_open.then(|| {
        let path = path.display();
        format!(
            "the data directory `{path}` has mode {mode:04o}, so other users of this machine can read prompts, pictures and \
             password hashes; run `chmod -R go-rwx {path}`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

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
