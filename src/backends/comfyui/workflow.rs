//! A workflow in ComfyUI's API format, checked once at the start, and filled in for each job.

use super::placeholder::{Piece, Placeholder, fill, pieces};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What a workflow is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Text-to-image.
    Text,
    /// Image-to-image.
    Image,
}

/// A graph by node id.
pub type Graph = Map<String, Value>;

/// Why a text is no workflow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowFault {
    /// No JSON.
    #[error("it is no JSON: {0}")]
    Json(String),
    /// What the normal "Save" writes.
    #[error(
        "it was saved for the editor, not for the API; export it again in ComfyUI: Workflow > Export (API)"
    )]
    EditorFormat,
    /// Some other JSON.
    #[error(
        "it is not in ComfyUI's API format, a JSON object of nodes with `class_type` and `inputs`: {0}"
    )]
    Form(String),
    /// A name between double braces that nothing is known of.
    #[error("node {node}: {{{{{name}}}}} is no placeholder; there are {known}", known = known())]
    Unknown {
        /// The node's id.
        node: String,
        /// What stands between the braces.
        name: String,
    },
    /// A text-to-image workflow asks for an input image.
    #[error(
        "node {node}: {placeholder} is for image-to-image; a text-to-image job has no input image"
    )]
    NoInputs {
        /// The node's id.
        node: String,
        /// Which.
        placeholder: Placeholder,
    },
    /// Something must be there.
    #[error("it lacks {missing}: {hint}", missing = listed(.0), hint = hint(.0))]
    Lacks(Vec<Placeholder>),
}

fn known() -> &'static str {
    "{{prompt}}, {{seed}}, {{width}}, {{height}}, {{final_width}}, {{final_height}}, {{checkpoint}}, {{filename_prefix}} and {{image_1}} to {{image_14}}"
}

fn listed(placeholders: &[Placeholder]) -> String {
    let names: Vec<String> = placeholders.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn hint(missing: &[Placeholder]) -> &'static str {
    match missing.first() {
        Some(Placeholder::Seed) => {
            "put \"{{seed}}\" where the seed stands, or every picture of a prompt is the same one"
        }
        Some(Placeholder::Image(_)) => {
            "put \"{{image_1}}\" where a LoadImage node names its file; further ones follow without a gap"
        }
        _ => "put each, in quotes, where the value stands that it is to replace",
    }
}

/// A checked workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    graph: Graph,
    used: BTreeSet<Placeholder>,
    /// The node whose files are named after the job.
    output: Option<String>,
}

impl Workflow {
    /// Checks a workflow.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn parse(text: &str, purpose: Purpose) -> Result<Self, WorkflowFault> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| WorkflowFault::Json(error.to_string()))?;
        let Value::Object(graph) = value else {
            return Err(WorkflowFault::Form("it is no object".into()));
        };
        if graph.get("nodes").is_some_and(Value::is_array) {
            return Err(WorkflowFault::EditorFormat);
        }
        if graph.is_empty() {
            return Err(WorkflowFault::Form("it has no node".into()));
        }
        let (mut used, mut output) = (BTreeSet::new(), None);
        for (id, node) in &graph {
            let class = node.get("class_type").and_then(Value::as_str);
            let inputs = node.get("inputs").and_then(Value::as_object);
            let (Some(_), Some(inputs)) = (class, inputs) else {
                let what = format!("node {id} lacks them");
                return Err(WorkflowFault::Form(what));
            };
            for placeholder in placeholders(id, inputs)? {
                match placeholder {
                    Placeholder::Image(_) if purpose == Purpose::Text => {
                        let node = id.clone();
                        return Err(WorkflowFault::NoInputs { node, placeholder });
                    }
                    Placeholder::FilenamePrefix => output = output.or(Some(id.clone())),
                    _ => {}
                }
                used.insert(placeholder);
            }
        }
        let workflow = Self {
            graph,
            used,
            output,
        };
        match workflow.missing(purpose) {
            missing if missing.is_empty() => Ok(workflow),
            missing => Err(WorkflowFault::Lacks(missing)),
        }
    }

    fn missing(&self, purpose: Purpose) -> Vec<Placeholder> {
        let mut required = vec![Placeholder::Prompt, Placeholder::Seed];
        match purpose {
            Purpose::Text => required.extend([Placeholder::Width, Placeholder::Height]),
            // One, and none left out below the highest.
            Purpose::Image => {
                required.extend((1..=self.images().max(1)).map(Placeholder::Image));
            }
        }
        required.retain(|placeholder| !self.used.contains(placeholder));
        required
    }

    /// The highest number of an input image.
    pub fn images(&self) -> usize {
        let number = |placeholder: &Placeholder| match placeholder {
            Placeholder::Image(number) => *number,
            _ => 0,
        };
        self.used.iter().map(number).max().unwrap_or(0)
    }

    /// Does it have a place for the checkpoint?
    pub fn takes_checkpoint(&self) -> bool {
        self.used.contains(&Placeholder::Checkpoint)
    }

    /// The node whose files are the pictures, where a node says so by `{{filename_prefix}}`.
    pub fn output(&self) -> Option<&str> {
        self.output.as_deref()
    }

    /// The classes of its nodes.
    pub fn classes(&self) -> impl Iterator<Item = String> {
        let class = |node: &Value| node["class_type"].as_str().map(str::to_owned);
        self.graph.values().filter_map(class)
    }

    /// The graph for one job with so many input images, which are no more than [`images`](Self::images).
    ///
    /// Where there are fewer, the nodes that would load the others are left out, and so is every node all of whose links
    /// led to such nodes; what remains must be optional inputs, or the server refuses the graph.
    pub fn fill(&self, inputs: usize, of: &dyn Fn(Placeholder) -> Value) -> Graph {
        let mut graph = self.graph.clone();
        self.leave_out(inputs, &mut graph);
        for node in graph.values_mut() {
            if let Some(inputs) = node.get_mut("inputs") {
                fill(inputs, of);
            }
        }
        graph
    }

    fn leave_out(&self, inputs: usize, graph: &mut Graph) {
        let unused = |id: &str, node: &Value| {
            let inputs_of = node.get("inputs").and_then(Value::as_object);
            let found = inputs_of.and_then(|it| placeholders(id, it).ok());
            found.unwrap_or_default().iter().any(
                |placeholder| matches!(placeholder, Placeholder::Image(number) if *number > inputs),
            )
        };
        let mut gone: BTreeSet<String> = graph
            .iter()
            .filter(|(id, node)| unused(id, node))
            .map(|(id, _)| id.clone())
            .collect();
        // Each round takes a node away or is the last.
        while !gone.is_empty() {
            graph.retain(|id, _| !gone.contains(id));
            let mut orphans = BTreeSet::new();
            for (id, node) in graph.iter_mut() {
                let Some(inputs) = node.get_mut("inputs").and_then(Value::as_object_mut) else {
                    continue;
                };
                let before = inputs.len();
                inputs.retain(|_, value| !link(value).is_some_and(|id| gone.contains(id)));
                let lost = inputs.len() < before;
                if lost && !inputs.values().any(|value| link(value).is_some()) {
                    orphans.insert(id.clone());
                }
            }
            gone = orphans;
        }
    }
}

/// The node that a value links to: `["4", 0]`.
pub fn link(value: &Value) -> Option<&str> {
    match value.as_array().map(Vec::as_slice) {
        Some([Value::String(id), Value::Number(_)]) => Some(id),
        _ => None,
    }
}

/// The placeholders in the inputs of a node.
fn placeholders(id: &str, inputs: &Graph) -> Result<Vec<Placeholder>, WorkflowFault> {
    let mut texts = Vec::new();
    inputs.values().for_each(|value| strings(value, &mut texts));
    let mut found = BTreeSet::new();
    for piece in texts.into_iter().flat_map(pieces) {
        if let Piece::Name(name) = piece {
            let placeholder = Placeholder::named(name).ok_or_else(|| WorkflowFault::Unknown {
                node: id.to_owned(),
                name: name.to_owned(),
            })?;
            found.insert(placeholder);
        }
    }
    Ok(found.into_iter().collect())
}

fn strings<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(list) => list.iter().for_each(|value| strings(value, found)),
        Value::Object(map) => map.values().for_each(|value| strings(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
