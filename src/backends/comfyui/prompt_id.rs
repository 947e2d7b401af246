//! The ids under which jobs are submitted: derived from the job, so that after a restart the server can be asked for its
//! work without anything having been stored.
//!
//! An id that was kept in the job's record would have to be on the disk before the prompt is sent, one commit more for each
//! picture; one that the server chose would be lost by a crash between its answer and that commit. This one is known before,
//! during and after. Which run of the job asks does not enter, for an orderly stop does not count its runs.

use sha2::{Digest, Sha256};
use tintype_actors::ports::GenerationTask;
use uuid::{Builder, Uuid};

/// What the hash begins with, so that no other use of it gives the same ids.
const NAMESPACE: &[u8] = b"tintype: the prompt of a job on ComfyUI\0";

/// The id of the `go`th prompt, from 0, that `backend` makes for an order: a UUID of version 8 (RFC 9562, 5.8).
pub fn prompt_id(backend: &str, order: &GenerationTask, go: u32) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(NAMESPACE);
    hash.update(order.job.0.as_bytes());
    hash.update(go.to_be_bytes());
    // Each part is led by its length, so that no two spell the same bytes.
    for part in [backend, order.model.as_deref().unwrap_or_default()] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}

/// The seed that goes with an id: ComfyUI takes 64 bits, and programs on the way often no more than 53.
pub fn seed(id: Uuid) -> u64 {
    id.as_u64_pair().1 & ((1 << 53) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tintype_actors::ports::Progress;
    use tintype_storage::domain::aspect_ratio::AspectRatio;
    use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
    use tintype_storage::domain::tier::{Resolution, Tier};
    use tokio::sync::watch;

    fn order(job: u128, model: Option<&str>) -> GenerationTask {
        GenerationTask {
            job: JobId(Uuid::from_u128(job)),
            account: AccountId(Uuid::nil()),
            key: KeyId(Uuid::nil()),
            tier: Tier::Fast,
            model: model.map(str::to_owned),
            prompt: "a fox".into(),
            ratio: AspectRatio::SQUARE,
            resolution: Resolution::K1,
            pixels: (64, 64),
            inputs: Vec::new(),
            progress: Progress::default(),
            cut_off: watch::channel(false).1,
        }
    }

    /// Another id after an update of the program would leave the work of before it unfound.
    #[test]
    fn the_id_of_a_job_is_the_same_in_every_version() {
        let id = prompt_id("comfy", &order(1, None), 0);
        assert_eq!(id.to_string(), "a8083585-80b0-8d44-9786-cb73228dee8a");
        assert_eq!(id.get_version_num(), 8);
    }

    #[test]
    fn whatever_is_another_prompt_has_another_id() {
        let ids = [
            prompt_id("comfy", &order(1, None), 0),
            prompt_id("comfy", &order(1, None), 1),
            prompt_id("comfy", &order(2, None), 0),
            prompt_id("comfy", &order(1, Some("xl")), 0),
            prompt_id("comfyx", &order(1, Some("l")), 0),
            prompt_id("other", &order(1, None), 0),
        ];
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert!(ids.iter().all(|id| seed(*id) < 1 << 53));
    }
}
