//! Prompt ids are derived from the job, so that after a restart Tintype finds its prompts on the server without a stored id.
//!
//! Refused alternatives: an id in the job's record needs one more commit per image, before the prompt is sent; a crash between the
//! server's response and that commit would lose an id that the server chose. The number of the job's run is not part of the id,
//! because a graceful stop does not count the run.

use sha2::{Digest, Sha256};
use tintype_actors::ports::GenerationTask;
use uuid::{Builder, Uuid};

/// The prefix separates these hashes from every other use of SHA-256.
const NAMESPACE: &[u8] = b"tintype: the prompt of a job on ComfyUI\0";

/// The id of a task's prompt on `backend`: a UUID of version 8 (RFC 9562, 5.8). `number` counts the task's prompts from 0.
pub fn prompt_id(backend: &str, task: &GenerationTask, number: u32) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(NAMESPACE);
    hash.update(task.job.0.as_bytes());
    hash.update(number.to_be_bytes());
    // A length prefix keeps the concatenation unambiguous.
    for part in [backend, task.model.as_deref().unwrap_or_default()] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}

/// ComfyUI takes 64 bits, but many JSON programs in between keep only 53.
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

    fn task(job: u128, model: Option<&str>) -> GenerationTask {
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
            has_mask: false,
            background: None,
            inputs: Vec::new(),
            progress: Progress::default(),
            cut_off: watch::channel(false).1,
        }
    }

    /// If an update changed the ids, it would not find the prompts of the version before.
    #[test]
    fn the_id_of_a_job_is_the_same_in_every_version() {
        let id = prompt_id("comfy", &task(1, None), 0);
        assert_eq!(id.to_string(), "a8083585-80b0-8d44-9786-cb73228dee8a");
        assert_eq!(id.get_version_num(), 8);
    }

    #[test]
    fn different_prompts_have_different_ids() {
        let ids = [
            prompt_id("comfy", &task(1, None), 0),
            prompt_id("comfy", &task(1, None), 1),
            prompt_id("comfy", &task(2, None), 0),
            prompt_id("comfy", &task(1, Some("xl")), 0),
            prompt_id("comfyx", &task(1, Some("l")), 0),
            prompt_id("other", &task(1, None), 0),
        ];
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert!(ids.iter().all(|id| seed(*id) < 1 << 53));
    }
}
