//! `stream`: server-sent events, which are numbered. There are no partial images.

use super::object::{ResponseObject, Status, is_failure_of_job};
use crate::compat::base64_body::Part;
use crate::compat::dialect::Dialect;
use crate::compat::job_stream::{self, StreamFormat};
use crate::compat::job_waiter::{JobWaiter, WaitOutcome};
use crate::compat::openai::object_ids::image_call_id;
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::response_head::response_head;
use crate::compat::state::CompatState;
use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::json;
use tokio::time::Instant;

/// The number of the first event after those that precede the outcome.
const OUTCOME: u32 = 5;

struct Events {
    state: Data<CompatState>,
    object: ResponseObject,
}

/// # Errors
/// The job fails before anything has been sent.
pub async fn respond(
    state: Data<CompatState>,
    object: ResponseObject,
    waiter: JobWaiter,
    deadline: Instant,
) -> Result<HttpResponse, Refusal> {
    let mut response = response_head(waiter.replayed);
    response.content_type("text/event-stream");
    let events = Events { state, object };
    let body = job_stream::body(events, waiter, deadline).await?;
    Ok(response.body(body))
}

impl StreamFormat for Events {
    fn keep_alive(&self) -> &'static str {
        ": keep-alive\n\n"
    }

    fn first_events(&self) -> String {
        let response = self.object.with_output(Status::InProgress, None);
        let response = format!(r#","response":{response}"#);
        let item = self.object.item("in_progress");
        let item = format!(r#","output_index":0,"item":{item}"#);
        let mut events = String::new();
        for (number, (kind, members)) in (0..).zip([
            ("response.created", &response),
            ("response.in_progress", &response),
            ("response.output_item.added", &item),
        ]) {
            events += &format!("{}{members}{END}", head(kind, number));
        }
        events + &self.call_event("in_progress", 3) + &self.call_event("generating", 4)
    }

    async fn events(
        &self,
        waiter: &mut JobWaiter,
        outcome: WaitOutcome,
    ) -> Result<Vec<Part>, Refusal> {
        let image = match outcome {
            WaitOutcome::Image(image) => image,
            WaitOutcome::Blocked(reason) => return Err(Refusal::new(Kind::Blocked, reason)),
        };
        // Two events contain the image, and each reads the file while it is sent.
        let (first, second) = (waiter.open(&image).await?, waiter.open(&image).await?);
        let job = &self.object.job;
        let ended = self.state.core.store.job(job.account, job.id).await?;
        let object = self.object.with_job(ended.unwrap_or_else(|| job.clone()));
        let mut events = vec![Part::Text(format!(
            r#"{}{},"output_index":0,"item":"#,
            self.call_event("completed", OUTCOME),
            head("response.output_item.done", OUTCOME + 1)
        ))];
        events.extend(object.image_item(&image, first));
        events.push(Part::Text(format!(
            r#"{END}{},"response":"#,
            head("response.completed", OUTCOME + 2)
        )));
        events.extend(object.parts(Some((&image, second))));
        events.push(Part::Text(END.into()));
        Ok(events)
    }

    /// If the job may continue, the event has the member `error`, for which the SDKs raise an exception.
    fn error_event(&self, refusal: &Refusal) -> String {
        if is_failure_of_job(refusal) {
            let response = self.object.failed(refusal.kind, &refusal.message);
            let head = head("response.failed", OUTCOME);
            return format!(r#"{head},"response":{response}{END}"#);
        }
        let mut body = Dialect::OpenAi.body(refusal);
        for name in ["code", "message", "param"] {
            body[name] = body["error"][name].clone();
        }
        body["type"] = "error".into();
        body["sequence_number"] = OUTCOME.into();
        format!("event: error\ndata: {body}\n\n")
    }
}

impl Events {
    /// An event of the item in the output.
    fn call_event(&self, status: &str, number: u32) -> String {
        let head = head(&format!("response.image_generation_call.{status}"), number);
        let id = json!(image_call_id(self.object.job.id));
        format!(r#"{head},"output_index":0,"item_id":{id}{END}"#)
    }
}

/// The end of an event that begins with [`head`].
const END: &str = "}\n\n";

/// An event up to its other members.
fn head(kind: &str, number: u32) -> String {
    format!("event: {kind}\ndata: {{\"type\":\"{kind}\",\"sequence_number\":{number}")
}
