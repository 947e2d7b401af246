//! The owner of the records. Another user, such as root, must not open them: the server could not open the files that this user would
//! create there, and would not start any more.

use nix::unistd::{Uid, User};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Why this process must not write to a directory that exists, and what to do.
pub fn fault(directory: &Path) -> Option<String> {
    let owner = fs::metadata(directory).ok()?.uid();
    if Uid::effective().as_raw() == owner {
        return None;
    }
    // On some file systems, such as those shared with a virtual machine, every file belongs to the same user. If no file can be created,
    // the caller finds out.
    let created = owner_of_new_file(directory).ok()?;
    (created != owner).then(|| {
        let [owner, own] = [owner, created].map(user_name);
        format!(
            "it belongs to the user {owner}, who could not open the files that {own} would create there; run the command as {owner}: \
             `sudo -u '{owner}' tintype ...`"
        )
    })
}

fn owner_of_new_file(directory: &Path) -> io::Result<u32> {
    let file = tempfile::tempfile_in(directory)?;
    file.metadata().map(|it| it.uid())
}

/// The name of a user, or `#` and the number, which `sudo` accepts too.
fn user_name(uid: u32) -> String {
    let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    user.map_or_else(|| format!("#{uid}"), |it| it.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::chown;

    #[test]
    fn records_of_another_user_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(fault(directory.path()), None);
        assert_eq!(fault(&directory.path().join("missing")), None);
        // Only root can give a directory to another user.
        if chown(directory.path(), Some(4_000_000), None).is_ok() {
            let fault = fault(directory.path()).unwrap();
            assert!(fault.contains("sudo -u '#4000000'"), "{fault}");
        }
    }

    #[test]
    fn a_user_is_named() {
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(4_000_000), "#4000000");
    }
}
