//! Responses with `stream`: server-sent events, as the SDKs read them. There are no partial images.

use super::image_background;
use super::options::Options;
use super::response::{format_of, usage_of};
use crate::compat::base64_body::{self, Part, StoredImage};
use crate::compat::dialect::Dialect;
use crate::compat::job_stream::{self, StreamFormat};
use crate::compat::jobs::job_waiter::{JobWaiter, WaitOutcome};
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::compat::usage;
use actix_web::web::Data;
use serde_json::json;
use tintype_storage::domain::job::ResultImage;

/// The type of the event with the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    Generation,
    Edit,
}

impl Completed {
    fn as_str(self) -> &'static str {
        match self {
            Self::Generation => "image_generation.completed",
            Self::Edit => "image_edit.completed",
        }
    }
}

/// What the events contain, besides the image.
pub struct Events {
    pub state: Data<CompatState>,
    pub completed: Completed,
    pub options: Options,
    /// The number of input images.
    pub inputs: usize,
}

impl StreamFormat for Events {
    async fn events(
        &self,
        waiter: &mut JobWaiter,
        outcome: WaitOutcome,
    ) -> Result<Vec<Part>, Refusal> {
        let image = outcome.image()?;
        let stored = waiter.open(&image).await?;
        Ok(base64_body::parts(&self.event(&image, &stored), [stored]))
    }

    /// The SDKs raise an exception for an event with the member `error`.
    fn error_event(&self, refusal: &Refusal) -> String {
        let mut body = Dialect::OpenAi.body(refusal);
        body["type"] = "error".into();
        job_stream::event("error", &body)
    }
}

impl Events {
    fn event(&self, image: &ResultImage, stored: &StoredImage) -> String {
        let has_alpha = Some(stored.has_alpha);
        let word = self.completed.as_str();
        let data = json!({
            "type": word,
            "b64_json": base64_body::place(),
            "created_at": self.state.core.now().seconds(),
            "background": image_background::of_image(image, self.options.background, has_alpha),
            "output_format": format_of(image),
            "quality": self.options.quality.unwrap_or("auto"),
            "size": usage::size(image),
            "usage": usage_of(&self.options, self.inputs, 1),
        });
        job_stream::event(word, &data)
    }
}
