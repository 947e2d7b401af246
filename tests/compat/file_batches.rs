//! Helpers for files and batches of the OpenAI API.

use crate::support::http::Request;
use crate::support::poll::until_some;
use crate::support::{Answer, Customer, Server};
use serde_json::{Value, json};

/// A line of an input file.
pub fn line(custom_id: &str, body: Value) -> Value {
    json!({"custom_id": custom_id, "method": "POST", "url": "/v1/images/generations", "body": body})
}

pub fn fox(custom_id: &str) -> Value {
    line(
        custom_id,
        json!({"model": "fast", "prompt": "a red fox in the snow", "size": "1024x1024"}),
    )
}

/// Formats requests as JSON Lines.
pub fn lines(requests: &[Value]) -> String {
    requests.iter().map(|it| format!("{it}\n")).collect()
}

/// The form of an upload, with these text parts besides the file.
pub fn upload_form(texts: &[(&str, &str)], name: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, text) in texts {
        let head = "--b\r\nContent-Disposition: form-data; name=";
        bytes.extend(format!("{head}\"{name}\"\r\n\r\n{text}\r\n").bytes());
    }
    let head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=";
    bytes.extend(
        format!("{head}\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n").bytes(),
    );
    bytes.extend(content);
    bytes.extend(b"\r\n--b--\r\n");
    bytes
}

impl Server {
    pub fn v1(&self, customer: &Customer, method: &str, path: &str) -> Request {
        self.call(method, &format!("/v1{path}"))
            .bearer(&customer.key)
    }

    pub fn upload_call(&self, customer: &Customer, form: &[u8]) -> Request {
        let call = self.v1(customer, "POST", "/files");
        call.bytes("multipart/form-data; boundary=b", form)
    }

    #[track_caller]
    pub fn upload(&self, customer: &Customer, content: &str) -> Value {
        let form = upload_form(&[("purpose", "batch")], "batch.jsonl", content.as_bytes());
        self.upload_call(customer, &form).expect(200).json()
    }

    /// The request that submits a file as a batch.
    pub fn file_batch_call(&self, customer: &Customer, file: &Value, extra: Value) -> Request {
        let mut body = json!({
            "input_file_id": file["id"],
            "endpoint": "/v1/images/generations",
            "completion_window": "24h",
        });
        crate::support::merge(&mut body, extra);
        self.v1(customer, "POST", "/batches").json(&body)
    }

    /// Uploads requests and submits them as a batch.
    #[track_caller]
    pub fn submit_file(&self, customer: &Customer, requests: &[Value]) -> Value {
        let file = self.upload(customer, &lines(requests));
        self.file_batch_call(customer, &file, json!({}))
            .expect(200)
            .json()
    }

    #[track_caller]
    pub fn file_batch(&self, customer: &Customer, batch: &Value) -> Value {
        let path = format!("/batches/{}", batch["id"].as_str().unwrap());
        self.v1(customer, "GET", &path).expect(200).json()
    }

    /// Waits until a batch has this status.
    #[track_caller]
    pub fn file_batch_once(&self, customer: &Customer, batch: &Value, status: &str) -> Value {
        until_some(status, || {
            let batch = self.file_batch(customer, batch);
            (batch["status"] == status).then_some(batch)
        })
    }

    pub fn content_call(&self, customer: &Customer, id: &Value) -> Request {
        let path = format!("/files/{}/content", id.as_str().expect("a file"));
        self.v1(customer, "GET", &path)
    }

    /// The parsed lines of a results file.
    #[track_caller]
    pub fn result_lines(&self, customer: &Customer, id: &Value) -> Vec<Value> {
        let text = self.content_call(customer, id).expect(200).text();
        assert!(text.ends_with('\n'), "{text:?}");
        text.lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }
}

#[track_caller]
pub fn ids(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    assert_eq!(body["object"], "list");
    let data = body["data"].as_array().expect("entries");
    let ids: Vec<String> = data
        .iter()
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(body["first_id"], json!(ids.first()));
    assert_eq!(body["last_id"], json!(ids.last()));
    ids
}
