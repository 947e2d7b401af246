//! The body of a call of Gemini or OpenAI, from which the service extracts images while the body arrives. However the body is split, the
//! images and the rest are the same, and valid JSON stays valid without its images.

use serde_json::Value;
use tintype::fuzzing::{ImageFields, MAX_DEPTH, Piece, ScanFault, Scanner};

const MAX_TEXT: usize = 4_096;

/// The rest of the body, and each image: its bytes, and whether it was valid.
type ScanResult = (Vec<u8>, Vec<(Vec<u8>, bool)>);

pub fn run(input: &[u8]) {
    run_with(ImageFields::InlineData, input);
    run_with(ImageFields::DataUrl, input);
}

fn run_with(fields: ImageFields, input: &[u8]) {
    let whole = scan(fields, input, usize::MAX);
    for piece in [1, 3, 64] {
        let pieces = scan(fields, input, piece);
        match (&pieces, &whole) {
            (Ok(pieces), Ok(whole)) => assert_eq!(pieces, whole, "in pieces of {piece}"),
            (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err(), "in pieces of {piece}"),
        }
    }
    let Ok((text, images)) = whole else {
        return;
    };
    assert!(text.len() <= MAX_TEXT);
    if serde_json::from_slice::<Value>(input).is_ok() {
        let left: Value = serde_json::from_slice(&text).expect("the rest is JSON");
        assert!(depth(&left) <= MAX_DEPTH);
    } else if images.is_empty() && text.len() == input.len() {
        assert_eq!(text, input);
    }
}

fn scan(fields: ImageFields, input: &[u8], piece: usize) -> Result<ScanResult, ScanFault> {
    let mut scanner = Scanner::new(fields, MAX_TEXT);
    let (mut images, mut current) = (Vec::new(), Vec::new());
    for piece in input.chunks(piece) {
        let mut found = Vec::new();
        scanner.push(piece, &mut found)?;
        for piece in found {
            match piece {
                Piece::Begin => current.clear(),
                Piece::Bytes(bytes) => current.extend(bytes),
                // How much of an invalid image is decoded before the fault depends on the split.
                Piece::End(Err(_)) => images.push((Vec::new(), false)),
                Piece::End(Ok(())) => images.push((current.clone(), true)),
            }
        }
    }
    Ok((scanner.into_text(), images))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}
