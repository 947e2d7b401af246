//! Parsing and filling in workflows.

use super::*;
use serde_json::json;

/// A workflow with these inputs of one node.
fn with(inputs: Value) -> String {
    json!({"3": {"class_type": "KSampler", "inputs": inputs}}).to_string()
}

fn fault(text: &str, purpose: Purpose) -> String {
    Workflow::parse(text, purpose).unwrap_err().to_string()
}

fn sized() -> Value {
    json!({"text": "{{prompt}}", "seed": "{{seed}}", "w": "{{width}}", "h": "{{height}}"})
}

#[test]
fn each_invalid_workflow_gets_its_own_message() {
    let text = |text: &str| fault(text, Purpose::Text);
    assert!(text("{").starts_with("it is not valid JSON: EOF"));
    assert!(text("[]").ends_with("it is not an object"));
    assert!(text("{}").ends_with("it has no node"));
    let editor = r#"{"last_node_id": 9, "nodes": [{"id": 4}], "links": [], "version": 0.4}"#;
    assert!(text(editor).contains("Workflow > Export (API)"));
    for node in [
        json!(7),
        json!({"inputs": {}}),
        json!({"class_type": "X"}),
        json!({"class_type": 1, "inputs": {}}),
    ] {
        let incomplete = json!({ "12": node }).to_string();
        assert!(
            text(&incomplete).ends_with("node 12 lacks them"),
            "{incomplete}"
        );
    }
}

#[test]
fn missing_placeholders_are_named() {
    let fixed = with(json!({"text": "a fox", "seed": 5}));
    assert!(
        fault(&fixed, Purpose::Text)
            .starts_with("it lacks {{prompt}}, {{seed}}, {{width}}, {{height}}: write each")
    );
    assert!(
        fault(&fixed, Purpose::Image).starts_with("it lacks {{prompt}}, {{seed}}, {{image_1}}:")
    );
    let still = with(json!({"t": "{{prompt}}", "w": "{{width}}", "h": "{{height}}"}));
    assert!(fault(&still, Purpose::Text).contains("every image of a prompt is the same"));
    let gap =
        with(json!({"t": "{{prompt}}", "s": "{{seed}}", "a": "{{image_1}}", "b": "{{image_3}}"}));
    assert!(fault(&gap, Purpose::Image).starts_with("it lacks {{image_2}}: "));
}

#[test]
fn a_typo_in_a_name_is_found() {
    let typo = with(json!({"text": "a {{promt}}"}));
    let message = fault(&typo, Purpose::Text);
    assert!(
        message.starts_with("node 3: {{promt}} is not a placeholder; use {{prompt}},"),
        "{message}"
    );
    let image = with(json!({"text": "{{prompt}}", "image": "{{image_1}}"}));
    assert!(fault(&image, Purpose::Text).starts_with("node 3: {{image_1}} is for image-to-image"));
    let mut other = sized();
    other["wild"] = json!("{{a|b}} {x}");
    assert!(
        Workflow::parse(&with(other), Purpose::Text).is_ok(),
        "no names, so no placeholders"
    );
}

#[test]
fn placeholders_in_node_titles_are_not_replaced() {
    let text =
        json!({"3": {"class_type": "X", "inputs": sized(), "_meta": {"title": "{{nonsense}}"}}});
    let workflow = Workflow::parse(&text.to_string(), Purpose::Text).unwrap();
    let graph = workflow.fill(0, &|_| json!(1));
    assert_eq!(graph["3"]["_meta"]["title"], "{{nonsense}}");
}

#[test]
fn placeholders_are_replaced_with_typed_values() {
    let workflow = Workflow::parse(&with(sized()), Purpose::Text).unwrap();
    let graph = workflow.fill(0, &|placeholder| match placeholder {
        Placeholder::Prompt => json!("say \"hi\"\n{{seed}}"),
        _ => json!(64),
    });
    assert_eq!(
        graph["3"]["inputs"],
        json!({"text": "say \"hi\"\n{{seed}}", "seed": 64, "w": 64, "h": 64})
    );
    assert!(!workflow.takes_checkpoint());
    assert_eq!(workflow.output(), None);
}

/// Like a workflow for an editing model: the first input is required, the others are optional, and one of them is scaled first.
fn editing() -> Workflow {
    let text = json!({
        "1": {"class_type": "LoadImage", "inputs": {"image": "{{image_1}}"}},
        "2": {"class_type": "LoadImage", "inputs": {"image": "{{image_2}}"}},
        "3": {"class_type": "LoadImage", "inputs": {"image": "{{image_3}}"}},
        "4": {"class_type": "ImageScale", "inputs": {"image": ["3", 0], "width": 512}},
        "5": {"class_type": "TextEncodeQwenImageEditPlus", "inputs": {
            "prompt": "{{prompt}}", "clip": ["7", 0], "image1": ["1", 0], "image2": ["2", 0], "image3": ["4", 0]}},
        "6": {"class_type": "KSampler", "inputs": {"seed": "{{seed}}", "positive": ["5", 0], "latent": ["7", 1]}},
        "7": {"class_type": "Loader", "inputs": {"pair": ["a", "b"]}},
    });
    Workflow::parse(&text.to_string(), Purpose::Image).unwrap()
}

#[test]
fn nodes_of_missing_inputs_are_removed() {
    let workflow = editing();
    assert_eq!(workflow.images(), 3);
    let shape = |inputs: usize| {
        let graph = workflow.fill(inputs, &|placeholder| placeholder.to_string().into());
        let ids = graph.keys().cloned().collect::<Vec<_>>().join("");
        let encoder = graph["5"]["inputs"].as_object().unwrap();
        let images = encoder.keys().filter(|key| key.starts_with("image"));
        (ids, images.cloned().collect::<Vec<_>>().join(","))
    };
    assert_eq!(shape(3), ("1234567".into(), "image1,image2,image3".into()));
    assert_eq!(shape(2), ("12567".into(), "image1,image2".into()));
    assert_eq!(shape(1), ("1567".into(), "image1".into()));
}
