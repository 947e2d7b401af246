//! What backups, exports and what is made of them hold is for the owner alone.

use nix::sys::stat::{Mode, umask};

/// From here on every file that this process makes is readable by its owner alone, and every directory too.
pub fn make_private() {
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
}
