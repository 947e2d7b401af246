//! Calls to a ComfyUI server of any version: tries newer routes first, and falls back to older ones.

use super::prompt_status::{self, PromptStatus, StoredFile};
use super::workflow::Graph;
use crate::backends::upstream::{CleanupGuard, Fault, Form, Part, Response, Socket, Upstream};
use percent_encoding::NON_ALPHANUMERIC;
use serde_json::{Value, json};
use std::time::Duration;
use tintype_actors::ports::{GenerationTask, set_cause};
use tintype_imaging::fit::FittedImage;
use tokio::time::timeout;
use uuid::Uuid;

/// The server has no call to delete an input, so all uploads go into one folder that an operator can clear.
const FOLDER: &str = "tintype";
/// Entries of an old server's history to search.
const MAX_HISTORY: usize = 64;
/// Of a refused workflow, to report.
const MAX_NODE_ERRORS: usize = 4;
/// Short, because the socket only brings progress.
const SOCKET_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Server {
    /// For every call except fetching an image or the queue.
    upstream: Upstream,
    /// For responses of the size of an image.
    images: Upstream,
}

pub struct SubmittedPrompt {
    /// The prompt's id on the server: ours or, on old servers, one that the server assigned.
    pub id: String,
    /// Errors by node id; the server skips outputs that depend on these nodes.
    pub node_errors: serde_json::Map<String, Value>,
}

impl Server {
    pub fn new(images: Upstream) -> Self {
        Self {
            upstream: images.for_small_responses(),
            images,
        }
    }

    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Finds the prompt that was submitted under this id, and returns its id on the server; `None` if the server does not have it.
    ///
    /// # Errors
    /// The server does not answer, or answers in a form unlike ComfyUI's.
    pub async fn find(&self, id: &str) -> Result<Option<(String, PromptStatus)>, Fault> {
        let response = self.upstream.get(&format!("/api/jobs/{id}")).await?;
        match json_body(&response) {
            Some(job) if response.status.is_success() => {
                let status = prompt_status::from_job(&job);
                let status = status.ok_or_else(|| self.garbage("no job from /api/jobs"))?;
                let status = match status {
                    // Some servers list the files only in the history.
                    PromptStatus::Done(stored) if stored.is_empty() => {
                        let entry = self.find_in_history(&format!("/history/{id}"), id).await?;
                        entry.map_or(PromptStatus::Done(stored), |(_, status)| status)
                    }
                    other => other,
                };
                Ok(Some((id.to_owned(), status)))
            }
            // The route exists, the job does not.
            Some(error) if response.status == 404 && error.get("error").is_some() => Ok(None),
            _ if matches!(response.status.as_u16(), 404 | 405) => self.find_in_lists(id).await,
            _ if response.status.is_success() => Err(self.garbage("no JSON from /api/jobs")),
            _ => Err(self.upstream.refusal(&response, None)),
        }
    }

    /// As [`find`](Self::find), for a server without `/api/jobs`. Searches the queue first: a prompt that leaves it meanwhile moves to
    /// the history.
    async fn find_in_lists(&self, id: &str) -> Result<Option<(String, PromptStatus)>, Fault> {
        let queue = self.queue().await?;
        if let Some(theirs) = prompt_status::find_in_queue(&queue, id) {
            return Ok(Some((theirs, PromptStatus::Live)));
        }
        if let Some(found) = self.find_in_history(&format!("/history/{id}"), id).await? {
            return Ok(Some(found));
        }
        // A server that assigned its own id lists the prompt under that id.
        self.find_in_recent_history(id).await
    }

    /// Each entry holds its whole graph, so the latest ones may exceed the size limit. Then searches fewer.
    async fn find_in_recent_history(
        &self,
        id: &str,
    ) -> Result<Option<(String, PromptStatus)>, Fault> {
        let mut items = MAX_HISTORY;
        while items > 0 {
            let path = format!("/history?max_items={items}");
            if let Some(response) = self.upstream.get_if_small(&path).await? {
                let list = self.read_list(response).await?;
                return Ok(prompt_status::find_in_history(&list, id));
            }
            items /= 2;
        }
        Ok(None)
    }

    /// The graphs of all waiting prompts may have many megabytes.
    async fn queue(&self) -> Result<Value, Fault> {
        self.read_list(self.images.get("/queue").await?).await
    }

    async fn find_in_history(
        &self,
        path: &str,
        id: &str,
    ) -> Result<Option<(String, PromptStatus)>, Fault> {
        Ok(prompt_status::find_in_history(&self.list(path).await?, id))
    }

    async fn list(&self, path: &str) -> Result<Value, Fault> {
        self.read_list(self.upstream.get(path).await?).await
    }

    async fn read_list(&self, response: Response) -> Result<Value, Fault> {
        let response = self.upstream.expect_success(response)?;
        let path = response.path.clone();
        // `json` parses on the blocking pool: each entry holds its whole graph.
        let list: Value = self.upstream.json(response).await?;
        match list.is_object() {
            true => Ok(list),
            false => Err(self.garbage(&format!("no list from {path}"))),
        }
    }

    /// Submits a graph under this id.
    ///
    /// # Errors
    /// [`Fault::Status`] for a graph that the server refuses, with the reasons in the log; else as [`Upstream::get`].
    pub async fn submit(&self, id: &str, graph: &Graph) -> Result<SubmittedPrompt, Fault> {
        // The client id equals the prompt id: a socket belongs to one prompt, and on old servers, which assign the prompt id,
        // the client id finds the prompt.
        let body = json!({"prompt": graph, "prompt_id": id, "client_id": id});
        let response = self.upstream.post("/prompt", body).await?;
        let submitted = json_body(&response).unwrap_or_default();
        let node_errors = submitted["node_errors"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        if !response.status.is_success() {
            let fault = self.upstream.refusal(&response, None);
            // Afterwards, because these tell more.
            self.set_cause_of_node_errors(&node_errors);
            return Err(fault);
        }
        match submitted["prompt_id"].as_str() {
            Some(theirs) => Ok(SubmittedPrompt {
                id: theirs.to_owned(),
                node_errors,
            }),
            None => Err(self.garbage("no prompt_id from /prompt")),
        }
    }

    /// Notes the errors of the first nodes as the cause of the attempt.
    pub fn set_cause_of_node_errors(&self, errors: &serde_json::Map<String, Value>) {
        let mut refused = Vec::new();
        for (node, described) in errors.iter().take(MAX_NODE_ERRORS) {
            let class = described["class_type"].as_str().unwrap_or_default();
            // The first error of a node is the cause of its others.
            let error = &described["errors"][0];
            let text = |key: &str| error[key].as_str().unwrap_or_default();
            let (message, details) = (text("message"), text("details"));
            refused.push(
                self.upstream
                    .clean(&format!("node {node} ({class}): {message} {details}")),
            );
        }
        if !refused.is_empty() {
            let nodes = refused.join("; ");
            set_cause(format!("the server refuses the workflow at {nodes}"));
        }
    }

    /// Uploads an input image and returns its name for a LoadImage node.
    pub async fn upload(&self, original: FittedImage) -> Result<String, Fault> {
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
        let response = self.upstream.post_form("/upload/image", form).await?;
        let response = self.upstream.expect_success(response)?;
        let uploaded = json_body(&response).unwrap_or_default();
        // Use the name in the response: the server renames a file whose name is taken.
        let Some(name) = uploaded["name"].as_str().filter(|name| !name.is_empty()) else {
            return Err(self.garbage("no name from /upload/image"));
        };
        Ok(match uploaded["subfolder"].as_str() {
            Some(folder) if !folder.is_empty() => format!("{folder}/{name}"),
            _ => name.to_owned(),
        })
    }

    /// Fetches a file; `None` when the server has deleted it.
    ///
    /// # Errors
    /// As [`Upstream::get`], and [`Fault::Status`].
    pub async fn fetch(&self, file: &StoredFile) -> Result<Option<Vec<u8>>, Fault> {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("filename", &file.filename)
            .append_pair("subfolder", &file.subfolder)
            .append_pair("type", &file.kind)
            .finish();
        let response = self.images.get(&format!("/view?{query}")).await?;
        if response.status == 404 {
            return Ok(None);
        }
        let response = self.upstream.expect_success(response)?;
        Ok(Some(response.body.into()))
    }

    /// The checkpoints of the server, in its order.
    pub async fn checkpoints(&self) -> Result<Vec<String>, Fault> {
        let response = self.upstream.get("/models/checkpoints").await?;
        if response.status.is_success()
            && let Some(Value::Array(names)) = json_body(&response)
        {
            return Ok(to_strings(&names));
        }
        // Older servers list them only as the choices of the loader node, in one of two forms.
        let class = "CheckpointLoaderSimple";
        let info = self.list(&format!("/object_info/{class}")).await?;
        let choices = &info[class]["input"]["required"]["ckpt_name"];
        let names = choices[0]
            .as_array()
            .or_else(|| choices[1]["options"].as_array());
        names
            .map(|names| to_strings(names))
            .ok_or_else(|| self.garbage("no list of checkpoints from /object_info"))
    }

    pub async fn has_node(&self, class: &str) -> Result<bool, Fault> {
        let name = percent_encoding::utf8_percent_encode(class, NON_ALPHANUMERIC);
        let info = self.list(&format!("/object_info/{name}")).await?;
        Ok(info.get(class).is_some())
    }

    /// Opens the websocket with the events of this prompt. `None` costs only the progress and the previews.
    pub async fn open_socket(&self, id: &str) -> Option<Socket> {
        let path = format!("/ws?clientId={id}");
        let opening = self.upstream.websocket(&path);
        timeout(SOCKET_TIMEOUT, opening).await.ok()?
    }

    /// Returns a guard that [cancels](Self::cancel) this prompt of the task, best effort. During shutdown it does not cancel: the job
    /// runs again after the restart and adopts the prompt.
    pub fn cancel_on_drop(&self, id: &str, task: &GenerationTask) -> CleanupGuard {
        let (server, id, cut_off) = (self.clone(), id.to_owned(), task.cut_off.clone());
        CleanupGuard::new(move || {
            if !*cut_off.borrow() {
                let goal = format!("cancel the abandoned prompt {id}");
                let upstream = server.upstream.clone();
                upstream.clean_up(goal, async move { server.cancel(&id).await });
            }
        })
    }

    /// Cancels a queued or running prompt, by the id on the server or that of the submission, and no other.
    pub async fn cancel(&self, id: &str) -> Result<(), Fault> {
        let path = format!("/api/jobs/{id}/cancel");
        if let Ok(response) = self.upstream.post_json(&path, "{}".into()).await
            && response.status.is_success()
        {
            return Ok(());
        }
        // A server that assigned its own id knows only that one, which the caller does not know if the response to the submission
        // was lost.
        let theirs = prompt_status::find_in_queue(&self.queue().await?, id);
        let id = theirs.as_deref().unwrap_or(id);
        let delete = json!({"delete": [id]}).to_string().into();
        let _ = self.upstream.post_json("/queue", delete).await;
        // Old servers interrupt the running prompt, whatever its id: check that it is this one.
        if prompt_status::is_running(&self.queue().await?, id) {
            let interrupt = json!({"prompt_id": id}).to_string().into();
            let response = self.upstream.post_json("/interrupt", interrupt).await?;
            self.upstream.expect_success(response)?;
        }
        Ok(())
    }

    fn garbage(&self, what: &str) -> Fault {
        self.upstream.noted(Fault::Garbage(what.to_owned()))
    }
}

/// Parses a body on the arbiter: its size is limited, and small compared to an image.
fn json_body(response: &Response) -> Option<Value> {
    serde_json::from_slice(&response.body).ok()
}

fn to_strings(values: &[Value]) -> Vec<String> {
    let texts = values.iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
