//! Polls the progress and preview of a task: by task id (A1111 from 1.8, Forge), else for the whole server. Notes interruptions by
//! users of the server.

use crate::backends::preview::preview_of_text;
use crate::backends::upstream::{Response, Upstream, blocking};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;
use tintype_actors::ports::Progress;
use tokio::time::{sleep, timeout};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// For one poll: a busy server answers late.
const TIMEOUT: Duration = Duration::from_secs(10);
const BY_TASK: &str = "/internal/progress";
/// The server renders a preview for each poll that asks for one.
const WHOLE: &str = "/sdapi/v1/progress?skip_current_image=true";
const WITH_PREVIEW: &str = "/sdapi/v1/progress?skip_current_image=false";
/// While a page shows the preview, one poll in this many asks for it.
const PREVIEW_EVERY: u32 = 4;

#[derive(Deserialize)]
struct Task {
    active: Option<bool>,
    queued: Option<bool>,
    completed: Option<bool>,
    progress: Option<f64>,
    live_preview: Option<String>,
    /// The next poll sends it back; the server then sends a preview only if it has a newer one.
    id_live_preview: Option<i64>,
}

impl Task {
    /// SD.Next answers for every id, and knows only the tasks of its web page.
    fn is_known(&self) -> bool {
        [self.active, self.queued, self.completed].contains(&Some(true))
    }
}

#[derive(Deserialize)]
struct Whole {
    progress: Option<f64>,
    state: Option<Flags>,
    current_image: Option<String>,
}

#[derive(Deserialize)]
struct Flags {
    interrupted: Option<bool>,
    skipped: Option<bool>,
    /// Batches of the running call; 0 without one.
    job_count: Option<i64>,
    /// Of the job that the flags belong to: the running one, or else the last one.
    #[serde(default, deserialize_with = "job_timestamp")]
    job_timestamp: Option<u64>,
}

/// Reads when a job began, in the server's own form: `"20261127133614"`. The response and the flags of a job have the same value.
pub fn job_timestamp<'de, D: Deserializer<'de>>(source: D) -> Result<Option<u64>, D::Error> {
    let given = Value::deserialize(source)?;
    Ok(given.as_str().and_then(|it| it.parse().ok()))
}

/// The jobs that a user of the server interrupted or skipped, by their `job_timestamp`. The response looks like that of a finished
/// image; only flags of the server differ, and the next job clears them. So they are read during the task and after it. Servers
/// without the flags cannot interrupt.
#[derive(Default)]
pub struct Interruptions {
    jobs: BTreeSet<Option<u64>>,
    /// Has the server reported the task as its running one?
    has_seen_task: bool,
}

impl Interruptions {
    /// Reads the flags once more, after the response, if they can belong to the task.
    pub async fn read_last(&mut self, upstream: &Upstream, alone: bool) {
        if alone || self.has_seen_task {
            self.read(upstream).await;
        }
    }

    async fn read(&mut self, upstream: &Upstream) {
        self.add(whole(upstream, false).await.and_then(|it| it.state));
    }

    fn add(&mut self, flags: Option<Flags>) {
        let is_set = |it: &Flags| it.interrupted == Some(true) || it.skipped == Some(true);
        self.jobs
            .extend(flags.filter(is_set).map(|it| it.job_timestamp));
    }

    /// Without a time of the job, or of an interrupted one, each interruption counts.
    pub fn include(&self, job: Option<u64>) -> bool {
        match job {
            Some(_) => self.jobs.contains(&job) || self.jobs.contains(&None),
            None => !self.jobs.is_empty(),
        }
    }
}

/// Reports the progress of a task, and its interruption, while the returned future is polled. Asks server-wide if the task is the
/// server's only one and the server does not know its id. Stops polling a server that supports neither call.
pub async fn follow(
    upstream: &Upstream,
    task_id: &str,
    alone: bool,
    progress: &Progress,
    interruptions: &mut Interruptions,
) -> Infallible {
    let (mut by_task, mut turn, mut seen) = (true, 0u32, -1);
    loop {
        sleep(POLL_INTERVAL).await;
        // The server renders no preview that no page shows.
        let with_preview = turn == 0 && progress.is_watched();
        turn = match (turn, with_preview) {
            (0, false) => 0,
            (turn, _) => (turn + 1) % PREVIEW_EVERY,
        };
        let reported = match by_task {
            // A queued task has no progress.
            true => match of_task(upstream, task_id, with_preview.then_some(seen)).await {
                Some(it) if it.active == Some(true) => {
                    interruptions.has_seen_task = true;
                    interruptions.read(upstream).await;
                    if it.live_preview.is_some() {
                        seen = it.id_live_preview.unwrap_or(seen);
                    }
                    Some((it.progress, it.live_preview))
                }
                Some(it) if !alone || it.is_known() => Some((None, None)),
                _ => None,
            },
            false => whole(upstream, with_preview).await.map(|it| {
                interruptions.add(it.state);
                (it.progress, it.current_image)
            }),
        };
        match reported {
            Some((fraction, image)) => {
                if let Some(fraction) = fraction {
                    progress.report(fraction as f32);
                }
                if let Some(text) = image.filter(|_| with_preview)
                    && let Some(preview) = blocking(move || preview_of_text(&text)).await
                {
                    progress.show(preview);
                }
            }
            None if by_task && alone => by_task = false,
            None => return std::future::pending().await,
        }
    }
}

/// Is the task running? A1111 and Forge report no tasks without their web page. Then a running task counts as this one if Tintype
/// sends the server one at a time (`alone`), because no page can have sent it.
pub async fn is_active(upstream: &Upstream, task_id: &str, alone: bool) -> bool {
    let words = upstream.for_small_responses();
    let body = question(task_id, None);
    let Ok(Ok(response)) = timeout(TIMEOUT, words.post_json(BY_TASK, body)).await else {
        return false;
    };
    if response.status == 404 && alone {
        let flags = whole(upstream, false).await.and_then(|it| it.state);
        return flags.is_some_and(|it| it.job_count > Some(0));
    }
    read::<Task>(&response).is_some_and(|it| it.active == Some(true))
}

/// `after` requests a preview newer than the one with this id.
async fn of_task(upstream: &Upstream, task_id: &str, after: Option<i64>) -> Option<Task> {
    let body = question(task_id, after);
    let words = upstream.for_small_responses();
    poll(async { words.post_json(BY_TASK, body).await.ok() }).await
}

fn question(task_id: &str, after: Option<i64>) -> Bytes {
    let (id, wanted) = (after.unwrap_or(-1), after.is_some());
    let question = json!({"id_task": task_id, "id_live_preview": id, "live_preview": wanted});
    question.to_string().into()
}

async fn whole(upstream: &Upstream, with_preview: bool) -> Option<Whole> {
    let path = if with_preview { WITH_PREVIEW } else { WHOLE };
    let words = upstream.for_small_responses();
    poll(async { words.get(path).await.ok() }).await
}

async fn poll<T: DeserializeOwned>(question: impl Future<Output = Option<Response>>) -> Option<T> {
    read(&timeout(TIMEOUT, question).await.ok()??)
}

fn read<T: DeserializeOwned>(response: &Response) -> Option<T> {
    let reported = serde_json::from_slice(&response.body).ok()?;
    response.status.is_success().then_some(reported)
}
