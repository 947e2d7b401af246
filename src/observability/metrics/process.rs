//! Metrics of the process: whether it is ready, its version, and those that Prometheus clients usually have, under their standard names.
//! The latter need `/proc`, except the start time.

use super::exposition::Exposition;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// `USER_HZ`, the unit of CPU time in `/proc`: 100 on every architecture that Rust supports, independent of the kernel's own tick.
const TICKS: f64 = 100.0;

/// Blocking, but short: it reads files of `/proc`.
pub fn collect(out: &mut Exposition, started: SystemTime, is_ready: bool) {
    let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
    out.gauge("tintype_build_info", "1, labeled with the version.")
        .value(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    out.gauge(
        "tintype_ready",
        "1 while GET /readyz answers 200: the process can accept jobs.",
    )
    .flag(&[], is_ready);
    out.gauge(
        "process_start_time_seconds",
        "Start time of the process in seconds since the Unix epoch.",
    )
    .value(&[], since.as_secs_f64());
    let read = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).ok();
    if let Some(seconds) = read("stat").as_deref().and_then(cpu_seconds) {
        out.counter(
            "process_cpu_seconds_total",
            "CPU time of the process in user and system mode.",
        )
        .value(&[], seconds);
    }
    if let Some(status) = read("status") {
        let mut kilobytes = |name, help, field| {
            if let Some(value) = status_field(&status, field) {
                out.gauge(name, help).value(&[], value * 1_024);
            }
        };
        kilobytes(
            "process_resident_memory_bytes",
            "Resident memory of the process.",
            "VmRSS",
        );
        kilobytes(
            "process_virtual_memory_bytes",
            "Virtual memory of the process.",
            "VmSize",
        );
        if let Some(threads) = status_field(&status, "Threads") {
            out.gauge("process_threads", "Threads of the process.")
                .value(&[], threads);
        }
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        out.gauge("process_open_fds", "Open file descriptors.")
            .value(&[], open.count());
    }
    if let Some(most) = read("limits").as_deref().and_then(max_fds) {
        out.gauge("process_max_fds", "Limit of open file descriptors.")
            .value(&[], most);
    }
}

/// User and system time: fields 14 and 15 of `/proc/self/stat` (proc_pid_stat(5)).
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The second field is a name in parentheses, which may itself hold spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / TICKS)
}

fn status_field(status: &str, name: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let value = line.split_whitespace().next()?;
    value.parse().ok()
}

/// The soft limit in `/proc/self/limits`; `None` if unlimited.
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
    fn cpu_time_is_parsed_after_any_process_name() {
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
    fn this_process_has_metrics() {
        let mut out = Exposition::default();
        collect(&mut out, SystemTime::now(), true);
        let text = out.into_text();
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
