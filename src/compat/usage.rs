//! Token counts for clients that read them. They do not affect the price, which is fixed per image.

use serde_json::{Value, json};
use tintype_storage::domain::job::{Job, ResultImage};
use tintype_storage::domain::tier::{Resolution, Tier};

/// Tokens of one input image: Google's count for one tile.
const PER_INPUT: u64 = 258;
/// Google's rule of thumb.
const CHARACTERS_PER_TOKEN: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptTokens {
    pub text: u64,
    pub images: u64,
}

impl PromptTokens {
    pub fn estimate(prompt: &str, inputs: usize) -> Self {
        Self {
            text: (prompt.chars().count() as u64).div_ceil(CHARACTERS_PER_TOKEN),
            images: inputs as u64 * PER_INPUT,
        }
    }

    pub fn total(self) -> u64 {
        self.text + self.images
    }

    /// The counts as Gemini writes them, without images if there are none.
    pub fn gemini_details(self) -> Vec<Value> {
        let mut details = vec![json!({"modality": "TEXT", "tokenCount": self.text})];
        if self.images > 0 {
            details.push(json!({"modality": "IMAGE", "tokenCount": self.images}));
        }
        details
    }

    /// The `usage` of OpenAI's responses.
    pub fn openai_usage(self, output: u64) -> Value {
        json!({
            "input_tokens": self.total(),
            "input_tokens_details": {"text_tokens": self.text, "image_tokens": self.images},
            "output_tokens": output,
            "total_tokens": self.total() + output,
        })
    }
}

/// The `usage` of a job in OpenAI's responses.
pub fn of_job(job: &Job, prompt: &str) -> Value {
    let prompt = PromptTokens::estimate(prompt, input_images(job));
    prompt.openai_usage(image_tokens(job.tier, job.resolution))
}

/// The number of input images without the mask.
pub fn input_images(job: &Job) -> usize {
    let mask = usize::from(job.options().has_mask);
    job.inputs.len().saturating_sub(mask)
}

/// Output tokens of an image, as published for the models of the tiers.
pub fn image_tokens(tier: Tier, resolution: Resolution) -> u64 {
    match (tier, resolution) {
        (Tier::Fast, _) => 1_290,
        (_, Resolution::K1 | Resolution::K2) => 1_120,
        (_, Resolution::K4) => 2_000,
    }
}

pub fn size(image: &ResultImage) -> String {
    format!("{}x{}", image.width, image.height)
}
