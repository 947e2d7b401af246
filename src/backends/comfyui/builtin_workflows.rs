//! The built-in workflows, for checkpoints of the SD 1.5 and SDXL families.
//!
//! Text-to-image is `workflows/text.json`. Image-to-image extends `workflows/image.json`, which paints over one input; several
//! inputs are first blended with equal weights. These checkpoints do not support reference images: real composition needs an
//! editing model in the operator's own workflow.

use super::workflow::{Purpose, Workflow, WorkflowFault};
use serde_json::{Value, json};

const TEXT: &str = include_str!("workflows/text.json");
const IMAGE: &str = include_str!("workflows/image.json");

/// # Errors
/// A test proves that there are none.
pub fn text() -> Result<Workflow, WorkflowFault> {
    Workflow::parse(TEXT, Purpose::Text)
}

/// Image-to-image with this number of input images, at least one.
///
/// # Errors
/// A test proves that there are none.
pub fn image(inputs: usize) -> Result<Workflow, WorkflowFault> {
    Workflow::parse(&image_graph(inputs)?.to_string(), Purpose::Image)
}

/// A file to start an own workflow from: text-to-image for no inputs, else image-to-image with this number of inputs.
///
/// # Errors
/// A test proves that there are none.
pub fn file(inputs: usize) -> Result<String, WorkflowFault> {
    match inputs {
        0 => Ok(TEXT.to_owned()),
        inputs => Ok(format!("{:#}\n", image_graph(inputs)?)),
    }
}

fn image_graph(inputs: usize) -> Result<Value, WorkflowFault> {
    let mut graph: Value =
        serde_json::from_str(IMAGE).map_err(|error| WorkflowFault::Json(error.to_string()))?;
    let mut last = "fit_1".to_owned();
    for number in 2..=inputs {
        let mut load = graph["image_1"].clone();
        load["inputs"]["image"] = format!("{{{{image_{number}}}}}").into();
        load["_meta"]["title"] = format!("Input image {number}").into();
        let mut fit = graph["fit_1"].clone();
        fit["inputs"]["image"][0] = format!("image_{number}").into();
        fit["_meta"]["title"] = format!("Scale input image {number}").into();
        let blend = format!("blend_{number}");
        // This factor gives every input so far the same weight.
        graph[blend.as_str()] = json!({
            "class_type": "ImageBlend",
            "inputs": {
                "image1": [last, 0],
                "image2": [format!("fit_{number}"), 0],
                "blend_factor": 1.0 / number as f64,
                "blend_mode": "normal",
            },
            "_meta": {"title": format!("Input images 1 to {number}")},
        });
        graph[format!("image_{number}")] = load;
        graph[format!("fit_{number}")] = fit;
        last = blend;
    }
    graph["encode"]["inputs"]["pixels"][0] = last.into();
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::super::workflow::link;
    use super::*;
    use tintype_storage::domain::request::MAX_INPUTS;

    #[test]
    fn every_built_in_workflow_is_complete() {
        let mut all = vec![(text().unwrap(), 0)];
        all.extend((1..=MAX_INPUTS).map(|inputs| (image(inputs).unwrap(), inputs)));
        for (workflow, inputs) in all {
            assert_eq!(workflow.images(), inputs);
            assert!(workflow.takes_checkpoint());
            assert_eq!(workflow.output(), Some("save"));
            let graph = workflow.fill(inputs, &|placeholder| placeholder.to_string().into());
            let kind = |class: &str| {
                let of_class = |node: &&Value| node["class_type"] == class;
                graph.values().filter(of_class).count()
            };
            assert_eq!((kind("LoadImage"), kind("ImageScale")), (inputs, inputs));
            assert_eq!(kind("ImageBlend"), inputs.saturating_sub(1));
            for node in graph.values() {
                for value in node["inputs"].as_object().unwrap().values() {
                    let missing = link(value).filter(|id| !graph.contains_key(*id));
                    assert_eq!(missing, None, "every link leads somewhere");
                }
            }
        }
    }

    #[test]
    fn several_input_images_have_equal_weights() {
        let graph = image(3).unwrap().fill(3, &|it| it.to_string().into());
        let factor = |number: usize| {
            let node = &graph[&format!("blend_{number}")];
            node["inputs"]["blend_factor"].as_f64().unwrap()
        };
        let third = factor(3);
        let second = factor(2) * (1.0 - third);
        let first = (1.0 - factor(2)) * (1.0 - third);
        for weight in [first, second, third] {
            assert!((weight - 1.0 / 3.0).abs() < 1e-9);
        }
        assert_eq!(graph["encode"]["inputs"]["pixels"], json!(["blend_3", 0]));
    }
}
