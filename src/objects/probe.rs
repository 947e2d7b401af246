//! Checks whether the store can be used, for `/readyz` and the metrics.

use super::backend::StoreKind;
use super::error::StoreFault;
use super::{FAULT_TARGET, ObjectError, ObjectStorage, key, temp_cleanup};
use bytes::Bytes;
use chrono::Utc;
use futures_util::stream::StreamExt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tintype_imaging::ImageKind;
use tintype_storage::domain::ids::JobId;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long [`ObjectStorage::recent_probe`] shares an outcome.
pub(super) const PROBE_LIFETIME: Duration = Duration::from_secs(1);

/// While probes fail for the same reason, the log has a line this often.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// No other object has this prefix.
const PROBE_PREFIX: &str = "tintype-probe";

/// Bytes that a probe of a bucket writes at most, so that a slow link takes them within [`PROBE_TIMEOUT`], and a bucket that refuses
/// only large objects stays usable for others.
const MAX_CLOUD_BYTES: usize = 256 << 10;

/// The same for a local directory, whose disk may have room for small files only.
const MAX_LOCAL_BYTES: usize = 16 << 20;

#[derive(Default)]
pub(super) struct Probes {
    /// Locked while a probe runs.
    pub(super) last: Arc<Mutex<LastProbe>>,
    /// Did the last probe fail? Can be read while the next one runs.
    failed: AtomicBool,
    /// Bytes of the last object that the store refused, bounded, until it takes as many; else 0.
    refused_bytes: AtomicUsize,
}

impl Probes {
    /// Records that the store has taken a result of this length.
    pub(super) fn report_write(&self, bytes: usize) {
        let refused = self.refused_bytes.load(Ordering::Relaxed);
        if refused != 0 && bytes >= refused {
            // Unless another write was refused meanwhile.
            let to = &self.refused_bytes;
            let _ = to.compare_exchange(refused, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct LastProbe {
    pub(super) outcome: Option<(Instant, Result<(), &'static str>)>,
    /// The failure that was logged last since the store could be used.
    logged: Option<(Instant, &'static str)>,
}

impl LastProbe {
    /// Records an outcome. Returns whether to log it: a new reason at once, the same one once a minute.
    fn record(&mut self, outcome: Result<(), &'static str>, now: Instant) -> bool {
        self.outcome = Some((now, outcome));
        let Err(reason) = outcome else {
            self.logged = None;
            return false;
        };
        let is_known = self
            .logged
            .is_some_and(|(at, logged)| logged == reason && now - at < LOG_INTERVAL);
        if !is_known {
            self.logged = Some((now, reason));
        }
        !is_known
    }
}

impl ObjectStorage {
    /// Checks the store: writes a small file to a local directory, which detects a full disk before
    /// an image is lost; lists a cloud's bucket and signs a URL with the credentials, because not all
    /// credentials can sign. After a [refused write](Self::report_refused_write), also writes an object.
    /// Waits at most 5 s for each.
    ///
    /// # Errors
    /// `Files`; `MissingBucket`; `Store`.
    pub async fn probe(&self) -> Result<(), ObjectError> {
        let outcome = match &self.inner.backend.kind {
            StoreKind::Local { root, .. } => {
                let written = timeout(PROBE_TIMEOUT, temp_cleanup::try_to_write(root)).await;
                let written = written.unwrap_or_else(|_| {
                    let message = "no response within 5 seconds";
                    Err(io::Error::new(io::ErrorKind::TimedOut, message))
                });
                let action = "cannot write to the object directory";
                written.map_err(ObjectError::files(action, root))
            }
            StoreKind::Cloud { .. } => {
                let probe = timeout(PROBE_TIMEOUT, self.probe_cloud()).await;
                probe.unwrap_or_else(|_| {
                    Err(self.fault("listing", PROBE_PREFIX, "no response within 5 seconds"))
                })
            }
        };
        let outcome = match outcome {
            Ok(()) => self.repeat_refused_write().await,
            Err(error) => Err(error),
        };
        let failed = &self.inner.probes.failed;
        failed.store(outcome.is_err(), Ordering::Relaxed);
        outcome
    }

    /// Could the last probe use the store, and was no write refused since then? True before the first one.
    pub fn is_usable(&self) -> bool {
        let Probes {
            failed,
            refused_bytes,
            ..
        } = &self.inner.probes;
        !failed.load(Ordering::Relaxed) && refused_bytes.load(Ordering::Relaxed) == 0
    }

    /// Records that the store refused an object of this length, also after repetitions. A bucket may answer a list and refuse every
    /// write, and a disk may have room for small files only.
    pub fn report_refused_write(&self, bytes: usize) {
        let refused = &self.inner.probes.refused_bytes;
        let max = match self.is_local() {
            true => MAX_LOCAL_BYTES,
            false => MAX_CLOUD_BYTES,
        };
        refused.store(bytes.clamp(1, max), Ordering::Relaxed);
    }

    /// After a refused write, writes and deletes an object among the results, because the permissions of a bucket may differ between
    /// prefixes.
    async fn repeat_refused_write(&self) -> Result<(), ObjectError> {
        let bytes = self.inner.probes.refused_bytes.load(Ordering::Relaxed);
        if bytes == 0 {
            return Ok(());
        }
        // No job has this id. The next write replaces an object that cannot be deleted.
        let key = key::result_key(JobId(Uuid::nil()), None, ImageKind::Png);
        let write = async {
            let content = Bytes::from(vec![0; bytes]);
            self.put(&key, content, "application/octet-stream").await?;
            let _ = self.delete(&key).await;
            Ok(())
        };
        let written = timeout(PROBE_TIMEOUT, write).await;
        written.unwrap_or_else(|_| {
            let error = self.fault("writing", &key, "no response within 5 seconds");
            Err(error.with_cause(StoreFault::TooSlow))
        })
    }

    /// The outcome of a probe that is at most a second old. Callers share it and wait for a probe in progress, because each probe writes
    /// a file or costs a call of the bucket. The probe ends even if its caller disconnects.
    ///
    /// # Errors
    /// The reason, for callers. The log has the error.
    pub async fn recent_probe(&self) -> Result<(), &'static str> {
        let mut last = Arc::clone(&self.inner.probes.last).lock_owned().await;
        if let Some((at, outcome)) = last.outcome
            && at.elapsed() < PROBE_LIFETIME
        {
            return outcome;
        }
        let objects = self.clone();
        let probe = tokio::spawn(async move {
            let outcome = objects.probe().await;
            let reason = outcome.as_ref().map(drop).map_err(ObjectError::reason);
            if last.record(reason, Instant::now())
                && let Err(error) = outcome
            {
                tracing::warn!(target: FAULT_TARGET, %error, "not ready");
            }
            reason
        });
        let outcome = probe.await;
        outcome.unwrap_or(Err("the object store cannot be used"))
    }

    async fn probe_cloud(&self) -> Result<(), ObjectError> {
        // A prefix without objects keeps the response short for every bucket.
        if let Some(Err(fault)) = self.list(PROBE_PREFIX).next().await {
            return Err(fault);
        }
        let key = format!("{PROBE_PREFIX}/url");
        let signed = self
            .presign(&key, Utc::now(), Duration::from_secs(60))
            .await;
        let cause = |error: ObjectError| error.with_cause(StoreFault::CannotSign);
        signed.map(drop).map_err(cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_logged_when_its_reason_changes_and_once_a_minute() {
        let mut last = LastProbe::default();
        let start = Instant::now();
        let mut is_logged =
            |seconds, outcome| last.record(outcome, start + Duration::from_secs(seconds));
        assert!(is_logged(0, Err("unreachable")));
        assert!(!is_logged(1, Err("unreachable")));
        assert!(is_logged(2, Err("access denied")));
        assert!(!is_logged(61, Err("access denied")));
        assert!(is_logged(62, Err("access denied")));
        assert!(!is_logged(121, Err("access denied")));
        assert!(!is_logged(121, Ok(())));
        assert!(is_logged(121, Err("access denied")), "a new outage");
    }
}
