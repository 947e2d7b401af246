//! Backups of a service that deletes and replaces objects between and during backups.

use bytes::Bytes;
use futures_util::FutureExt as _;
use std::cell::Cell;
use std::io::Write as _;
use std::sync::Arc;
use tempfile::TempDir;
use tintype::backup::{
    Contents, Manifest, Repository, RestoreOutcome, RestoreTarget, create, restore,
};
use tintype::objects::{ObjectStorage, upload_key};
use tintype_storage::domain::file_batch::UploadedFile;
use tintype_storage::domain::ids::{AccountId, FileId, JobId};
use tintype_storage::domain::job::{Job, JobState, ResultImage};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine as _, commit_and_wait};
use tintype_storage::export;
use tintype_storage::store::tables::{ENDED_JOBS, UPLOADED_FILES};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::testing::samples;
use uuid::Uuid;

const IMAGE: &str = "results/1.png";
const JOB: JobId = JobId(Uuid::from_u128(1));

/// A service and the repository of its backups.
struct Fixture {
    directory: TempDir,
    engine: Arc<MemoryEngine>,
    objects: ObjectStorage,
    repository: Repository,
    backups: Cell<i64>,
    /// The job whose image is deleted during the next backups.
    deleted_since: Cell<Option<JobId>>,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("backups");
        Self {
            engine: Arc::new(MemoryEngine::new()),
            objects: ObjectStorage::open_directory(&directory.path().join("objects")).unwrap(),
            repository: Repository::open(place.to_str().unwrap()).unwrap(),
            directory,
            backups: Cell::new(0),
            deleted_since: Cell::new(None),
        }
    }

    /// Records a job that ended at `ended` with an image of this many bytes.
    fn record_done(&self, ended: i64, bytes: u64) {
        let image = ResultImage {
            key: IMAGE.into(),
            bytes,
            width: 1,
            height: 1,
            backend: None,
        };
        let ended = Timestamp::from_millis(ended);
        let job = Job {
            id: JOB,
            ..samples::job(JobState::Done {
                started_at: ended,
                finished_at: ended,
                image,
            })
        };
        let put = ENDED_JOBS.put(&(job.account, job.id), &job);
        commit_and_wait(&*self.engine, vec![put]).unwrap();
    }

    async fn store_image(&self, content: &'static [u8]) {
        let content = Bytes::from_static(content);
        self.objects.put(IMAGE, content, "image/png").await.unwrap();
    }

    async fn backup(&self, running: bool, kept_since: &dyn Fn() -> i64) -> Manifest {
        let created = self.create(Some(&self.objects), running, kept_since);
        created.await.unwrap()
    }

    async fn create(
        &self,
        objects: Option<&ObjectStorage>,
        running: bool,
        kept_since: &dyn Fn() -> i64,
    ) -> anyhow::Result<Manifest> {
        let mut records = tempfile::tempfile_in(self.directory.path()).unwrap();
        let snapshot = Arc::clone(&self.engine).snapshot().unwrap();
        export::write(snapshot, |block| records.write_all(&block)).unwrap();
        self.backups.set(self.backups.get() + 1);
        let contents = Contents {
            data_dir: None,
            objects,
            kept_since: &|| Timestamp::from_millis(kept_since()),
            is_image_deleted: &|_, job| {
                let is_deleted = self.deleted_since.get() == Some(job);
                async move { is_deleted }.boxed_local()
            },
            is_erased: &|_, _| async { false }.boxed_local(),
            records: &records,
            taken_at: Timestamp::from_millis(self.backups.get()),
            running,
            repair: false,
            say: &|_| {},
        };
        create(&contents, &self.repository).await
    }

    /// The numbers of objects in a backup, deleted objects and missing ones.
    async fn counts(&self, running: bool, kept_since: &dyn Fn() -> i64) -> [u64; 3] {
        let images = self.backup(running, kept_since).await.images.unwrap();
        [images.count, images.expired, images.missing]
    }

    async fn check(&self, manifest: &Manifest) -> RestoreOutcome {
        let target = RestoreTarget {
            engine: Arc::new(MemoryEngine::new()),
            temp_dir: self.directory.path(),
            objects: None,
            skips_damaged: false,
        };
        let checked = restore(&self.repository, manifest, target, &|_| {});
        checked.await.unwrap()
    }
}

#[tokio::test]
async fn a_backup_omits_an_image_that_retention_has_deleted_since_the_last_backup() {
    let fixture = Fixture::new();
    fixture.record_done(100, 2);
    fixture.store_image(b"ab").await;
    assert_eq!(fixture.counts(true, &|| 0).await, [1, 0, 0]);
    assert_eq!(fixture.counts(true, &|| 101).await, [1, 0, 0], "not swept");
    fixture.objects.delete(IMAGE).await.unwrap();
    assert_eq!(fixture.counts(true, &|| 100).await, [1, 0, 0], "lost");
    assert_eq!(fixture.counts(true, &|| 101).await, [0, 1, 0]);
    assert_eq!(fixture.counts(true, &|| 101).await, [0, 1, 0]);
    // Also after the retention was lengthened.
    assert_eq!(fixture.counts(true, &|| 0).await, [0, 1, 0]);
}

#[tokio::test]
async fn a_backup_without_images_does_not_hide_the_copies_of_earlier_backups() {
    let fixture = Fixture::new();
    fixture.record_done(100, 2);
    fixture.store_image(b"ab").await;
    fixture.backup(false, &|| 0).await;
    fixture.create(None, false, &|| 0).await.unwrap();
    // Damaged since.
    fixture.store_image(b"xy").await;
    let backup = fixture.backup(false, &|| 0).await;
    assert_eq!(backup.images.as_ref().unwrap().copied, 0);
    let copy = fixture.repository.objects.get("pictures/results/1.png");
    assert_eq!(copy.await.unwrap(), "ab");
}

#[tokio::test]
async fn a_backup_that_would_not_be_the_newest_is_refused() {
    let fixture = Fixture::new();
    fixture.backups.set(10);
    let ahead = fixture.backup(false, &|| 0).await;
    fixture.backups.set(5);
    let refused = fixture.create(None, false, &|| 0).await.unwrap_err();
    let text = refused.to_string();
    assert!(text.contains(&ahead.id) && text.contains("clock"), "{text}");
    fixture.backups.set(11);
    fixture.create(None, false, &|| 0).await.unwrap();
}

#[tokio::test]
async fn an_image_that_retention_deletes_during_a_backup_is_not_missing() {
    let fixture = Fixture::new();
    fixture.record_done(100, 2);
    let now = Cell::new(99);
    let kept_since = || {
        now.set(now.get() + 1);
        now.get()
    };
    assert_eq!(fixture.counts(true, &kept_since).await, [0, 1, 0]);
    let fixture = Fixture::new();
    fixture.record_done(100, 2);
    assert_eq!(fixture.counts(true, &|| 100).await, [0, 0, 1]);
}

#[tokio::test]
async fn an_image_that_its_owner_deletes_during_a_backup_is_not_missing() {
    let fixture = Fixture::new();
    fixture.record_done(100, 2);
    assert_eq!(fixture.counts(true, &|| 0).await, [0, 0, 1]);
    fixture.deleted_since.set(Some(JOB));
    assert_eq!(fixture.counts(true, &|| 0).await, [0, 1, 0]);
}

#[tokio::test]
async fn an_uploaded_file_that_a_running_service_deletes_is_not_missing() {
    let fixture = Fixture::new();
    let file = UploadedFile {
        id: FileId(Uuid::from_u128(2)),
        account: AccountId(Uuid::from_u128(1)),
        name: "batch.jsonl".into(),
        bytes: 3,
        created_at: Timestamp::from_millis(4),
        expires_at: None,
    };
    let put = UPLOADED_FILES.put(&(file.account, file.id), &file);
    commit_and_wait(&*fixture.engine, vec![put]).unwrap();
    assert_eq!(fixture.counts(true, &|| 0).await, [0, 1, 0]);
    assert_eq!(fixture.counts(false, &|| 0).await, [0, 0, 1]);
    let (key, content) = (upload_key(&file), Bytes::from_static(b"{}\n"));
    fixture.objects.put(&key, content, "").await.unwrap();
    assert_eq!(fixture.counts(true, &|| 0).await, [1, 0, 0]);
}

/// After a restore of an older backup, a job that was live then runs again and stores another image under the same key.
#[tokio::test]
async fn a_backup_does_not_replace_an_image_that_another_backup_needs() {
    let fixture = Fixture::new();
    fixture.record_done(100, 2);
    fixture.store_image(b"ab").await;
    let first = fixture.backup(false, &|| 0).await;
    fixture.record_done(200, 3);
    fixture.store_image(b"abc").await;
    let refused = fixture.create(Some(&fixture.objects), false, &|| 0).await;
    let reason = format!("{:#}", refused.err().unwrap());
    assert!(reason.contains("Use a new backup location"), "{reason}");
    let checked = fixture.check(&first).await;
    assert_eq!(checked.images, 1);
    assert!(checked.damaged.objects.is_empty());
    assert_eq!(checked.wrong_lengths, [""; 0]);
}

#[tokio::test]
async fn an_image_of_another_length_than_recorded_is_left_out_and_reported() {
    let fixture = Fixture::new();
    fixture.record_done(100, 9);
    fixture.store_image(b"ab").await;
    let backup = fixture.backup(false, &|| 0).await;
    let images = backup.images.as_ref().unwrap();
    let fault = format!("{IMAGE} has 2 bytes, but its record says 9");
    assert_eq!(images.damaged_names, [fault]);
    assert_eq!((images.count, images.missing), (0, 1));
    let checked = fixture.check(&backup).await;
    assert_eq!(checked.missing, [IMAGE]);
}
