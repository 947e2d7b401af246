//! How far a picture is, for servers that tell: by the task's own name (A1111 from 1.8, Forge), else for the server as a whole.

use crate::backends::upstream::{Answer, Upstream};
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
/// Without the parameter a preview is drawn for each question.
const WHOLE: &str = "/sdapi/v1/progress?skip_current_image=true";

/// What is told of a task.
#[derive(Deserialize)]
struct Task {
    active: Option<bool>,
    progress: Option<f64>,
}

/// What is told of the whole server.
#[derive(Deserialize)]
struct Whole {
    progress: Option<f64>,
    state: Option<Flags>,
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
    let mut by_task = true;
    loop {
        sleep(PAUSE).await;
        let told = match by_task {
            // Of a task that waits its turn there is nothing to tell.
            true => of_task(upstream, task)
                .await
                .map(|it| it.progress.filter(|_| it.active == Some(true))),
            false => whole(upstream).await.map(|it| it.progress),
        };
        match told {
            Some(fraction) => {
                if let Some(fraction) = fraction {
                    progress.report(fraction as f32);
                }
            }
            None if by_task && alone => by_task = false,
            None => return std::future::pending().await,
        }
    }
}

/// Is the task the one at work?
pub async fn is_active(upstream: &Upstream, task: &str) -> bool {
    let told = of_task(upstream, task).await;
    told.is_some_and(|it| it.active == Some(true))
}

/// Was the last picture broken off by somebody? It is answered like a finished one, and only this tells. Servers without it
/// have no interruption either.
pub async fn was_interrupted(upstream: &Upstream) -> bool {
    let flags = whole(upstream).await.and_then(|it| it.state);
    flags.is_some_and(|it| it.interrupted == Some(true) || it.skipped == Some(true))
}

async fn of_task(upstream: &Upstream, task: &str) -> Option<Task> {
    let question = json!({"id_task": task, "id_live_preview": -1, "live_preview": false});
    let body = question.to_string().into();
    let words = upstream.for_words();
    asked(async { words.post_json("/internal/progress", body).await.ok() }).await
}

async fn whole(upstream: &Upstream) -> Option<Whole> {
    let words = upstream.for_words();
    asked(async { words.get(WHOLE).await.ok() }).await
}

async fn asked<T: DeserializeOwned>(question: impl Future<Output = Option<Answer>>) -> Option<T> {
    let answer = timeout(PATIENCE, question).await.ok()??;
    let told = serde_json::from_slice(&answer.body).ok()?;
    answer.status.is_success().then_some(told)
}
