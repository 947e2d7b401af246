//! Conversations as written by the SDKs and by people.

use super::*;
use crate::compat::conversation::Source;
use serde_json::{Value, json};

fn read_json(body: Value) -> Result<Content, Refusal> {
    let json = Json::parse(&body.to_string(), 64).expect("JSON");
    let object = Object::of("", &json)?;
    read(&object, 100)
}

fn refused(body: Value) -> String {
    read_json(body).expect_err("refused").message
}

fn image(number: usize) -> Value {
    json!({"inlineData": {"mimeType": "image/png", "data": number.to_string()}})
}

fn inline(field: &str, number: usize) -> InputImage {
    InputImage {
        field: field.into(),
        source: Source::Inline(number),
    }
}

#[test]
fn texts_of_the_last_turn_are_lines_of_the_prompt() {
    let body = json!({"contents": [{"role": "user", "parts": [
        {"text": "a fox"}, {"text": ""}, {"text": "in the\u{0} snow"},
    ]}]});
    assert_eq!(read_json(body).unwrap().prompt, "a fox\nin the snow");
    let bare = json!({"contents": {"parts": {"text": "a fox"}}});
    assert_eq!(read_json(bare).unwrap().prompt, "a fox");
}

#[test]
fn cached_content_is_refused_because_the_prompt_would_lack_it() {
    for name in ["cachedContent", "cached_content"] {
        let body = json!({"contents": [{"parts": [{"text": "a fox"}]}], name: "cachedContents/a"});
        let said = refused(body);
        assert!(said.starts_with("cachedContent is not supported"), "{said}");
    }
}

#[test]
fn the_system_instruction_goes_before_the_prompt() {
    for instruction in [
        json!({"parts": [{"text": "in ink"}], "role": "user"}),
        json!("in ink"),
    ] {
        for name in ["systemInstruction", "system_instruction"] {
            let body = json!({"contents": [{"parts": [{"text": "a fox"}]}], name: instruction});
            assert_eq!(read_json(body).unwrap().prompt, "in ink\n\na fox");
        }
    }
}

#[test]
fn images_of_the_model_come_before_those_of_the_last_turn() {
    let body = json!({"contents": [
        {"role": "user", "parts": [{"text": "a fox"}, image(0)]},
        {"role": "model", "parts": [{"text": "here"}, {"inline_data": {"mime_type": "image/png", "data": "1"}}]},
        {"role": "user", "parts": [{"text": "a hat"}, image(2)]},
        {"role": "model", "parts": [image(3)]},
        {"role": "user", "parts": [image(4), {"text": "wear it"}]},
    ]});
    let content = read_json(body).unwrap();
    assert_eq!(content.prompt, "wear it");
    assert_eq!(
        content.images,
        [
            inline("contents[1].parts[1].inlineData.data", 1),
            inline("contents[3].parts[0].inlineData.data", 3),
            inline("contents[4].parts[0].inlineData.data", 4),
        ]
    );
}

#[test]
fn consecutive_entries_of_the_user_are_one_turn() {
    let body = json!({"contents": [
        {"role": "user", "parts": [{"text": "a fox"}]},
        {"role": "model", "parts": [image(0)]},
        {"role": "user", "parts": [image(1)]},
        {"parts": [{"text": "make it blue"}]},
        {"role": "user", "parts": [{"text": "with a hat"}, image(2)]},
        {"role": "model", "parts": [image(3)]},
    ]});
    let content = read_json(body).unwrap();
    assert_eq!(content.prompt, "make it blue\nwith a hat");
    let sources: Vec<Source> = content.images.into_iter().map(|it| it.source).collect();
    assert_eq!(sources, [0, 1, 2].map(Source::Inline));
    let halves = [0..8, 8..15].map(|it| json!({"parts": it.map(image).collect::<Vec<_>>()}));
    let text = json!({"parts": [{"text": "more"}]});
    let [first, second] = halves;
    let message = refused(json!({"contents": [first, second, text]}));
    assert!(message.contains("15 images"), "{message}");
}

#[test]
fn beyond_fourteen_the_oldest_images_of_the_model_are_dropped() {
    let mut contents: Vec<Value> = (0..20)
        .map(|number| json!({"role": "model", "parts": [image(number)]}))
        .collect();
    contents.push(json!({"role": "user", "parts": [{"text": "more"}, image(20)]}));
    let content = read_json(json!({ "contents": contents })).unwrap();
    let numbers: Vec<Source> = content.images.into_iter().map(|it| it.source).collect();
    let newest: Vec<Source> = (7..=20).map(Source::Inline).collect();
    assert_eq!(numbers, newest);
    let mut parts: Vec<Value> = (0..15).map(image).collect();
    parts.push(json!({"text": "more"}));
    let message = refused(json!({"contents": [{"parts": parts}]}));
    assert!(message.contains("15 images"), "{message}");
}

#[test]
fn thoughts_and_other_parts_are_ignored() {
    let body = json!({"contents": [
        {"role": "model", "parts": [{"thought": true, "text": "hm"}, {"thought": true, "inlineData": {"data": "0"}}]},
        {"role": "user", "parts": [{"text": "a fox"}, {"functionResponse": {"name": "f"}}, {}]},
    ]});
    let content = read_json(body).unwrap();
    assert_eq!(
        (content.prompt.as_str(), content.images.len()),
        ("a fox", 0)
    );
}

#[test]
fn files_have_http_urls() {
    for name in ["fileUri", "file_uri"] {
        let body = json!({"contents": [{"parts": [
            {"text": "a fox"}, {"fileData": {name: "https://a.example/x.png", "mimeType": "image/png"}},
        ]}]});
        let content = read_json(body).unwrap();
        assert_eq!(
            content.images[0].source,
            Source::Url("https://a.example/x.png".into())
        );
    }
    for uri in [
        "data:image/png;base64,AAAA",
        "gs://bucket/x",
        "",
        "files/abc",
    ] {
        let part = json!({"fileData": {"fileUri": uri}});
        let message = refused(json!({"contents": [{"parts": [{"text": "a"}, part]}]}));
        assert!(
            message.starts_with("contents[0].parts[1].fileData.fileUri must start with"),
            "{message}"
        );
    }
}

#[test]
fn each_error_names_its_field() {
    for (body, message) in [
        (json!({}), "contents is required"),
        (json!({"contents": null}), "contents is required"),
        (
            json!({"contents": "a fox"}),
            "contents must be an array of objects",
        ),
        (json!({"contents": []}), "contents must contain a user turn"),
        (
            json!({"contents": [{"role": "model", "parts": [{"text": "a"}]}]}),
            "contents must contain a user turn",
        ),
        (
            json!({"contents": [{"parts": []}]}),
            "contents must contain text in the last user turn",
        ),
        (json!({"contents": [7]}), "contents[0] must be an object"),
        (
            json!({"contents": [{"role": 7}]}),
            "contents[0].role must be a string",
        ),
        (
            json!({"contents": [{"parts": [{"text": 7}]}]}),
            "contents[0].parts[0].text must be a string",
        ),
        (
            json!({"contents": [{"parts": [{"inlineData": {}}]}]}),
            "contents[0].parts[0].inlineData.data is required",
        ),
        (
            json!({"contents": [{"parts": [{"inlineData": {"data": 7}}]}]}),
            "contents[0].parts[0].inlineData.data must be a string",
        ),
        (
            json!({"contents": [{"parts": [{"inlineData": {}, "inline_data": {}}]}]}),
            "contents[0].parts[0].inlineData is given twice, as `inlineData` and as `inline_data`",
        ),
        (
            json!({"contents": [{"parts": [{"text": "x".repeat(101)}]}]}),
            "contents has 101 characters; at most 100 are allowed",
        ),
    ] {
        assert_eq!(refused(body), message);
    }
}
