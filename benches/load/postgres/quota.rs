//! Limits processes to a share of a processor with Linux control groups: version 2 if it controls processors, else version 1.
//! Both need root.

use anyhow::Context as _;
use std::fs;
use std::path::{Path, PathBuf};

/// In microseconds.
const PERIOD: u32 = 20_000;

/// A control group.
pub struct Quota {
    group: PathBuf,
}

impl Quota {
    /// Creates a group whose processes together get this share of one processor.
    pub fn new(name: &str, share: f64) -> anyhow::Result<Self> {
        let name = format!("tintype-bench-{}-{name}", std::process::id());
        let quota = (f64::from(PERIOD) * share) as u32;
        let root = Path::new("/sys/fs/cgroup");
        let has_second = fs::read_to_string(root.join("cgroup.controllers"))
            .is_ok_and(|it| it.split_whitespace().any(|it| it == "cpu"));
        let (group, settings) = match has_second {
            true => (
                root.join(name),
                vec![("cpu.max", format!("{quota} {PERIOD}"))],
            ),
            false => (
                root.join("cpu").join(name),
                vec![
                    ("cpu.cfs_period_us", PERIOD.to_string()),
                    ("cpu.cfs_quota_us", quota.to_string()),
                ],
            ),
        };
        fs::create_dir(&group).with_context(|| format!("no group {}", group.display()))?;
        let group = Self { group };
        for (file, value) in settings {
            fs::write(group.group.join(file), value).with_context(|| format!("no {file}"))?;
        }
        Ok(group)
    }

    /// Adds a process with all its threads.
    pub fn add(&self, process: u32) -> anyhow::Result<()> {
        Ok(fs::write(
            self.group.join("cgroup.procs"),
            process.to_string(),
        )?)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // The group is empty once its processes have ended. A leftover group costs nothing.
        drop(fs::remove_dir(&self.group));
    }
}
