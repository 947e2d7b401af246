//! Interactions with `stream`: server-sent events, as the SDKs read them. The image is one event.

use super::view::{Shape, View, error_of, failure, image_content, status};
use crate::compat::base64_body::{self, Part, StoredImage};
use crate::compat::gemini::response::TEXT;
use crate::compat::job_stream::{self, StreamFormat};
use crate::compat::jobs::job_waiter::{JobWaiter, WaitOutcome};
use crate::compat::refusal::Refusal;
use serde_json::{Value, json};
use tintype_storage::domain::job::{Job, ResultImage};

const END: &str = "event: done\ndata: [DONE]\n\n";

pub struct Events {
    pub view: View,
    /// As it was when the call was accepted.
    pub job: Job,
}

/// The names of the events.
struct Names {
    created: &'static str,
    content_start: &'static str,
    content_delta: &'static str,
    content_stop: &'static str,
    completed: &'static str,
}

const OF_STEPS: Names = Names {
    created: "interaction.created",
    content_start: "step.start",
    content_delta: "step.delta",
    content_stop: "step.stop",
    completed: "interaction.completed",
};
const OF_OUTPUTS: Names = Names {
    created: "interaction.start",
    content_start: "content.start",
    content_delta: "content.delta",
    content_stop: "content.stop",
    completed: "interaction.complete",
};

impl StreamFormat for Events {
    /// They tell the id, with which the caller can look up the interaction after a broken connection.
    fn first_events(&self) -> String {
        let begun = self.view.members(&self.job, "in_progress");
        let update = json!({"interaction_id": self.job.id.to_string(), "status": "in_progress"});
        text_of(self.names().created, json!({"interaction": begun}))
            + &text_of("interaction.status_update", update)
    }

    async fn events(
        &self,
        waiter: &mut JobWaiter,
        outcome: WaitOutcome,
    ) -> Result<Vec<Part>, Refusal> {
        let view = &self.view;
        let image = match outcome {
            WaitOutcome::Image(image) => {
                let opened = waiter.open(&image).await?;
                Some((image, opened))
            }
            WaitOutcome::Blocked(_) => None,
        };
        let job = waiter.record().await?;
        let mut parts = Vec::new();
        let mut ended = view.members(&job, status(&job));
        if let Some((stored, image)) = image {
            self.push_content(&mut parts, &stored, image);
            ended["usage"] = view.usage(&job).await;
        } else if let Some(error) = failure(&job) {
            parts.push(event("error", json!({"error": error})));
        }
        parts.push(event(self.names().completed, json!({"interaction": ended})));
        parts.push(Part::Text(END.into()));
        Ok(parts)
    }

    fn error_event(&self, refusal: &Refusal) -> String {
        text_of("error", json!({"error": error_of(refusal)})) + END
    }
}

impl Events {
    fn names(&self) -> &'static Names {
        match self.view.shape {
            Shape::Steps => &OF_STEPS,
            Shape::Outputs => &OF_OUTPUTS,
        }
    }

    /// One step with all contents, or each content for an older SDK.
    fn push_content(&self, parts: &mut Vec<Part>, stored: &ResultImage, image: StoredImage) {
        let (names, is_step) = (self.names(), self.view.shape == Shape::Steps);
        let start = |index: usize, kind: &str| match is_step {
            true => json!({"index": index, "step": {"type": "model_output"}}),
            false => json!({"index": index, "content": {"type": kind}}),
        };
        let stop = |index: usize| event(names.content_stop, json!({"index": index}));
        let mut index = 0;
        if self.view.with_text {
            let text = json!({"index": index, "delta": {"type": "text", "text": TEXT}});
            parts.push(event(names.content_start, start(index, "text")));
            parts.push(event(names.content_delta, text));
            if !is_step {
                parts.push(stop(index));
                index += 1;
            }
        }
        if !(is_step && self.view.with_text) {
            parts.push(event(names.content_start, start(index, "image")));
        }
        let delta = json!({"index": index, "delta": image_content(&stored.key)});
        let delta = text_of(names.content_delta, delta);
        parts.extend(base64_body::parts(&delta, [image]));
        parts.push(stop(index));
    }
}

fn event(name: &str, data: Value) -> Part {
    Part::Text(text_of(name, data))
}

fn text_of(name: &str, mut data: Value) -> String {
    data["event_type"] = name.into();
    job_stream::event(name, &data)
}
