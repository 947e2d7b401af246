//! The process as the kernel sees it, under the names that every Prometheus client uses. Empty where there is no `/proc`.

use super::exposition::Exposition;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Parts of a second in which Linux tells the time of a processor to programs (`USER_HZ`): 100 on every architecture that Rust
/// has a tier for, whatever the kernel itself counts in.
const TICKS: f64 = 100.0;

/// Tells them. Reads files of the kernel, so it blocks, if never for long.
pub fn collect(told: &mut Exposition, started: SystemTime) {
    let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
    told.gauge(
        "tintype_build_info",
        "1, with the version of the program as a label.",
    )
    .value(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    told.gauge(
        "process_start_time_seconds",
        "When the process started, in seconds since the Unix epoch.",
    )
    .value(&[], since.as_secs_f64());
    let read = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).ok();
    if let Some(seconds) = read("stat").as_deref().and_then(cpu_seconds) {
        told.counter(
            "process_cpu_seconds_total",
            "Time of processors that the process has taken, in user and system mode.",
        )
        .value(&[], seconds);
    }
    if let Some(status) = read("status") {
        let mut kilobytes = |name, help, field| {
            if let Some(value) = status_field(&status, field) {
                told.gauge(name, help).value(&[], value * 1_024);
            }
        };
        kilobytes(
            "process_resident_memory_bytes",
            "Memory of the process that is in RAM.",
            "VmRSS",
        );
        kilobytes(
            "process_virtual_memory_bytes",
            "Memory that the process has asked for.",
            "VmSize",
        );
        if let Some(threads) = status_field(&status, "Threads") {
            told.gauge("process_threads", "Threads of the process.")
                .value(&[], threads);
        }
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        told.gauge(
            "process_open_fds",
            "File descriptors that are open: files and connections.",
        )
        .value(&[], open.count());
    }
    if let Some(most) = read("limits").as_deref().and_then(max_fds) {
        told.gauge(
            "process_max_fds",
            "File descriptors that the process may open.",
        )
        .value(&[], most);
    }
}

/// User and system time of `/proc/self/stat`: its 14th and 15th fields (proc_pid_stat(5)).
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The second field is a name in parentheses, which may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / TICKS)
}

/// The number of a line of `/proc/self/status`.
fn status_field(status: &str, name: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let value = line.split_whitespace().next()?;
    value.parse().ok()
}

/// The soft limit of open files of `/proc/self/limits`; `None` where there is none.
fn max_fds(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|it| it.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_processors_is_read_past_any_name() {
        let stat = "42 (a ) b) S 1 2 3 4 5 6 7 8 9 10 1250 50 0 0 20 0 9 0 77 1000 10";
        assert_eq!(cpu_seconds(stat), Some(13.0));
        assert_eq!(cpu_seconds("42 (cut off) S 1"), None);
        assert_eq!(cpu_seconds(""), None);
    }

    #[test]
    fn lines_of_status_and_limits_are_found_by_their_names() {
        let status = "Name:\tVmRSS\nVmRSSx:\t1 kB\nVmRSS:\t    5120 kB\nThreads:\t9\n";
        assert_eq!(status_field(status, "Threads"), Some(9));
        assert_eq!(status_field("VmRSS:\t 5120 kB\n", "VmRSS"), Some(5_120));
        assert_eq!(status_field(status, "VmSize"), None);
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n";
        assert_eq!(max_fds(limits), Some(1_024));
        assert_eq!(
            max_fds("Max open files  unlimited  unlimited  files\n"),
            None
        );
    }

    #[test]
    fn this_very_process_has_figures() {
        let mut told = Exposition::default();
        collect(&mut told, SystemTime::now());
        let text = told.into_text();
        if cfg!(target_os = "linux") {
            for name in [
                "process_cpu_seconds_total",
                "process_resident_memory_bytes",
                "process_open_fds",
                "process_threads",
            ] {
                assert!(text.contains(&format!("\n{name} ")), "{name}\n{text}");
            }
        }
    }
}
