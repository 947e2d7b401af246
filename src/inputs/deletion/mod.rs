//! Deletes the input images of ended jobs, as soon as no backup may need them.

mod kept_inputs;

use crate::objects::ObjectStorage;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use kept_inputs::KeptInputs;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;
use tintype_storage::domain::job::Job;

/// Clones share the kept inputs.
#[derive(Clone)]
pub struct InputDeletion {
    objects: ObjectStorage,
    kept: Arc<KeptInputs>,
}

impl InputDeletion {
    /// For a single process.
    pub fn of_process(objects: ObjectStorage) -> Self {
        Self {
            objects,
            kept: Arc::default(),
        }
    }

    /// For one of several nodes.
    pub fn of_node(objects: ObjectStorage) -> Self {
        Self {
            objects,
            kept: Arc::new(KeptInputs::of_node()),
        }
    }

    /// Call it before an export starts: inputs of jobs that end from now on are kept for an hour, so that a backup can copy the inputs
    /// of all jobs that are live in it.
    pub fn keep_for_export(&self) {
        self.kept.begin(Instant::now());
    }

    /// Deletes the inputs of an ended job, unless they are kept.
    pub fn delete(&self, job: &Job) -> LocalBoxFuture<'static, ()> {
        let objects = self.objects.clone();
        let keys = job.inputs.iter().map(|input| input.key.clone()).collect();
        let keys = self.kept.defer(keys, Instant::now());
        async move { remove(&objects, keys).await }.boxed_local()
    }

    /// Returns the orphaned inputs that may be deleted now. Keeps those that a backup may still copy.
    pub fn defer_orphans(&self, mut inputs: HashSet<String>, now: Instant) -> Vec<String> {
        self.kept.exclude_kept(&mut inputs);
        // Their jobs may have just ended on another node, which then keeps them.
        self.kept.defer(inputs.into_iter().collect(), now)
    }

    /// Deletes the inputs that were kept long enough.
    pub async fn delete_due(&self, now: Instant) {
        remove(&self.objects, self.kept.due(now)).await;
    }
}

async fn remove(objects: &ObjectStorage, keys: Vec<String>) {
    for key in keys {
        if let Err(error) = objects.delete(&key).await {
            tracing::warn!(%key, %error, "could not delete an input of an ended job");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::ObjectError;
    use bytes::Bytes;
    use std::time::Duration;

    #[tokio::test]
    async fn a_node_keeps_orphaned_inputs_that_another_node_may_need_for_a_backup() {
        let directory = tempfile::tempdir().unwrap();
        let objects = ObjectStorage::open_directory(directory.path()).unwrap();
        let (key, now) = ("inputs/a/0.png".to_owned(), Instant::now());
        let orphans = || HashSet::from([key.clone()]);
        let alone = InputDeletion::of_process(objects.clone());
        assert_eq!(alone.defer_orphans(orphans(), now), [key.as_str()]);

        objects.put(&key, Bytes::new(), "image/png").await.unwrap();
        let node = InputDeletion::of_node(objects.clone());
        let minutes = |count: u64| now + Duration::from_secs(60 * count);
        for later in [0, 30, 59] {
            let due = node.defer_orphans(orphans(), minutes(later));
            assert_eq!(due, [""; 0]);
            node.delete_due(minutes(later)).await;
            objects.head(&key).await.unwrap();
        }
        node.delete_due(minutes(60)).await;
        let found = objects.head(&key).await;
        assert!(matches!(found, Err(ObjectError::NotFound { .. })));
    }
}
