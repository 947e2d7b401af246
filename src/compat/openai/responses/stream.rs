//! `stream`: server-sent events, which are numbered. There are no partial images.

use super::object::{ResponseObject, Status, is_failure_of_job};
use crate::compat::base64_body::{self, Part};
use crate::compat::dialect::Dialect;
use crate::compat::job_stream::{self, StreamFormat};
use crate::compat::jobs::job_waiter::{JobWaiter, WaitOutcome};
use crate::compat::openai::object_ids::image_call_id;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use actix_web::web::Data;
use serde_json::{Value, json};

/// The number of the first event after those that precede the outcome.
const OUTCOME: u32 = 5;

pub struct Events {
    pub state: Data<CompatState>,
    pub object: ResponseObject,
}

impl StreamFormat for Events {
    fn first_events(&self) -> String {
        let response = json!({"response": self.object.body(Status::InProgress, [])});
        let item = json!({"output_index": 0, "item": self.object.item("in_progress")});
        event("response.created", 0, response.clone())
            + &event("response.in_progress", 1, response)
            + &event("response.output_item.added", 2, item)
            + &self.call_event("in_progress", 3)
            + &self.call_event("generating", 4)
    }

    async fn events(
        &self,
        waiter: &mut JobWaiter,
        outcome: WaitOutcome,
    ) -> Result<Vec<Part>, Refusal> {
        let image = outcome.image()?;
        // Two events contain the image, and each reads the file while it is sent.
        let (first, second) = (waiter.open(&image).await?, waiter.open(&image).await?);
        let job = &self.object.job;
        let ended = self.state.core.store.job(job.account, job.id).await?;
        let object = self.object.with_job(ended.unwrap_or_else(|| job.clone()));
        let item = object.image_item(&image, first.has_alpha);
        let item = json!({"output_index": 0, "item": item});
        let response = json!({"response": object.completed(&image, second.has_alpha)});
        let events = self.call_event("completed", OUTCOME)
            + &event("response.output_item.done", OUTCOME + 1, item)
            + &event("response.completed", OUTCOME + 2, response);
        Ok(base64_body::parts(&events, [first, second]))
    }

    /// If the job may continue, the event has the member `error`, for which the SDKs raise an exception.
    fn error_event(&self, refusal: &Refusal) -> String {
        if is_failure_of_job(refusal) {
            let response = self.object.failed(refusal.kind, &refusal.message);
            return event("response.failed", OUTCOME, json!({"response": response}));
        }
        let mut body = Dialect::OpenAi.body(refusal);
        for name in ["code", "message", "param"] {
            body[name] = body["error"][name].clone();
        }
        event("error", OUTCOME, body)
    }
}

impl Events {
    /// An event of the item in the output.
    fn call_event(&self, status: &str, number: u32) -> String {
        let kind = format!("response.image_generation_call.{status}");
        let id = image_call_id(self.object.job.id);
        event(&kind, number, json!({"output_index": 0, "item_id": id}))
    }
}

fn event(kind: &str, number: u32, mut data: Value) -> String {
    data["type"] = kind.into();
    data["sequence_number"] = number.into();
    job_stream::event(kind, &data)
}
