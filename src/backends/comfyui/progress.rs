//! Computes the progress of a prompt from the events of its websocket.

use super::workflow::Graph;
use bytes::Bytes;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The weight of a sampler node; any other node weighs 1. Sampling takes nearly all of the time.
const SAMPLER_WEIGHT: f32 = 20.0;

#[derive(Clone, Debug, PartialEq)]
pub enum PromptEvent {
    /// The done fraction of the prompt.
    Fraction(f32),
    /// The bytes of a preview image.
    Preview(Bytes),
    /// The prompt has ended, successfully or not.
    Ended,
}

/// The preview image in a binary frame. The server sends these frames only to the client that submitted the prompt.
pub fn preview_in(frame: &Bytes) -> Option<Bytes> {
    let number = |at: usize| {
        let bytes = frame.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let start = match number(0)? {
        // Four bytes with the image format precede the image; its own bytes also show the format.
        1 => 8,
        // JSON of this length precedes the image.
        4 => 8usize.checked_add(usize::try_from(number(4)?).ok()?)?,
        _ => return None,
    };
    (start < frame.len()).then(|| frame.slice(start..))
}

#[derive(Debug)]
pub struct ProgressMeter {
    prompt: String,
    weights: HashMap<String, f32>,
    finished: HashSet<String>,
    /// The running node and its own done fraction.
    running: Option<(String, f32)>,
}

impl ProgressMeter {
    pub fn new(prompt: &str, graph: &Graph) -> Self {
        let weight = |node: &Value| {
            let class = node["class_type"].as_str().unwrap_or_default();
            if class.contains("Sampler") {
                SAMPLER_WEIGHT
            } else {
                1.0
            }
        };
        let weights = graph.iter().map(|(id, node)| (id.clone(), weight(node)));
        Self {
            prompt: prompt.to_owned(),
            weights: weights.collect(),
            finished: HashSet::new(),
            running: None,
        }
    }

    /// Processes a text frame. `None` for another prompt's frame, or a frame without news.
    pub fn on_frame(&mut self, frame: &str) -> Option<PromptEvent> {
        let event: Value = serde_json::from_str(frame).ok()?;
        let data = &event["data"];
        if data["prompt_id"]
            .as_str()
            .is_some_and(|id| id != self.prompt)
        {
            return None;
        }
        match event["type"].as_str()? {
            "execution_success" | "execution_error" | "execution_interrupted" => {
                Some(PromptEvent::Ended)
            }
            "execution_cached" => {
                let nodes = data["nodes"].as_array()?;
                nodes
                    .iter()
                    .filter_map(Value::as_str)
                    .for_each(|id| self.finish(id));
                self.fraction()
            }
            "executing" => {
                let Some(id) = data["node"].as_str() else {
                    return Some(PromptEvent::Ended);
                };
                if let Some((before, _)) = self.running.take() {
                    self.finish(&before);
                }
                self.running = Some((id.to_owned(), 0.0));
                self.fraction()
            }
            "progress" => {
                let node = data["node"].as_str().map(str::to_owned);
                let id = node.or_else(|| self.running.as_ref().map(|(id, _)| id.clone()))?;
                self.running = Some((id, part(data)?));
                self.fraction()
            }
            "progress_state" => {
                for (id, node) in data["nodes"].as_object()? {
                    match node["state"].as_str() {
                        Some("finished") => self.finish(id),
                        Some("running") => {
                            self.running = Some((id.clone(), part(node).unwrap_or(0.0)))
                        }
                        _ => {}
                    }
                }
                self.fraction()
            }
            "executed" => {
                self.finish(data["node"].as_str()?);
                self.fraction()
            }
            _ => None,
        }
    }

    fn finish(&mut self, id: &str) {
        if self.weights.contains_key(id) {
            self.finished.insert(id.to_owned());
        }
    }

    fn fraction(&self) -> Option<PromptEvent> {
        let all: f32 = self.weights.values().sum();
        let weight = |id: &String| self.weights.get(id).copied().unwrap_or(0.0);
        let finished: f32 = self.finished.iter().map(weight).sum();
        let running = self
            .running
            .as_ref()
            .filter(|(id, _)| !self.finished.contains(id));
        let running = running.map_or(0.0, |(id, part)| weight(id) * part);
        (all > 0.0).then(|| PromptEvent::Fraction((finished + running) / all))
    }
}

/// `value` divided by `max`.
fn part(data: &Value) -> Option<f32> {
    let (value, max) = (data["value"].as_f64()?, data["max"].as_f64()?);
    (max > 0.0).then(|| (value / max).clamp(0.0, 1.0) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn meter() -> ProgressMeter {
        let graph = json!({
            "1": {"class_type": "CheckpointLoaderSimple"}, "2": {"class_type": "CLIPTextEncode"},
            "3": {"class_type": "KSampler"}, "4": {"class_type": "VAEDecode"}, "5": {"class_type": "SaveImage"},
        });
        ProgressMeter::new("p", graph.as_object().unwrap())
    }

    fn on_frame(meter: &mut ProgressMeter, kind: &str, data: Value) -> Option<PromptEvent> {
        meter.on_frame(&json!({"type": kind, "data": data}).to_string())
    }

    fn percent(word: Option<PromptEvent>) -> u32 {
        match word {
            Some(PromptEvent::Fraction(fraction)) => (fraction * 100.0).round() as u32,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn progress_rises_over_the_nodes_and_steps_of_a_run() {
        let mut meter = meter();
        let node = |id: &str| json!({"node": id, "prompt_id": "p"});
        let cached = json!({"nodes": ["1", "unknown"], "prompt_id": "p"});
        assert_eq!(percent(on_frame(&mut meter, "execution_cached", cached)), 4);
        assert_eq!(percent(on_frame(&mut meter, "executing", node("2"))), 4);
        assert_eq!(percent(on_frame(&mut meter, "executing", node("3"))), 8);
        let step = |value: u32| json!({"value": value, "max": 20, "prompt_id": "p", "node": "3"});
        assert_eq!(percent(on_frame(&mut meter, "progress", step(10))), 50);
        assert_eq!(percent(on_frame(&mut meter, "progress", step(20))), 92);
        assert_eq!(percent(on_frame(&mut meter, "executing", node("4"))), 92);
        assert_eq!(percent(on_frame(&mut meter, "executing", node("5"))), 96);
        let saved = json!({"node": "5", "prompt_id": "p", "output": {"images": []}});
        assert_eq!(percent(on_frame(&mut meter, "executed", saved)), 100);
        assert_eq!(
            on_frame(
                &mut meter,
                "executing",
                json!({"node": null, "prompt_id": "p"})
            ),
            Some(PromptEvent::Ended)
        );
    }

    #[test]
    fn the_newer_form_gives_the_same_progress() {
        let mut meter = meter();
        let nodes = json!({"1": {"state": "finished"}, "2": {"state": "finished"}, "3": {"state": "running", "value": 5, "max": 20}});
        let state = json!({"prompt_id": "p", "nodes": nodes});
        assert_eq!(percent(on_frame(&mut meter, "progress_state", state)), 29);
        for end in [
            "execution_success",
            "execution_error",
            "execution_interrupted",
        ] {
            assert_eq!(
                on_frame(&mut meter, end, json!({"prompt_id": "p"})),
                Some(PromptEvent::Ended)
            );
        }
    }

    #[test]
    fn irrelevant_frames_are_ignored() {
        let mut meter = meter();
        let others = json!({"value": 1, "max": 2, "prompt_id": "q", "node": "3"});
        assert_eq!(on_frame(&mut meter, "progress", others), None);
        assert_eq!(
            on_frame(&mut meter, "execution_success", json!({"prompt_id": "q"})),
            None
        );
        assert_eq!(
            on_frame(
                &mut meter,
                "status",
                json!({"status": {"exec_info": {"queue_remaining": 1}}})
            ),
            None
        );
        assert_eq!(
            on_frame(
                &mut meter,
                "progress",
                json!({"value": 1, "max": 0, "node": "3"})
            ),
            None
        );
        assert_eq!(
            on_frame(&mut meter, "progress", json!({"value": "1", "max": []})),
            None
        );
        assert_eq!(on_frame(&mut meter, "progress", json!(7)), None);
        for odd in [
            "",
            "{",
            "[]",
            "null",
            "{\"type\": 1}",
            "{\"data\": {}}",
            "{\"type\":\"executing\"}",
        ] {
            let word = meter.on_frame(odd);
            assert!(word.is_none() || word == Some(PromptEvent::Ended), "{odd}");
        }
        let mut empty = ProgressMeter::new("p", &Graph::new());
        assert_eq!(
            on_frame(&mut empty, "executing", json!({"node": "3"})),
            None
        );
    }

    #[test]
    fn a_binary_frame_may_contain_a_preview() {
        let image = |frame: &'static [u8]| preview_in(&Bytes::from_static(frame));
        let found = Some(Bytes::from_static(b"image"));
        assert_eq!(image(b"\0\0\0\x01\0\0\0\x02image"), found);
        assert_eq!(image(b"\0\0\0\x04\0\0\0\x02{}image"), found);
        for other in [
            &b"\0\0\0\x03\0\0\0\x02text"[..],
            b"\0\0\0\x04\xff\xff\xff\xff{}image",
            b"\0\0\0\x04\0\0\0\x07{}image",
            b"\0\0\0\x01\0\0\0\x02",
            b"\0\0\0\x04\0",
            b"\0",
            b"",
        ] {
            assert_eq!(image(other), None, "{other:?}");
        }
    }
}
