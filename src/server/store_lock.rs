//! Which process has the store of a data directory locked.

use super::engine::lock_file;
use crate::config::Config;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// The ids of the processes that have the store locked, each as the process itself sees its id. Empty if the system does not show them,
/// for example because the process runs in another container.
pub fn holders(config: &Config) -> Vec<u32> {
    let Ok(file) = fs::metadata(lock_file(config)) else {
        return Vec::new();
    };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let holders = locks.lines().filter_map(|line| holder(line, file.ino()));
    holders.filter_map(own_id).collect()
}

/// The process in a line of `/proc/locks`, if it has this file locked. Compares no device: some file systems show another one there.
fn holder(line: &str, inode: u64) -> Option<&str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, "FLOCK", _, _, process, file, ..] = fields[..] else {
        return None;
    };
    let locked = file.rsplit(':').next()?.parse();
    (locked == Ok(inode)).then_some(process)
}

/// The id of a process in its own namespace, the innermost one.
fn own_id(process: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let ids = status.lines().find_map(|it| it.strip_prefix("NSpid:"))?;
    ids.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_process_that_has_the_file_locked() {
        let line = "1: FLOCK  ADVISORY  WRITE 7320 fe:00:10470134 0 EOF";
        assert_eq!(holder(line, 10_470_134), Some("7320"));
        assert_eq!(holder(line, 134), None);
        let waiting = "1: -> FLOCK  ADVISORY  WRITE 7321 fe:00:10470134 0 EOF";
        let other = "2: POSIX  ADVISORY  WRITE 7320 fe:00:10470134 0 EOF";
        for line in [waiting, other, "", "FLOCK"] {
            assert_eq!(holder(line, 10_470_134), None, "{line}");
        }
    }
}
