//! How far a picture is, for servers that tell: by the task's own name (A1111 from 1.8, Forge), else for the server as a whole.

use crate::backends::upstream::{Answer, Upstream};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tintype_actors::progress::Progress;
use tokio::time::{sleep, timeout};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(500);
/// For one question. A server that is busy may take a while.
const PATIENCE: Duration = Duration::from_secs(10);
/// Without the parameter a preview is drawn for each question.
const WHOLE: &str = "/sdapi/v1/progress?skip_current_image=true";

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
            true => of_task(upstream, task).await,
            false => state(upstream).await,
        };
        match told {
            Some(told) => {
                if let Some(fraction) = fraction(&told, by_task) {
                    progress.report(fraction);
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
    told.is_some_and(|it| it["active"] == true)
}

/// Was the last picture broken off by somebody? It is answered like a finished one, and only this tells. Servers without it
/// have no interruption either.
pub async fn was_interrupted(upstream: &Upstream) -> bool {
    let told = state(upstream).await;
    told.is_some_and(|it| it["state"]["interrupted"] == true || it["state"]["skipped"] == true)
}

fn fraction(told: &Value, by_task: bool) -> Option<f32> {
    // Of a task that waits its turn there is nothing to tell.
    if by_task && told["active"] != true {
        return None;
    }
    told["progress"].as_f64().map(|it| it as f32)
}

async fn of_task(upstream: &Upstream, task: &str) -> Option<Value> {
    let question = json!({"id_task": task, "id_live_preview": -1, "live_preview": false});
    asked(async {
        let body = question.to_string().into();
        upstream.post_json("/internal/progress", body).await.ok()
    })
    .await
}

async fn state(upstream: &Upstream) -> Option<Value> {
    asked(async { upstream.get(WHOLE).await.ok() }).await
}

async fn asked(question: impl Future<Output = Option<Answer>>) -> Option<Value> {
    let answer = timeout(PATIENCE, question).await.ok()??;
    let told: Value = serde_json::from_slice(&answer.body).ok()?;
    (answer.status.is_success() && told.is_object()).then_some(told)
}
