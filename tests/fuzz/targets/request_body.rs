//! The JSON body of a generation call. The first byte selects one of the six calls and the number of uploaded images.

use serde_json::Value;
use std::sync::LazyLock;
use tintype::config::{Config, Sources};
use tintype::fuzzing::{Endpoint, GenerationRequest, Input, Shape, parse_generation};
use tintype_storage::domain::catalog::Catalog;
use tintype_storage::domain::request::{
    MAX_INPUTS, MAX_METADATA_BYTES, MAX_METADATA_DEPTH, MAX_URL_CHARS,
};
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::json::Json;

const MAX_PROMPT: usize = 200;
/// The listed faults, and the line with the count of the others.
const MAX_FAULTS: usize = 101;

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let config = Config::load(&Sources::default()).unwrap();
    tintype::catalog::catalog(&config.tiers)
});

pub fn run(input: &[u8]) {
    let Some((call, body)) = input.split_first() else {
        return;
    };
    let endpoint = Endpoint {
        tier: Tier::ALL[usize::from(call % 3)],
        mode: Mode::ALL[usize::from(call / 3 % 2)],
    };
    let uploaded = usize::from(call / 8 % 4);
    match parse_generation(body, endpoint, uploaded, &CATALOG, MAX_PROMPT) {
        Ok(request) => accepted(&request, endpoint, uploaded, body),
        Err(faults) => {
            assert!((1..=MAX_FAULTS).contains(&faults.len()));
            for fault in faults {
                assert!(!fault.field.is_empty() && !fault.message.is_empty());
                assert!(fault.field.len() + fault.message.len() < 4_096, "{fault:?}");
            }
        }
    }
}

fn accepted(request: &GenerationRequest, endpoint: Endpoint, uploaded: usize, body: &[u8]) {
    assert_eq!(request.offer.tier(), endpoint.tier);
    let json: Value = serde_json::from_slice(body).expect("an accepted body is JSON");
    let prompt = json["prompt"].as_str().unwrap().replace('\0', "");
    assert_eq!(request.prompt, prompt);
    assert!((1..=MAX_PROMPT).contains(&prompt.chars().count()));
    assert_eq!(
        json["aspect_ratio"].as_str().unwrap(),
        match request.shape {
            Shape::Fixed(ratio) => ratio.to_string(),
            Shape::OfInput | Shape::OfInputOrSquare => "auto".to_owned(),
        }
    );
    let sold = CATALOG.offer(endpoint.tier, request.offer.resolution());
    assert_eq!(sold, Some(request.offer));
    let urls: Vec<&String> = request.inputs.iter().filter_map(url_of).collect();
    assert_eq!(urls.len(), request.inputs.len());
    let images = urls.len() + uploaded;
    match endpoint.mode {
        Mode::TextToImage => assert!(urls.is_empty()),
        Mode::ImageToImage => assert!((1..=MAX_INPUTS).contains(&images)),
    }
    let mut urls = urls.into_iter().chain(&request.callback_url);
    assert!(urls.all(|url| url.chars().count() <= MAX_URL_CHARS));
    if let Some(metadata) = &request.metadata {
        let text = metadata.to_compact();
        assert!(text.len() <= MAX_METADATA_BYTES);
        let again =
            Json::parse(&text, MAX_METADATA_DEPTH).expect("the stored metadata can be parsed");
        assert_eq!(&again, metadata);
    }
    assert_eq!(request.fingerprint(), request.fingerprint());
}

fn url_of(input: &Input) -> Option<&String> {
    match input {
        Input::Url { url, .. } => Some(url),
        Input::Stored(_) | Input::Earlier { .. } => None,
    }
}
