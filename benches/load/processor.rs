//! Processor time of the servers under load.

use std::time::Duration;

/// Processor time of a process and its descendants.
pub fn time_of(process: u32) -> anyhow::Result<Duration> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let stat = std::fs::read_to_string(entry?.path().join("stat")).unwrap_or_default();
        found.extend(Stat::read(&stat));
    }
    let mut of_it = vec![process];
    let mut ticks = 0;
    while let Some(one) = of_it.pop() {
        of_it.extend(found.iter().filter(|it| it.parent == one).map(|it| it.id));
        ticks += found
            .iter()
            .filter(|it| it.id == one)
            .map(|it| it.ticks)
            .sum::<u64>();
    }
    Ok(Duration::from_millis(ticks * 10))
}

/// The fields of `/proc/[pid]/stat` in use.
struct Stat {
    id: u32,
    parent: u32,
    /// Processor time in hundredths of a second, the unit of the file whatever the kernel's tick.
    ticks: u64,
}

impl Stat {
    fn read(text: &str) -> Option<Self> {
        let (before_name, after_name) = text.rsplit_once(')')?;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        Some(Self {
            id: before_name.split_once(' ')?.0.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            ticks: fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?,
        })
    }
}
