//! The result must not depend on how a body is split into chunks.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

type ScanResult = (String, Vec<Result<Vec<u8>, Base64Fault>>);

fn scan(fields: ImageFields, body: &[u8], piece: usize) -> Result<ScanResult, ScanFault> {
    let mut scanner = Scanner::new(fields, 10_000);
    let (mut images, mut current) = (Vec::new(), Vec::new());
    for piece in body.chunks(piece) {
        let mut out = Vec::new();
        scanner.push(piece, &mut out)?;
        for piece in out {
            match piece {
                Piece::Begin => current.clear(),
                Piece::Bytes(bytes) => current.extend(bytes),
                Piece::End(outcome) => images.push(outcome.map(|()| current.clone())),
            }
        }
    }
    let text = String::from_utf8_lossy(&scanner.into_text()).into_owned();
    Ok((text, images))
}

/// Checks that chunks of any size give the same result.
#[track_caller]
fn scanned_by(fields: ImageFields, body: &str) -> ScanResult {
    let whole = scan(fields, body.as_bytes(), usize::MAX).expect("within limits");
    for piece in [1, 2, 3, 7, 64] {
        let again = scan(fields, body.as_bytes(), piece).expect("within bounds");
        assert_eq!(again, whole, "in pieces of {piece}");
    }
    whole
}

#[track_caller]
fn scanned(body: &str) -> ScanResult {
    scanned_by(ImageFields::InlineData, body)
}

#[test]
fn images_are_extracted_and_numbered() {
    let (a, b) = (STANDARD.encode([1; 300]), STANDARD.encode([2; 100]));
    let body = format!(
        r#"{{"contents":[{{"parts":[{{"inlineData":{{"mimeType":"image/png","data":"{a}"}}}},
        {{"inline_data":{{"data" : "{b}" , "mime_type":"image/png"}}}}]}}]}}"#
    );
    let (text, images) = scanned(&body);
    assert_eq!(images, [Ok(vec![1; 300]), Ok(vec![2; 100])]);
    assert_eq!(
        text,
        r#"{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"0"}},
        {"inline_data":{"data" : "1" , "mime_type":"image/png"}}]}]}"#
    );
}

#[test]
fn only_data_of_inline_data_is_an_image() {
    for body in [
        r#"{"data":"AAAA"}"#,
        r#"["inlineData",{"data":"AAAA"}]"#,
        r#"{"inlineData":"data","data":"AAAA"}"#,
        r#"{"inlineData":{"deeper":{"data":"AAAA"}}}"#,
        r#"{"inlineData":[{"data":"AAAA"}]}"#,
        r#"{"inlineData":{"data":["AAAA"]}}"#,
        r#"{"inlineData":{"mimeType":"data","other":"AAAA"}}"#,
        r#"{"text":"{\"inlineData\":{\"data\":\"AAAA\"}}"}"#,
        r#"{"inlineData":{"data":7}}"#,
    ] {
        assert_eq!(scanned(body), (body.to_owned(), vec![]));
    }
}

#[test]
fn each_data_is_an_image_if_the_body_has_no_other_name_for_it() {
    let data = STANDARD.encode([1; 300]);
    let body = format!(r#"{{"input":[{{"data":"{data}","type":"image"}},{{"text":"data"}}]}}"#);
    let (text, images) = scanned_by(ImageFields::Data, &body);
    assert_eq!(images, [Ok(vec![1; 300])]);
    let expected = r#"{"input":[{"data":"0","type":"image"},{"text":"data"}]}"#;
    assert_eq!(text, expected);
}

#[test]
fn names_and_data_may_be_escaped() {
    let body = r#"{"inline\u0044ata":{"\u0064\u0061\u0074\u0061":"AA\/+\u002f\u003D\u003d"}}"#;
    let (text, images) = scanned(body);
    assert!(text.ends_with(r#":"0"}}"#), "{text}");
    assert_eq!(images.len(), 1);
    assert!(
        images[0].is_err(),
        "five characters and two of padding: {images:?}"
    );
    let (_, images) = scanned(r#"{"inlineData":{"data":"AA\/\u002f\nAA\u003d\u003D"}}"#);
    assert_eq!(images, [Ok(vec![0, 15, 255, 0])]);
}

#[test]
fn an_escaped_quote_does_not_end_a_string() {
    let body = r#"{"text":"a \"b\\","inlineData":{"data":"AAAA"}}"#;
    let (text, images) = scanned(body);
    assert_eq!(images, [Ok(vec![0; 3])]);
    assert_eq!(text, r#"{"text":"a \"b\\","inlineData":{"data":"0"}}"#);
}

#[test]
fn an_invalid_image_is_reported_at_its_end_and_scanning_continues() {
    let body = r#"[{"inlineData":{"data":"AA!A"}},{"inlineData":{"data":"AAAA"}},{"inlineData":{"data":"A\u00e9"}}]"#;
    let (_, images) = scanned(body);
    assert!(images[0].is_err() && images[2].is_err(), "{images:?}");
    assert_eq!(images[1], Ok(vec![0; 3]));
}

#[test]
fn thought_signatures_are_dropped() {
    let long = "A".repeat(50_000);
    let body =
        format!(r#"{{"thoughtSignature":"{long}","text":"a","thought_signature":"\"{long}"}}"#);
    let (text, images) = scanned(&body);
    assert_eq!(
        text,
        r#"{"thoughtSignature":"","text":"a","thought_signature":""}"#
    );
    assert!(images.is_empty());
}

#[test]
fn text_and_depth_are_limited_and_images_are_not() {
    let long = "A".repeat(40_000);
    let body = format!(r#"{{"inlineData":{{"data":"{long}"}}}}"#);
    assert_eq!(scanned(&body).1, [Ok(vec![0; 30_000])]);
    let body = format!(r#"{{"text":"{long}"}}"#);
    assert_eq!(
        scan(ImageFields::InlineData, body.as_bytes(), 100),
        Err(ScanFault::TooMuchText(10_000))
    );
    let deep = "[".repeat(MAX_DEPTH);
    assert!(scan(ImageFields::InlineData, deep.as_bytes(), 10).is_ok());
    for deeper in ["[", "{"] {
        let body = format!("{deep}{deeper}");
        let refused = scan(ImageFields::InlineData, body.as_bytes(), 10);
        assert_eq!(refused, Err(ScanFault::TooDeep));
    }
}

#[test]
fn invalid_json_never_becomes_valid_by_extraction() {
    for body in [
        r#"{"inlineData":{"data":"AAAA""#,
        r#"{"inlineData":{"data":"AAAA"#,
        r#"{"inlineData":{"data" "AAAA"}}"#,
        r#"{"inlineData":{"data":"AAAA" "x"}}"#,
        r#"{"inlineData" {"data":"AAAA"}}"#,
        r#"]]}}{"inlineData":{"data":"AAAA"}}"#,
        "\u{0}",
        "",
    ] {
        let (text, _) = scanned(body);
        assert!(
            serde_json::from_str::<serde_json::Value>(&text).is_err(),
            "{text}"
        );
    }
}

#[test]
fn data_urls_are_extracted_and_other_urls_stay() {
    let data = STANDARD.encode([1; 300]);
    let body = format!(
        r#"{{"images":[{{"image_url":"data:image/png;base64,{data}"}},{{"image_url":"https://a.example/\u0061,b.png"}},
        {{"image_url":"DATA:image\/png;name=a;BASE64,AA\/\u002f"}},{{"image_url":"d"}},{{"image_url":""}},{{"image_url":7}}],
        "mask":{{"image\u005furl":"\u0064ata:;base64,AAAA"}},"prompt":"data:image/png;base64,AAAA","data":"data:0"}}"#
    );
    let (text, images) = scanned_by(ImageFields::DataUrl, &body);
    let images: Vec<_> = images.into_iter().map(Result::unwrap).collect();
    assert_eq!(images, [vec![1; 300], vec![0, 15, 255], vec![0; 3]]);
    assert_eq!(
        text,
        r#"{"images":[{"image_url":"data:0"},{"image_url":"https://a.example/\u0061,b.png"},
        {"image_url":"data:1"},{"image_url":"d"},{"image_url":""},{"image_url":7}],
        "mask":{"image\u005furl":"data:2"},"prompt":"data:image/png;base64,AAAA","data":"data:0"}"#
    );
}

#[test]
fn a_data_url_without_base64_is_an_invalid_image() {
    let long = format!("data:{};base64,AAAA", "x".repeat(5_000));
    for url in [
        "data:",
        "data:0",
        "data:image/png,AAAA",
        "data:image/png;base64",
        r#"data:\""#,
        r"data:\u00zz;base64,AAAA",
        &long,
    ] {
        let body = format!(r#"[{{"image_url":"{url}"}},{{"image_url":"data:;base64,AA!A"}}]"#);
        let (text, images) = scanned_by(ImageFields::DataUrl, &body);
        assert_eq!(text, r#"[{"image_url":"data:0"},{"image_url":"data:1"}]"#);
        assert_eq!(images[0], Err(Base64Fault::DataUrl), "{url}");
        assert!(matches!(images[1], Err(Base64Fault::Foreign { .. })));
    }
}

/// A quote that is part of the URL does not end it.
#[test]
fn an_escaped_quote_does_not_end_a_url() {
    let body = r#"{"image_url":"\"a","b":"c"}"#;
    assert_eq!(
        scanned_by(ImageFields::DataUrl, body),
        (body.into(), vec![])
    );
}

#[test]
fn results_are_images_except_in_metadata() {
    let image = STANDARD.encode([1; 300]);
    let body = format!(
        r#"{{"metadata":{{"result":"{image}","image_url":"data:image/png;base64,{image}","thought_signature":"x"}},
        "input":[{{"result":"{image}"}},{{"content":[{{"image_url":"data:image/png;base64,{image}"}}]}},{{"result":null}}]}}"#
    );
    let (text, images) = scanned_by(ImageFields::DataUrlOrResult, &body);
    assert_eq!(images, [Ok(vec![1; 300]), Ok(vec![1; 300])]);
    let (metadata, input) = text.split_once("\"input\"").unwrap();
    assert!(body.starts_with(metadata));
    assert_eq!(
        input,
        r#":[{"result":"data:0"},{"content":[{"image_url":"data:1"}]},{"result":null}]}"#
    );
}
