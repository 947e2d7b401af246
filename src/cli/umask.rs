//! The umask of the process. The data directory, backups and exports contain keys and prompts, so only the owner may read them. An
//! image that the user requested gets the mode of the user's umask.

use nix::sys::stat::{Mode, umask};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::OnceLock;

static INHERITED: OnceLock<Mode> = OnceLock::new();

/// Gives new files the mode 0600 and new directories 0700.
pub fn restrict_to_owner() {
    let inherited = umask(Mode::S_IRWXG | Mode::S_IRWXO);
    INHERITED.get_or_init(|| inherited);
}

/// Creates a directory that the user requested, with its missing parents. They get the mode of the inherited umask.
pub fn create_directories_for_user(path: &Path) -> io::Result<()> {
    let is_missing = |it: &&Path| !it.as_os_str().is_empty() && !it.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    fs::create_dir_all(path)?;
    let Some(inherited) = INHERITED.get() else {
        return Ok(());
    };
    let mode = 0o777 & !inherited.bits();
    let mut created = missing.into_iter();
    created.try_for_each(|it| fs::set_permissions(it, Permissions::from_mode(mode)))
}

/// Writes a file that the user requested. A new file gets the mode of the inherited umask.
pub fn write_for_user(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_new = !path.exists();
    if let Err(error) = fs::write(path, bytes) {
        if is_new {
            // A part of the file, such as on a full disk, would look like the file.
            let _ = fs::remove_file(path);
        }
        return Err(error);
    }
    match is_new {
        true => set_mode_for_user(path),
        false => Ok(()),
    }
}

/// Appends to a file that the user requested, in one write, so that an interrupted command leaves no part of `bytes`. A new file gets
/// the mode of the inherited umask.
pub fn append_for_user(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_new = !path.exists();
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(bytes)?;
    match is_new {
        true => set_mode_for_user(path),
        false => Ok(()),
    }
}

fn set_mode_for_user(path: &Path) -> io::Result<()> {
    let Some(inherited) = INHERITED.get() else {
        return Ok(());
    };
    let mode = 0o666 & !inherited.bits();
    fs::set_permissions(path, Permissions::from_mode(mode))
}
