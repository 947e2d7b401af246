//! Polls the progress and preview of a task: by task id (A1111 from 1.8, Forge), else for the whole server.

use crate::backends::preview::preview_of_text;
use crate::backends::upstream::{Response, Upstream, blocking};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
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
}

/// Reports the progress of a task while the returned future is polled. Asks server-wide if the task is the server's only one and the
/// server does not know its id. Stops polling a server that supports neither call.
pub async fn follow(
    upstream: &Upstream,
    task_id: &str,
    alone: bool,
    progress: &Progress,
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
            true => of_task(upstream, task_id, with_preview.then_some(seen))
                .await
                .filter(|it| !alone || it.is_known())
                .map(|it| {
                    if it.live_preview.is_some() {
                        seen = it.id_live_preview.unwrap_or(seen);
                    }
                    let is_active = it.active == Some(true);
                    (
                        it.progress.filter(|_| is_active),
                        it.live_preview.filter(|_| is_active),
                    )
                }),
            false => whole(upstream, with_preview)
                .await
                .map(|it| (it.progress, it.current_image)),
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

/// Is the task running? A1111 and Forge report no tasks without their web page. Then a running task counts as this one if this backend
/// sends one at a time (`alone`), because no page can have sent it.
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

/// Was the last image interrupted or skipped by a user of the server? The response looks like that of a finished image; only these
/// flags differ. Servers without the flags cannot interrupt.
pub async fn was_interrupted(upstream: &Upstream) -> bool {
    let flags = whole(upstream, false).await.and_then(|it| it.state);
    flags.is_some_and(|it| it.interrupted == Some(true) || it.skipped == Some(true))
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
