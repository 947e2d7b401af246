//! A workflow in ComfyUI's API format: checked once at startup, filled in for each job.

use super::placeholder::{Piece, Placeholder, fill, pieces};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Text-to-image.
    Text,
    /// Image-to-image.
    Image,
}

/// Nodes by id.
pub type Graph = Map<String, Value>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowFault {
    #[error("it is not valid JSON: {0}")]
    Json(String),
    /// The format of ComfyUI's plain "Save".
    #[error(
        "it was saved for the editor, not for the API; export it again in ComfyUI: Workflow > Export (API)"
    )]
    EditorFormat,
    #[error(
        "it is not in ComfyUI's API format, a JSON object of nodes with `class_type` and `inputs`: {0}"
    )]
    Form(String),
    #[error("node {node}: {{{{{name}}}}} is not a placeholder; use {known}", known = known_placeholders())]
    Unknown { node: String, name: String },
    /// A text-to-image workflow uses an input image.
    #[error(
        "node {node}: {placeholder} is for image-to-image; a text-to-image job has no input image"
    )]
    NoInputs {
        node: String,
        placeholder: Placeholder,
    },
    #[error("it lacks {missing}: {hint}", missing = join(.0), hint = hint(.0))]
    Lacks(Vec<Placeholder>),
}

fn known_placeholders() -> &'static str {
    "{{prompt}}, {{seed}}, {{width}}, {{height}}, {{final_width}}, {{final_height}}, {{checkpoint}}, {{filename_prefix}} or {{image_1}} to {{image_14}}"
}

fn join(placeholders: &[Placeholder]) -> String {
    let names: Vec<String> = placeholders.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn hint(missing: &[Placeholder]) -> &'static str {
    match missing.first() {
        Some(Placeholder::Seed) => {
            "write \"{{seed}}\" as the value of the seed; otherwise every image of a prompt is the same"
        }
        Some(Placeholder::Image(_)) => {
            "write \"{{image_1}}\" as the file of a LoadImage node, and number further images without a gap"
        }
        _ => "write each, in quotes, in place of the value that it replaces",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    graph: Graph,
    used: BTreeSet<Placeholder>,
    /// The node with `{{filename_prefix}}`.
    output: Option<String>,
}

impl Workflow {
    pub fn parse(text: &str, purpose: Purpose) -> Result<Self, WorkflowFault> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| WorkflowFault::Json(error.to_string()))?;
        let Value::Object(graph) = value else {
            return Err(WorkflowFault::Form("it is not an object".into()));
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
            // At least one, and no gap below the highest.
            Purpose::Image => {
                required.extend((1..=self.images().max(1)).map(Placeholder::Image));
            }
        }
        required.retain(|placeholder| !self.used.contains(placeholder));
        required
    }

    /// The number of input images.
    pub fn images(&self) -> usize {
        let number = |placeholder: &Placeholder| match placeholder {
            Placeholder::Image(number) => *number,
            _ => 0,
        };
        self.used.iter().map(number).max().unwrap_or(0)
    }

    pub fn takes_checkpoint(&self) -> bool {
        self.used.contains(&Placeholder::Checkpoint)
    }

    /// The node that writes the result: the one with `{{filename_prefix}}`, if any.
    pub fn output(&self) -> Option<&str> {
        self.output.as_deref()
    }

    pub fn classes(&self) -> impl Iterator<Item = String> {
        let class = |node: &Value| node["class_type"].as_str().map(str::to_owned);
        self.graph.values().filter_map(class)
    }

    /// The graph for one job with at most [`images`](Self::images) input images.
    ///
    /// With fewer images, `fill` removes the nodes that load the missing ones, and every node whose links all led to removed
    /// nodes. Other links to removed nodes must be optional inputs, or the server refuses the graph.
    pub fn fill(&self, inputs: usize, of: &dyn Fn(Placeholder) -> Value) -> Graph {
        let mut graph = self.graph.clone();
        self.remove_unused(inputs, &mut graph);
        for node in graph.values_mut() {
            if let Some(inputs) = node.get_mut("inputs") {
                fill(inputs, of);
            }
        }
        graph
    }

    fn remove_unused(&self, inputs: usize, graph: &mut Graph) {
        let unused = |id: &str, node: &Value| {
            let inputs_of = node.get("inputs").and_then(Value::as_object);
            let found = inputs_of.and_then(|it| placeholders(id, it).ok());
            found.unwrap_or_default().iter().any(
                |placeholder| matches!(placeholder, Placeholder::Image(number) if *number > inputs),
            )
        };
        let mut removed: BTreeSet<String> = graph
            .iter()
            .filter(|(id, node)| unused(id, node))
            .map(|(id, _)| id.clone())
            .collect();
        // Terminates: each round removes at least one node or is the last.
        while !removed.is_empty() {
            graph.retain(|id, _| !removed.contains(id));
            let mut orphans = BTreeSet::new();
            for (id, node) in graph.iter_mut() {
                let Some(inputs) = node.get_mut("inputs").and_then(Value::as_object_mut) else {
                    continue;
                };
                let before = inputs.len();
                inputs.retain(|_, value| !link(value).is_some_and(|id| removed.contains(id)));
                let lost = inputs.len() < before;
                if lost && !inputs.values().any(|value| link(value).is_some()) {
                    orphans.insert(id.clone());
                }
            }
            removed = orphans;
        }
    }
}

/// The target node of a link such as `["4", 0]`.
pub fn link(value: &Value) -> Option<&str> {
    match value.as_array().map(Vec::as_slice) {
        Some([Value::String(id), Value::Number(_)]) => Some(id),
        _ => None,
    }
}

fn placeholders(id: &str, inputs: &Graph) -> Result<Vec<Placeholder>, WorkflowFault> {
    let mut texts = Vec::new();
    inputs
        .values()
        .for_each(|value| collect_strings(value, &mut texts));
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

fn collect_strings<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(list) => list.iter().for_each(|value| collect_strings(value, found)),
        Value::Object(map) => map.values().for_each(|value| collect_strings(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
