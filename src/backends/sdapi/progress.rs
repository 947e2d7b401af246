//! How far a picture is, and how it looks by now, for servers that tell: by the task's own name (A1111 from 1.8, Forge), else for the server as a whole.

use crate::backends::preview::preview_of_text;
use crate::backends::upstream::{Answer, Upstream, blocking};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::convert::Infallible;
use std::time::Duration;
use tintype_actors::ports::Progress;
use tokio::time::{sleep, timeout};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(500);
/// For one question. A server that is busy may take a while.
const PATIENCE: Duration = Duration::from_secs(10);
/// The server draws a preview for each question that asks for one.
const WHOLE: &str = "/sdapi/v1/progress?skip_current_image=true";
const WITH_PREVIEW: &str = "/sdapi/v1/progress?skip_current_image=false";
/// Questions between two that ask for a preview, while a page shows it.
const PREVIEW_EVERY: u32 = 4;

/// What is told of a task.
#[derive(Deserialize)]
struct Task {
    active: Option<bool>,
    progress: Option<f64>,
    live_preview: Option<String>,
    /// Asked with it, the server sends a preview only if it has another one.
    id_live_preview: Option<i64>,
}

/// What is told of the whole server.
#[derive(Deserialize)]
struct Whole {
    progress: Option<f64>,
    state: Option<Flags>,
    current_image: Option<String>,
}

/// What somebody has done to the last picture.
#[derive(Deserialize)]
struct Flags {
    interrupted: Option<bool>,
    skipped: Option<bool>,
}

/// Reports the progress of a task, for as long as it is polled. A server that tells none is asked twice and left alone.
pub async fn follow(
    upstream: &Upstream,
    task: &str,
    alone: bool,
    progress: &Progress,
) -> Infallible {
    let (mut by_task, mut turn, mut seen) = (true, 0u32, -1);
    loop {
        sleep(PAUSE).await;
        // A server is never asked to draw what no page shows.
        let with_preview = turn == 0 && progress.is_watched();
        turn = match (turn, with_preview) {
            (0, false) => 0,
            (turn, _) => (turn + 1) % PREVIEW_EVERY,
        };
        let told = match by_task {
            // Of a task that waits its turn there is nothing to tell.
            true => of_task(upstream, task, with_preview.then_some(seen))
                .await
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
        match told {
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

/// Is the task the one at work?
pub async fn is_active(upstream: &Upstream, task: &str) -> bool {
    let told = of_task(upstream, task, None).await;
    told.is_some_and(|it| it.active == Some(true))
}

/// Was the last picture broken off by somebody? It is answered like a finished one, and only this tells. Servers without it
/// have no interruption either.
pub async fn was_interrupted(upstream: &Upstream) -> bool {
    let flags = whole(upstream, false).await.and_then(|it| it.state);
    flags.is_some_and(|it| it.interrupted == Some(true) || it.skipped == Some(true))
}

/// `after` is the id of the last preview, where the next one is wanted.
async fn of_task(upstream: &Upstream, task: &str, after: Option<i64>) -> Option<Task> {
    let (id, wanted) = (after.unwrap_or(-1), after.is_some());
    let question = json!({"id_task": task, "id_live_preview": id, "live_preview": wanted});
    let body = question.to_string().into();
    let words = upstream.for_words();
    asked(async { words.post_json("/internal/progress", body).await.ok() }).await
}

async fn whole(upstream: &Upstream, with_preview: bool) -> Option<Whole> {
    let path = if with_preview { WITH_PREVIEW } else { WHOLE };
    let words = upstream.for_words();
    asked(async { words.get(path).await.ok() }).await
}

async fn asked<T: DeserializeOwned>(question: impl Future<Output = Option<Answer>>) -> Option<T> {
    let answer = timeout(PATIENCE, question).await.ok()??;
    let told = serde_json::from_slice(&answer.body).ok()?;
    answer.status.is_success().then_some(told)
}
