//! The rights of the files that a command makes: the data directory is for its owner alone, a picture is for whom the user's
//! umask says.

use nix::sys::stat::{Mode, umask};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::OnceLock;

/// The umask that the process was started with.
static GIVEN: OnceLock<Mode> = OnceLock::new();

/// From here on every file and directory that this process makes is readable by its owner alone.
pub fn make_private() {
    let given = umask(Mode::S_IRWXG | Mode::S_IRWXO);
    GIVEN.get_or_init(|| given);
}

/// Writes a file that the user asked for. A new one gets the rights that the user's umask gives.
pub fn write_for_user(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_new = !path.exists();
    fs::write(path, bytes)?;
    match GIVEN.get() {
        Some(given) if is_new => {
            let mode = 0o666 & !given.bits();
            fs::set_permissions(path, Permissions::from_mode(mode))
        }
        _ => Ok(()),
    }
}
