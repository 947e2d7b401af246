//! Parses the response of a `generateContent` call.

use serde::Deserialize;

/// The relevant fields of the response. The parser accepts both casings; every field may be null or absent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerateContent {
    candidates: Option<Vec<Candidate>>,
    #[serde(alias = "prompt_feedback")]
    prompt_feedback: Option<PromptFeedback>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    #[serde(alias = "finish_reason")]
    finish_reason: Option<String>,
    #[serde(alias = "finish_message")]
    finish_message: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Content {
    parts: Option<Vec<Part>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(alias = "inline_data")]
    inline_data: Option<InlineData>,
    thought: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct InlineData {
    data: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    #[serde(alias = "block_reason")]
    block_reason: Option<String>,
    #[serde(alias = "block_reason_message")]
    block_reason_message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelEntry {
    pub display_name: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Base64.
    Image(String),
    /// Refused for its content; a retry would be refused too.
    Blocked(Reason),
    /// The model's text instead of an image. A retry may bring an image.
    Text(String),
    /// No image, but a retry may succeed.
    Nothing(Reason),
    /// The response does not have the form of this API.
    Garbage,
}

/// Why there is no image.
#[derive(Debug, PartialEq, Eq)]
pub struct Reason {
    /// In our words, with the code of the API if it sent one.
    pub what: String,
    /// In the words of the API.
    pub message: String,
}

impl Reason {
    fn new(what: &str, code: &str, message: Option<&str>) -> Self {
        Self {
            what: match code {
                "" => what.to_owned(),
                code => format!("{what} ({code})"),
            },
            message: message.unwrap_or_default().to_owned(),
        }
    }
}

/// Values of `finishReason` that refuse the content.
const REFUSALS: [&str; 9] = [
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "PROHIBITED_CONTENT",
    "RECITATION",
    "SAFETY",
    "BLOCKLIST",
    "SPII",
    "MODEL_ARMOR",
];

const NOTHING: &str = "the image generator returned no image";

impl GenerateContent {
    pub fn outcome(self) -> Outcome {
        let feedback = self.prompt_feedback;
        if let Some(reason) = feedback.as_ref().and_then(|it| it.block_reason.as_deref())
            && reason != "BLOCK_REASON_UNSPECIFIED"
        {
            let message = feedback
                .as_ref()
                .and_then(|it| it.block_reason_message.as_deref());
            return Outcome::Blocked(Reason::new("the prompt was refused", reason, message));
        }
        let Some(candidates) = self.candidates else {
            return match feedback {
                Some(_) => Outcome::Nothing(Reason::new(NOTHING, "", None)),
                None => Outcome::Garbage,
            };
        };
        match candidates.into_iter().next() {
            Some(candidate) => candidate.outcome(),
            None => Outcome::Nothing(Reason::new(NOTHING, "", None)),
        }
    }
}

impl Candidate {
    fn outcome(self) -> Outcome {
        let mut parts = self.content.and_then(|it| it.parts).unwrap_or_default();
        parts.retain(|it| it.thought != Some(true));
        // A thinking model may send its drafts first: the last image is the result.
        let mut images = parts
            .iter_mut()
            .filter_map(|it| it.inline_data.take()?.data);
        if let Some(data) = images.next_back() {
            return Outcome::Image(data);
        }
        let reason = self.finish_reason.unwrap_or_default();
        let message = self.finish_message.as_deref();
        if REFUSALS.contains(&reason.as_str()) {
            return Outcome::Blocked(Reason::new("the image was refused", &reason, message));
        }
        let words: Vec<&str> = parts
            .iter()
            .filter_map(|it| it.text.as_deref())
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        match (words.is_empty(), reason.as_str()) {
            (false, _) => Outcome::Text(words.join(" ")),
            (true, "STOP") => Outcome::Nothing(Reason::new(NOTHING, "", message)),
            (true, reason) => Outcome::Nothing(Reason::new(NOTHING, reason, message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(response: serde_json::Value) -> Outcome {
        let text = response.to_string();
        serde_json::from_str::<GenerateContent>(&text)
            .unwrap()
            .outcome()
    }

    fn ended(reason: &str) -> Outcome {
        outcome(json!({"candidates": [{"finishReason": reason}]}))
    }

    #[test]
    fn the_last_image_that_is_not_a_thought_is_returned() {
        let response = json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "Here you are."},
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            {"inline_data": {"mime_type": "image/png", "data": "-__-"}},
            {"thought": true, "inlineData": {"mimeType": "image/png", "data": "BBBB"}},
        ]}}], "usageMetadata": {}});
        assert_eq!(outcome(response), Outcome::Image("-__-".into()));
    }

    #[test]
    fn every_refusal_of_the_content_is_a_block() {
        for reason in REFUSALS {
            assert!(matches!(ended(reason), Outcome::Blocked(_)), "{reason}");
        }
        let response = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}});
        let reason = Reason::new("the prompt was refused", "PROHIBITED_CONTENT", None);
        assert_eq!(outcome(response), Outcome::Blocked(reason));
        let response = json!({"candidates": [{"finishReason": "IMAGE_SAFETY", "content": {},
            "finishMessage": "Unable to show it."}]});
        let message = Some("Unable to show it.");
        let reason = Reason::new("the image was refused", "IMAGE_SAFETY", message);
        assert_eq!(outcome(response), Outcome::Blocked(reason));
    }

    #[test]
    fn a_missing_image_is_reported_with_the_text_of_the_model() {
        for reason in [
            "NO_IMAGE",
            "IMAGE_OTHER",
            "OTHER",
            "MALFORMED_RESPONSE",
            "STOP",
            "NEW",
        ] {
            assert!(matches!(ended(reason), Outcome::Nothing(_)), "{reason}");
        }
        let response = json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
            {"text": "musing", "thought": true}, {"text": "What shall it show?"}]}}]});
        assert_eq!(
            outcome(response),
            Outcome::Text("What shall it show?".into())
        );
        for empty in [json!({"candidates": []}), json!({"promptFeedback": {}})] {
            assert!(matches!(outcome(empty), Outcome::Nothing(_)));
        }
    }

    #[test]
    fn a_response_of_another_format_is_garbage() {
        for response in [json!({}), json!({"images": []})] {
            assert_eq!(outcome(response), Outcome::Garbage);
        }
    }
}
