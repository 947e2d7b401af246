//! The file system of a directory, for the group commit of local writes.

use std::io;
use std::path::Path as FilePath;
use std::sync::Once;

/// An open file system whose `syncfs` is known to wait for the disk.
pub(super) struct FileSystem {
    pub(super) device: u64,
    /// Makes every write durable. Fails if one was lost since the file system was opened.
    pub(super) sync: Box<dyn FnOnce() -> io::Result<()>>,
}

/// Opens the file system of a directory. `None` if it has no reliable `syncfs`.
pub(super) type OpenFileSystem = Box<dyn Fn(&FilePath) -> Option<FileSystem> + Send + Sync>;

impl FileSystem {
    /// Opens the file system of a directory. The first one without a reliable `syncfs` is logged, because its writes cost more.
    pub(super) fn open(directory: &FilePath) -> Option<Self> {
        static LOGGED: Once = Once::new();
        let opened = Self::with_syncfs(directory);
        if opened.is_none() {
            LOGGED.call_once(|| {
                tracing::info!(
                    directory = %directory.display(),
                    "syncing each image separately: this file system or kernel has no reliable syncfs; ext4, XFS and Btrfs have it since Linux 5.8"
                );
            });
        }
        opened
    }
}

#[cfg(target_os = "linux")]
impl FileSystem {
    /// Others than these may not wait for the disk: FUSE does not forward `syncfs` to its daemon.
    fn with_syncfs(directory: &FilePath) -> Option<Self> {
        use nix::sys::statfs::{BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, fstatfs};
        use std::os::unix::fs::MetadataExt as _;
        if !reports_lost_writes() {
            return None;
        }
        let directory = std::fs::File::open(directory).ok()?;
        let kind = fstatfs(&directory).ok()?.filesystem_type();
        let device = directory.metadata().ok()?.dev();
        [EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC]
            .contains(&kind)
            .then(|| Self {
                device,
                sync: Box::new(move || Ok(nix::unistd::syncfs(&directory)?)),
            })
    }
}

#[cfg(not(target_os = "linux"))]
impl FileSystem {
    fn with_syncfs(_: &FilePath) -> Option<Self> {
        None
    }
}

/// Does `syncfs` of this kernel fail if a write was lost? It does since Linux 5.8.
#[cfg(target_os = "linux")]
fn reports_lost_writes() -> bool {
    static REPORTS: std::sync::LazyLock<bool> =
        std::sync::LazyLock::new(|| is_since_5_8(&kernel_release()));
    *REPORTS
}

/// A sandboxed service has no `/proc/sys` (`ProcSubset=pid` of systemd), so this asks the kernel.
#[cfg(target_os = "linux")]
fn kernel_release() -> String {
    let names = nix::sys::utsname::uname();
    names.map_or_else(
        |_| String::new(),
        |it| it.release().to_string_lossy().into_owned(),
    )
}

#[cfg(target_os = "linux")]
fn is_since_5_8(release: &str) -> bool {
    let mut numbers = release.split(|it: char| !it.is_ascii_digit());
    let mut next = || numbers.next()?.parse::<u32>().ok();
    (next(), next()) >= (Some(5), Some(8))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_that_of_the_running_kernel() {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(kernel_release(), release.trim_end());
    }

    #[test]
    fn groups_need_a_kernel_that_reports_lost_writes() {
        for (release, reports) in [
            ("6.18.44-fc\n", true),
            ("5.10.0-30-amd64", true),
            ("5.8", true),
            ("5.7.19", false),
            ("4.19.0-27-amd64", false),
            ("", false),
        ] {
            assert_eq!(is_since_5_8(release), reports, "{release:?}");
        }
    }
}
