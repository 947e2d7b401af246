//! The calls to a ComfyUI server, of any age: newer routes are asked first, older ones where those are missing.

use super::prompt_status::{self, PromptStatus, Stored};
use super::workflow::Graph;
use crate::backends::upstream::{Answer, Fault, Form, Part, Socket, Upstream};
use percent_encoding::NON_ALPHANUMERIC;
use serde_json::{Value, json};
use std::time::Duration;
use tintype_actors::ports::note_cause;
use tintype_imaging::fit::Fitted;
use tokio::time::timeout;
use uuid::Uuid;

/// The folder of the server's inputs that ours go into, so that an operator can clear it: the server has no call for that.
const FOLDER: &str = "tintype";
/// Entries of an old server's history that are looked through.
const RECENT: usize = 64;
/// For a websocket to open. It is for progress alone, so nothing waits long for it.
const SOCKET_PATIENCE: Duration = Duration::from_secs(5);
/// For a cancellation. Nobody waits for it, and a server that hangs must not gather them.
const CANCEL_PATIENCE: Duration = Duration::from_secs(15);

/// A server.
#[derive(Clone)]
pub struct Server {
    /// For every call but the one that fetches a picture.
    upstream: Upstream,
    pictures: Upstream,
}

/// What a submission came to.
pub struct Submitted {
    /// The id that the server knows the prompt by: ours, or, on old servers, its own.
    pub id: String,
    /// Nodes that it found at fault, by id; the outputs that depend on them are not made.
    pub node_errors: serde_json::Map<String, Value>,
}

impl Server {
    /// The server behind a client.
    pub fn new(pictures: Upstream) -> Self {
        Self {
            upstream: pictures.for_words(),
            pictures,
        }
    }

    /// The client, for its words in the log.
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// The prompt that was submitted under this id, with the id that the server knows it by; `None` when it knows of none.
    ///
    /// # Errors
    /// The server does not answer, or not as ComfyUI does.
    pub async fn find(&self, id: &str) -> Result<Option<(String, PromptStatus)>, Fault> {
        let answer = self.upstream.get(&format!("/api/jobs/{id}")).await?;
        match json_of(&answer) {
            Some(job) if answer.status.is_success() => {
                let status = prompt_status::of_job(&job);
                let status = status.ok_or_else(|| self.garbage("/api/jobs", "no job"))?;
                let status = match status {
                    // The files may be told in the history alone.
                    PromptStatus::Done(stored) if stored.is_empty() => {
                        let recorded = self.recorded(&format!("/history/{id}"), id).await?;
                        recorded.map_or(PromptStatus::Done(stored), |(_, status)| status)
                    }
                    other => other,
                };
                Ok(Some((id.to_owned(), status)))
            }
            // The route is there, the job is not.
            Some(told) if answer.status == 404 && told.get("error").is_some() => Ok(None),
            _ if matches!(answer.status.as_u16(), 404 | 405) => self.find_in_lists(id).await,
            _ => Err(self.unlike(answer, "/api/jobs")),
        }
    }

    /// As [`find`](Self::find), on a server that has no `/api/jobs`. The queue comes first: what leaves it meanwhile is in the
    /// history.
    async fn find_in_lists(&self, id: &str) -> Result<Option<(String, PromptStatus)>, Fault> {
        let queue = self.list("/queue").await?;
        if let Some(theirs) = prompt_status::in_queue(&queue, id) {
            return Ok(Some((theirs, PromptStatus::Live)));
        }
        if let Some(found) = self.recorded(&format!("/history/{id}"), id).await? {
            return Ok(Some(found));
        }
        // A server that gave the prompt an id of its own has it under that.
        self.recorded(&format!("/history?max_items={RECENT}"), id)
            .await
    }

    async fn recorded(
        &self,
        path: &str,
        id: &str,
    ) -> Result<Option<(String, PromptStatus)>, Fault> {
        Ok(prompt_status::in_history(&self.list(path).await?, id))
    }

    async fn list(&self, path: &str) -> Result<Value, Fault> {
        let answer = self.upstream.get(path).await?;
        let answer = self.upstream.expect_success(answer)?;
        // Off the arbiter: each entry holds its whole graph.
        let list: Value = self.upstream.json(answer).await?;
        match list.is_object() {
            true => Ok(list),
            false => Err(self.garbage(path.split('?').next().unwrap_or_default(), "no list")),
        }
    }

    /// Submits a graph under an id of ours.
    ///
    /// # Errors
    /// [`Fault::Status`] for a graph that the server refuses, with its reasons in the log; else why there is no answer.
    pub async fn submit(&self, id: &str, graph: &Graph) -> Result<Submitted, Fault> {
        // The client's id is the prompt's: a socket belongs to one prompt, and old servers that choose the prompt's id
        // themselves are asked for it by the client's.
        let body = json!({"prompt": graph, "prompt_id": id, "client_id": id});
        let answer = self.upstream.post("/prompt", body).await?;
        let told = json_of(&answer).unwrap_or_default();
        let node_errors = told["node_errors"].as_object().cloned().unwrap_or_default();
        if !answer.status.is_success() {
            self.log_node_errors(&node_errors);
            return Err(self.upstream.refusal(&answer, None));
        }
        match told["prompt_id"].as_str() {
            Some(theirs) => Ok(Submitted {
                id: theirs.to_owned(),
                node_errors,
            }),
            None => Err(self.garbage("/prompt", "no prompt_id")),
        }
    }

    /// Writes down which nodes the server found at fault, and why.
    pub fn log_node_errors(&self, errors: &serde_json::Map<String, Value>) {
        let backend = self.upstream.name();
        for (node, told) in errors.iter().take(8) {
            let class = told["class_type"].as_str().unwrap_or_default();
            for error in told["errors"].as_array().into_iter().flatten().take(4) {
                let text = |key: &str| self.upstream.clean(error[key].as_str().unwrap_or_default());
                let (kind, message, details) = (text("type"), text("message"), text("details"));
                tracing::warn!(%backend, node, class, kind, message, details, "a node of the workflow is refused");
                note_cause(format!(
                    "node {node} ({class}) of the workflow is refused: {message} {details}"
                ));
            }
        }
    }

    /// Uploads an input image and returns what a LoadImage node calls it.
    ///
    /// # Errors
    /// Why it is not there.
    pub async fn upload(&self, original: Fitted) -> Result<String, Fault> {
        let name = format!("{}.{}", Uuid::new_v4(), original.kind.extension());
        let length = original.bytes.len() as u64;
        let file = Part::stream_with_length(original.bytes, length)
            .file_name(name)
            .mime_str(original.kind.mime())
            .map_err(|error| Fault::Garbage(error.to_string()))?;
        let form = Form::new()
            .part("image", file)
            .text("type", "input")
            .text("subfolder", FOLDER);
        let answer = self.upstream.post_form("/upload/image", form).await?;
        let answer = self.upstream.expect_success(answer)?;
        let told = json_of(&answer).unwrap_or_default();
        // The server's word counts, not ours: it renames a file where another one has the name.
        let Some(name) = told["name"].as_str().filter(|name| !name.is_empty()) else {
            return Err(self.garbage("/upload/image", "no name"));
        };
        Ok(match told["subfolder"].as_str() {
            Some(folder) if !folder.is_empty() => format!("{folder}/{name}"),
            _ => name.to_owned(),
        })
    }

    /// A file that was stored; `None` when it is gone.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub async fn fetch(&self, file: &Stored) -> Result<Option<Vec<u8>>, Fault> {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("filename", &file.filename)
            .append_pair("subfolder", &file.subfolder)
            .append_pair("type", &file.kind)
            .finish();
        let answer = self.pictures.get(&format!("/view?{query}")).await?;
        if answer.status == 404 {
            return Ok(None);
        }
        let answer = self.upstream.expect_success(answer)?;
        Ok(Some(answer.body.into()))
    }

    /// The checkpoints that the server has, in its order.
    ///
    /// # Errors
    /// Why they are not known.
    pub async fn checkpoints(&self) -> Result<Vec<String>, Fault> {
        let answer = self.upstream.get("/models/checkpoints").await?;
        if answer.status.is_success()
            && let Some(Value::Array(names)) = json_of(&answer)
        {
            return Ok(texts(&names));
        }
        // Servers before that route tell it of the node that loads them; newer ones write a list of choices another way.
        let class = "CheckpointLoaderSimple";
        let info = self.list(&format!("/object_info/{class}")).await?;
        let choices = &info[class]["input"]["required"]["ckpt_name"];
        let names = choices[0]
            .as_array()
            .or_else(|| choices[1]["options"].as_array());
        names
            .map(|names| texts(names))
            .ok_or_else(|| self.garbage("/object_info", "no list of checkpoints"))
    }

    /// Does it have a node of this class?
    ///
    /// # Errors
    /// Why that is not known.
    pub async fn has_node(&self, class: &str) -> Result<bool, Fault> {
        let name = percent_encoding::utf8_percent_encode(class, NON_ALPHANUMERIC);
        let info = self.list(&format!("/object_info/{name}")).await?;
        Ok(info.get(class).is_some())
    }

    /// Opens the websocket that tells how far the prompt of this id is. Without one there is no progress, and nothing else is
    /// missing.
    pub async fn listen(&self, id: &str) -> Option<Socket> {
        let path = format!("/ws?clientId={id}");
        let opening = self.upstream.websocket(&path);
        timeout(SOCKET_PATIENCE, opening).await.ok()?.ok()
    }

    /// Ends a prompt by its id, be it waiting or running, and no other. Best effort, for a while: what goes wrong is in the log
    /// alone.
    pub async fn cancel(&self, id: &str) {
        if timeout(CANCEL_PATIENCE, self.end(id)).await.is_err() {
            self.upstream.logged("/api/jobs", Fault::TimedOut);
        }
    }

    async fn end(&self, id: &str) {
        let path = format!("/api/jobs/{id}/cancel");
        if let Ok(answer) = self.upstream.post_json(&path, "{}".into()).await
            && answer.status.is_success()
        {
            return;
        }
        let delete = json!({"delete": [id]}).to_string().into();
        let _ = self.upstream.post_json("/queue", delete).await;
        // Old servers interrupt whatever runs, so it is made sure that it is this one.
        let queue = self.list("/queue").await;
        if queue.is_ok_and(|queue| prompt_status::is_running(&queue, id)) {
            let interrupt = json!({"prompt_id": id}).to_string().into();
            let _ = self.upstream.post_json("/interrupt", interrupt).await;
        }
    }

    fn garbage(&self, path: &str, what: &str) -> Fault {
        self.upstream.logged(path, Fault::Garbage(what.to_owned()))
    }

    /// The fault of an answer that ComfyUI does not give there.
    fn unlike(&self, answer: Answer, path: &str) -> Fault {
        match answer.status.is_success() {
            true => self.garbage(path, "not the JSON expected"),
            false => self.upstream.refusal(&answer, None),
        }
    }
}

/// The body as JSON. It is bounded, and small next to a picture, so it is read where it arrives.
fn json_of(answer: &Answer) -> Option<Value> {
    serde_json::from_slice(&answer.body).ok()
}

fn texts(values: &[Value]) -> Vec<String> {
    let texts = values.iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
