//! Writes a page of jobs: field by field to its JSON, without the intermediate text of ids, times and amounts.
//!
//! A page has hundreds of fields, and a list is read often. The tests compare it with the JSON of [`ListedJob`](crate::ListedJob).

use crate::job::{Waiting, times_and_error};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::batch_member::BatchMember;
use tintype_storage::domain::job::Job;
use tintype_storage::domain::time::Timestamp;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// Writes an object. A name is one copy with the characters around it.
macro_rules! object {
    ($json:expr, { $first:literal: $value:expr $(, $name:literal: $other:expr)* $(,)? }) => {{
        let json: &mut Vec<u8> = $json;
        json.extend_from_slice(concat!("{\"", $first, "\":").as_bytes());
        $value.write(json);
        $(
            json.extend_from_slice(concat!(",\"", $name, "\":").as_bytes());
            $other.write(json);
        )*
        json.push(b'}');
    }};
}

/// More than most entries take, so that the page is allocated once.
const ENTRY_BYTES: usize = 1_024;

/// The JSON of a page. Its entries are those of [`ListedJob`](crate::ListedJob).
pub struct JobPage {
    json: Vec<u8>,
    is_empty: bool,
}

impl JobPage {
    /// A page for this number of jobs.
    pub fn of(jobs: usize) -> Self {
        let mut json = Vec::with_capacity(ENTRY_BYTES * (jobs + 1));
        json.extend_from_slice(b"{\"data\":[");
        Self {
            json,
            is_empty: true,
        }
    }

    /// `image_url` is a fresh download URL of a finished image, `waiting` the position of a queued job.
    pub fn add<S: AsRef<str>>(
        &mut self,
        job: &Job<S>,
        image_url: Option<&str>,
        waiting: Option<Waiting>,
    ) {
        if !std::mem::take(&mut self.is_empty) {
            self.json.push(b',');
        }
        let (started_at, finished_at, error) = times_and_error(&job.state);
        let custom_id = job.member().map(BatchMember::custom_id);
        object!(&mut self.json, {
            "job_id": job.id.0,
            "status": Word(job.state.as_str()),
            "created_at": job.created_at,
            "started_at": started_at,
            "finished_at": finished_at,
            "result": image_url.map(|it| Image { image_url: it }),
            "error": error.map(Text),
            "queue_position": waiting.map(|it| it.position),
            "estimated_start_at": waiting.and_then(|it| it.starts_at),
            "tier": Word(job.tier.as_str()),
            "mode": Word(job.mode.as_str()),
            "aspect_ratio": Word(job.ratio.as_str()),
            "resolution": Word(job.resolution.as_str()),
            "price": job.price,
            "key_id": job.key.0,
            "batch_id": job.member().map(|it| it.batch.0),
            "custom_id": custom_id.as_deref().map(Text),
        });
    }

    /// `next` is the last id of this page, if another page may follow.
    pub fn end(mut self, next: Option<Uuid>) -> Vec<u8> {
        self.json.extend_from_slice(b"],\"next_cursor\":");
        let cursor = next.map(|id| id.simple().to_string());
        cursor.as_deref().map(Word).write(&mut self.json);
        self.json.push(b'}');
        self.json
    }
}

/// A value of a field.
trait Value {
    fn write(&self, json: &mut Vec<u8>);
}

/// Text that needs no escapes: a word of this service, or one of its ids.
struct Word<'a>(&'a str);

/// Any text.
struct Text<'a>(&'a str);

/// The result of a job.
struct Image<'a> {
    image_url: &'a str,
}

impl Value for Word<'_> {
    #[inline]
    fn write(&self, json: &mut Vec<u8>) {
        json.push(b'"');
        json.extend_from_slice(self.0.as_bytes());
        json.push(b'"');
    }
}

impl Value for Text<'_> {
    fn write(&self, json: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = serde_json::to_writer(json, self.0);
    }
}

impl Value for Image<'_> {
    fn write(&self, json: &mut Vec<u8>) {
        object!(json, { "image_url": Text(self.image_url) });
    }
}

impl Value for Uuid {
    #[inline]
    fn write(&self, json: &mut Vec<u8>) {
        let mut text = [b'"'; 2 + Hyphenated::LENGTH];
        self.hyphenated().encode_lower(&mut text[1..]);
        json.extend_from_slice(&text);
    }
}

impl Value for Timestamp {
    #[inline]
    fn write(&self, json: &mut Vec<u8>) {
        let mut text = [b'"'; 26];
        text[1..25].copy_from_slice(&self.to_ascii());
        json.extend_from_slice(&text);
    }
}

impl Value for Amount {
    fn write(&self, json: &mut Vec<u8>) {
        json.push(b'"');
        self.write_ascii(json);
        json.push(b'"');
    }
}

impl Value for usize {
    fn write(&self, json: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = serde_json::to_writer(json, self);
    }
}

impl<V: Value> Value for Option<V> {
    #[inline]
    fn write(&self, json: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(json),
            None => json.extend_from_slice(b"null"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ListedJob, Page};
    use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
    use tintype_storage::domain::batch_member::InputUrls;
    use tintype_storage::domain::ids::{AccountId, BatchId, JobId, KeyId};
    use tintype_storage::domain::job::{
        FailureKind, JobState, Origin, PromptRef, PromptText, ResultImage,
    };
    use tintype_storage::domain::tier::{Mode, Resolution, Tier};

    const NOW: i64 = 1_795_000_000_001;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(NOW + millis)
    }

    fn states() -> [JobState; 5] {
        let failed = |started_at, error: &str| JobState::Failed {
            started_at,
            finished_at: at(3),
            error: error.into(),
            kind: FailureKind::Blocked,
        };
        [
            JobState::Queued,
            JobState::Processing {
                started_at: at(1),
                runs: 1,
            },
            JobState::Done {
                started_at: at(1),
                finished_at: at(2),
                image: ResultImage {
                    key: "image".into(),
                    bytes: 1,
                    width: 2,
                    height: 3,
                    backend: None,
                },
            },
            failed(None, "expired"),
            failed(Some(at(1)), "the backend said \"no\"\n\u{1}é"),
        ]
    }

    fn origins() -> [Origin; 4] {
        let member = |custom_id: Option<&str>| {
            Origin::Batch(Box::new(BatchMember {
                batch: BatchId(Uuid::from_u128(4)),
                index: 12,
                custom_id: custom_id.map(str::to_owned),
                input_urls: InputUrls::Inline(Vec::new()),
            }))
        };
        let (named, unnamed) = (member(Some("a \"b\" \\")), member(None));
        [Origin::Native, Origin::Synchronous, named, unnamed]
    }

    fn job(number: u128, state: JobState, origin: Origin) -> Job {
        Job {
            id: JobId(Uuid::from_u128(u128::MAX - number)),
            account: AccountId(Uuid::from_u128(2)),
            key: KeyId(Uuid::from_u128(3)),
            tier: Tier::ALL[number as usize % Tier::ALL.len()],
            mode: Mode::TextToImage,
            aspect: AspectChoice::Auto,
            ratio: AspectRatio::ALL[number as usize % AspectRatio::ALL.len()],
            resolution: Resolution::K1,
            prompt: PromptRef::Inline(PromptText::default()),
            callback: None,
            origin,
            inputs: Vec::new(),
            price: "0.134".parse().expect("an amount"),
            created_at: at(number as i64),
            state,
            options: None,
        }
    }

    fn waiting(job: &Job) -> Option<Waiting> {
        let is_queued = matches!(job.state, JobState::Queued);
        is_queued.then(|| Waiting {
            position: 17,
            starts_at: (job.origin == Origin::Native).then(|| at(9)),
        })
    }

    fn assert_is_page(jobs: &[Job], next: Option<Uuid>) {
        let url = |job: &Job| {
            let url = "https://example.com/image?a=\"b\"&c=d";
            job.result_image().map(|_| url.to_owned())
        };
        let mut page = JobPage::of(jobs.len());
        for job in jobs {
            page.add(job, url(job).as_deref(), waiting(job));
        }
        let view = |job| ListedJob::new(job, crate::Job::new(job, url(job), waiting(job)));
        let same = Page::of(
            jobs.iter().map(view).collect(),
            next.map(|id| *id.as_bytes()),
        );
        let expected = serde_json::to_string(&same).expect("JSON");
        assert_eq!(String::from_utf8(page.end(next)).expect("text"), expected);
    }

    #[test]
    fn a_page_is_the_json_of_its_listed_jobs() {
        let kinds = states().into_iter().flat_map(|state| {
            let state = move |origin| (state.clone(), origin);
            origins().into_iter().map(state)
        });
        let numbered = (0..).zip(kinds);
        let jobs: Vec<_> = numbered
            .map(|(number, (state, origin))| job(number, state, origin))
            .collect();
        assert_is_page(&jobs, jobs.last().map(|it| it.id.0));
        assert_is_page(&jobs[..1], None);
        assert_is_page(&[], None);
    }
}
