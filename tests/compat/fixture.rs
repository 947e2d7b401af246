//! Requests to the synchronous APIs, and assertions about their responses.

use crate::support::http::Request;
use crate::support::{Answer, Customer, Server, sample_images, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::thread::{self, JoinHandle};
use tintype_storage::engine::Wait as _;

pub fn fox() -> Value {
    asking("a red fox in the snow")
}

pub fn asking(prompt: &str) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": prompt}]}]})
}

/// A body with this input image in base64.
pub fn with_image(data: &str) -> Value {
    json!({"contents": [{"role": "user", "parts": [
        {"text": "make it blue"},
        {"inlineData": {"mimeType": "image/png", "data": data}},
    ]}]})
}

/// An image in base64.
pub fn image(width: u32, height: u32) -> String {
    STANDARD.encode(sample_images::png(width, height))
}

impl Server {
    pub fn gemini_without_key(&self, model: &str, body: &Value) -> Request {
        self.post(&format!("/v1beta/models/{model}:generateContent"))
            .json(body)
    }

    pub fn gemini(&self, customer: &Customer, model: &str, body: &Value) -> Request {
        self.gemini_without_key(model, body)
            .header("x-goog-api-key", &customer.key)
    }

    /// A request to `/v1/images/generations`.
    pub fn openai(&self, customer: &Customer, body: &Value) -> Request {
        self.post("/v1/images/generations")
            .bearer(&customer.key)
            .json(body)
    }

    /// Sends a request from a new thread.
    pub fn in_background(&self, request: Request) -> JoinHandle<Answer> {
        thread::spawn(move || request.send())
    }

    /// Waits until this many runs have started.
    pub fn until_running(&self, runs: usize) {
        until("the runs have begun", || self.generator.runs() >= runs);
    }

    /// The number of callers that wait for live jobs.
    pub fn watchers(&self) -> usize {
        let mut watchers = 0;
        let counted = self
            .inside()
            .store
            .each_live_job(|job| {
                watchers += self.inside().system.watchers(job.id);
                Ok(())
            })
            .wait();
        counted.unwrap();
        watchers
    }

    /// Waits until the store has this many live jobs.
    pub fn until_live(&self, jobs: usize) {
        until("the jobs are live", || {
            self.inside().system.queue().live() == jobs
        });
    }
}

/// Assertions about responses.
pub trait ResponseAssertions {
    /// Checks Google's error format, which must have no other members; returns the message.
    fn assert_google_error(&self, code: u16, status: &str) -> String;
    /// Checks OpenAI's error format; returns the message.
    fn assert_openai_error(&self, status: u16, kind: &str, code: Option<&str>) -> String;
    /// Checks OpenAI's error format for a missing or invalid field; returns the message.
    fn assert_openai_field(&self, field: &str) -> String;
    /// The image of a response that both SDKs can read.
    fn image(&self) -> Vec<u8>;
}

impl ResponseAssertions for Answer {
    #[track_caller]
    fn assert_google_error(&self, code: u16, status: &str) -> String {
        let body = self.json();
        assert_eq!(self.status, code, "{body}");
        let error = body["error"].as_object().expect("an error");
        assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
        assert_eq!(error["code"], code, "{body}");
        assert_eq!(error["status"], status, "{body}");
        let message = error["message"].as_str().expect("a message");
        assert!(!message.is_empty());
        for name in error.keys() {
            let known = ["code", "message", "status", "details"];
            assert!(known.contains(&name.as_str()), "{body}");
        }
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert!(self.header("x-request-id").is_some());
        message.to_owned()
    }

    #[track_caller]
    fn assert_openai_error(&self, status: u16, kind: &str, code: Option<&str>) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        let body = self.json();
        assert_eq!(self.status, status, "{body}");
        let error = body["error"].as_object().expect("an error");
        assert_eq!(error["type"], kind, "{body}");
        assert_eq!(error["code"], json!(code), "{body}");
        assert!(error.contains_key("param"));
        error["message"].as_str().expect("a message").to_owned()
    }

    #[track_caller]
    fn assert_openai_field(&self, field: &str) -> String {
        let body = self.json();
        let error = &body["error"];
        assert_eq!(error["param"], field, "{body}");
        let message = error["message"].as_str().expect("a message");
        let is_missing = message.starts_with(&format!("{field} is required"));
        let code = match is_missing {
            true => "missing_required_parameter",
            false => "invalid_value",
        };
        self.assert_openai_error(400, "invalid_request_error", Some(code))
    }

    #[track_caller]
    fn image(&self) -> Vec<u8> {
        assert_eq!(self.status, 200, "{}", self.text());
        let body = self.json();
        let candidates = body["candidates"].as_array().expect("candidates");
        assert_eq!(candidates.len(), 1, "{body}");
        let candidate = &candidates[0];
        assert_eq!(candidate["finishReason"], "STOP");
        assert_eq!(candidate["index"], 0);
        assert_eq!(candidate["content"]["role"], "model");
        let parts = candidate["content"]["parts"].as_array().expect("parts");
        let images: Vec<&Value> = parts
            .iter()
            .filter(|part| part.get("inlineData").is_some())
            .collect();
        assert_eq!(images.len(), 1, "{body}");
        assert_eq!(images[0]["inlineData"]["mimeType"], "image/png");
        let data = images[0]["inlineData"]["data"].as_str().expect("data");
        STANDARD.decode(data).expect("padded standard base64")
    }
}
