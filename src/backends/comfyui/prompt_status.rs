//! Reads the status of a prompt from `/api/jobs/{id}`, `/history/{id}` and `/queue`.

use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptStatus {
    /// Queued or running.
    Live,
    Done(Vec<StoredFile>),
    Failed(Failure),
    Canceled,
}

/// A file that a node wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The id of the node.
    pub node: String,
    pub filename: String,
    /// Relative to the folder of `kind`; may be empty.
    pub subfolder: String,
    /// `output` for results, `temp` for previews.
    pub kind: String,
}

/// Why an execution failed. For the log, not for callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    pub node_type: String,
    /// The class of the exception.
    pub exception: String,
    pub message: String,
}

impl Failure {
    /// Did the GPU run out of memory? The server then frees its memory, so a retry may succeed.
    pub fn is_out_of_memory(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        self.exception.contains("OutOfMemory") || message.contains("out of memory")
    }

    fn read(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Self {
            node_type: text("node_type"),
            exception: text("exception_type"),
            message: text("exception_message"),
        }
    }
}

const IMAGE_EXTENSIONS: [&str; 5] = [".png", ".jpg", ".jpeg", ".webp", ".gif"];

/// Parses `/api/jobs/{id}`; `None` for an unknown form.
pub fn from_job(job: &Value) -> Option<PromptStatus> {
    Some(match job.get("status")?.as_str()? {
        "pending" | "in_progress" => PromptStatus::Live,
        "completed" => PromptStatus::Done(stored_files(&job["outputs"])),
        "failed" => PromptStatus::Failed(Failure::read(&job["execution_error"])),
        "cancelled" => PromptStatus::Canceled,
        _ => return None,
    })
}

/// Parses an entry of the history.
fn from_history(entry: &Value) -> PromptStatus {
    let status = &entry["status"];
    let messages = status["messages"].as_array();
    let message = |name: &str| {
        let mut named = messages.into_iter().flatten();
        named.find(|it| it[0] == name).map(|it| &it[1])
    };
    if message("execution_interrupted").is_some() {
        return PromptStatus::Canceled;
    }
    if let Some(error) = message("execution_error") {
        return PromptStatus::Failed(Failure::read(error));
    }
    if status["status_str"] == "error" {
        return PromptStatus::Failed(Failure::default());
    }
    // Old servers send no status for a successful prompt.
    PromptStatus::Done(stored_files(&entry["outputs"]))
}

/// Finds a prompt in the queue and returns its id there. A server that assigns its own id still reports the client id, which is
/// `id` too.
pub fn find_in_queue(queue: &Value, id: &str) -> Option<String> {
    let lists = [&queue["queue_running"], &queue["queue_pending"]];
    let entries = lists.into_iter().filter_map(Value::as_array).flatten();
    entries.filter_map(|entry| match_entry(entry, id)).next()
}

pub fn is_running(queue: &Value, id: &str) -> bool {
    let running = queue["queue_running"].as_array();
    running.is_some_and(|list| list.iter().any(|entry| entry[1] == id))
}

/// The same for the history, with the status of the entry.
pub fn find_in_history(history: &Value, id: &str) -> Option<(String, PromptStatus)> {
    let entries = history.as_object()?;
    if let Some(entry) = entries.get(id) {
        return Some((id.to_owned(), from_history(entry)));
    }
    let found = entries
        .iter()
        .find(|(_, entry)| match_entry(&entry["prompt"], id).is_some());
    found.map(|(theirs, entry)| (theirs.clone(), from_history(entry)))
}

/// The prompt id in an entry `[number, id, graph, extra data, outputs]`, if `id` is the entry's prompt id or client id.
fn match_entry(entry: &Value, id: &str) -> Option<String> {
    let theirs = entry[1].as_str()?;
    (theirs == id || entry[3]["client_id"] == id).then(|| theirs.to_owned())
}

/// The image files among the outputs: results before previews, else in the server's order.
fn stored_files(outputs: &Value) -> Vec<StoredFile> {
    let mut found = Vec::new();
    for (node, lists) in outputs.as_object().into_iter().flatten() {
        let lists = lists.as_object().into_iter().flatten();
        for file in lists.filter_map(|(_, list)| list.as_array()).flatten() {
            let text = |key: &str| file[key].as_str().unwrap_or_default().to_owned();
            let filename = text("filename");
            let lower = filename.to_ascii_lowercase();
            if IMAGE_EXTENSIONS.iter().any(|end| lower.ends_with(end)) {
                found.push(StoredFile {
                    node: node.clone(),
                    filename,
                    subfolder: text("subfolder"),
                    kind: text("type"),
                });
            }
        }
    }
    found.sort_by_key(|file| file.kind != "output");
    found
}

/// The image of the job: the one from the node `output`, else the first.
pub fn pick_output<'s>(stored: &'s [StoredFile], output: Option<&str>) -> Option<&'s StoredFile> {
    let named = stored.iter().find(|file| Some(&*file.node) == output);
    named.or(stored.first())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(name: &str, kind: &str) -> Value {
        json!({"filename": name, "subfolder": "a b", "type": kind})
    }

    fn names(status: PromptStatus) -> Vec<String> {
        match status {
            PromptStatus::Done(stored) => stored.into_iter().map(|file| file.filename).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_job_of_a_new_server_is_read() {
        let of = |status: &str| {
            from_job(
                &json!({"id": "x", "status": status, "outputs": {"9": {"images": [file("a.png", "output")]}},
                "execution_error": {"node_type": "KSampler", "exception_type": "torch.OutOfMemoryError", "exception_message": "Allocation"}}),
            )
        };
        assert_eq!(of("pending"), Some(PromptStatus::Live));
        assert_eq!(of("in_progress"), Some(PromptStatus::Live));
        assert_eq!(of("cancelled"), Some(PromptStatus::Canceled));
        assert_eq!(names(of("completed").unwrap()), ["a.png"]);
        assert!(
            matches!(of("failed"), Some(PromptStatus::Failed(failure)) if failure.is_out_of_memory())
        );
        assert_eq!(of("something new"), None);
        assert_eq!(from_job(&json!({"error": "Job not found"})), None);
        assert_eq!(from_job(&json!([])), None);
    }

    #[test]
    fn a_history_is_read() {
        let done = json!({"outputs": {"9": {"images": [file("a.png", "output")]}},
            "status": {"status_str": "success", "completed": true, "messages": [["execution_start", {}]]}});
        assert_eq!(names(from_history(&done)), ["a.png"]);
        let old = json!({"outputs": {"9": {"images": [file("a.png", "output")]}}});
        assert_eq!(names(from_history(&old)), ["a.png"]);
        let error = json!({"node_type": "VAEDecode", "exception_type": "RuntimeError", "exception_message": "CUDA out of memory."});
        let failed = json!({"outputs": {}, "status": {"status_str": "error", "messages": [["execution_error", error]]}});
        assert!(
            matches!(from_history(&failed), PromptStatus::Failed(it) if it.is_out_of_memory() && it.node_type == "VAEDecode")
        );
        let mute = json!({"outputs": {}, "status": {"status_str": "error"}});
        assert!(matches!(from_history(&mute), PromptStatus::Failed(it) if !it.is_out_of_memory()));
        let ended = json!({"status": {"status_str": "error", "messages": [["execution_start", {}], ["execution_interrupted", {}]]}});
        assert_eq!(from_history(&ended), PromptStatus::Canceled);
    }

    #[test]
    fn a_prompt_is_found_by_its_id_or_its_client() {
        let entry = |id: &str, client: &str| json!([7, id, {}, {"client_id": client}, ["9"]]);
        let queue = json!({"queue_running": [entry("a", "x")], "queue_pending": [entry("b", "y"), entry("c", "z"), "odd"]});
        assert_eq!(find_in_queue(&queue, "a").unwrap(), "a");
        assert_eq!(find_in_queue(&queue, "y").unwrap(), "b");
        assert_eq!(find_in_queue(&queue, "w"), None);
        assert_eq!(find_in_queue(&json!("odd"), "a"), None);
        assert!(is_running(&queue, "a") && !is_running(&queue, "b"));
        let history = json!({"a": {"prompt": entry("a", "x"), "outputs": {}}});
        assert_eq!(find_in_history(&history, "a").unwrap().0, "a");
        assert_eq!(find_in_history(&history, "x").unwrap().0, "a");
        assert_eq!(find_in_history(&history, "y"), None);
        assert_eq!(find_in_history(&json!({}), "a"), None);
        assert_eq!(find_in_history(&json!([]), "a"), None);
    }

    #[test]
    fn the_image_is_that_of_the_named_node_or_else_the_first_stored_image() {
        let outputs = json!({
            "1": {"images": [file("preview.png", "temp")], "text": ["words"]},
            "3": {"audio": [file("a.flac", "output")], "gifs": [file("b.WEBP", "output")], "animated": [false]},
            "5": {"images": [file("c.png", "output"), file("d.png", "output")]},
            "7": null,
        });
        let stored = stored_files(&outputs);
        assert_eq!(pick_output(&stored, Some("5")).unwrap().filename, "c.png");
        assert_eq!(
            pick_output(&stored, Some("1")).unwrap().filename,
            "preview.png"
        );
        assert_eq!(pick_output(&stored, Some("7")).unwrap().filename, "b.WEBP");
        assert_eq!(pick_output(&stored, None).unwrap().filename, "b.WEBP");
        assert_eq!(stored[0].subfolder, "a b");
        assert_eq!(pick_output(&[], Some("1")), None);
    }
}
