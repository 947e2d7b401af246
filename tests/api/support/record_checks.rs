//! Checks of a server's records, object store and health.

use super::poll::until_some;
use super::server::Server;
use tintype_storage::engine::Wait as _;
use tintype_storage::verify::{Report, verify};

impl Server {
    /// Waits until every job has ended, then checks every invariant of the records.
    pub fn assert_settled(&self) -> Report {
        let store = &self.inside().store;
        let live_jobs = || {
            let mut live = 0;
            let count = store
                .each_live_job(|_| {
                    live += 1;
                    Ok(())
                })
                .wait();
            count.unwrap();
            live
        };
        let mut live = live_jobs();
        while live > 0 {
            // Many jobs may take longer than one wait, if the machine is busy.
            live = until_some("a job has ended", || {
                let later = live_jobs();
                (later != live).then_some(later)
            });
        }
        audited(self)
    }

    /// Waits until the service counts no live job. A job's end is readable a moment earlier.
    pub fn wait_for_room(&self) {
        super::until("no job counts as live", || {
            self.inside().system.queue().live() == 0
        });
    }

    /// Whether the service has stopped itself after a storage failure.
    pub fn has_failed(&self) -> bool {
        self.inside().fail_stop.has_tripped()
    }

    /// Relative paths of all objects, except the inputs of ended jobs, which nodes keep for an hour.
    pub fn objects_left(&self) -> Vec<String> {
        self.delete_kept_inputs();
        let mut found = Vec::new();
        let mut open = vec![self.objects()];
        while let Some(directory) = open.pop() {
            let Ok(entries) = std::fs::read_dir(&directory) else {
                continue;
            };
            for entry in entries.map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                } else {
                    let path = entry.path();
                    let below = path.strip_prefix(self.objects()).unwrap();
                    found.push(below.display().to_string());
                }
            }
        }
        found.sort();
        found
    }
}

/// Verifies the records of an idle server and panics on a fault.
///
/// A commit that is still being written may break the first read, so a fault fails the test only if it persists.
pub fn audited(server: &Server) -> Report {
    let store = &server.inside().store;
    let mut last = Vec::new();
    let look = || {
        let report = verify(store, |_| {}).unwrap();
        last = report.faults.clone();
        report.faults.is_empty().then_some(report)
    };
    until_some("the records are consistent", look)
}
