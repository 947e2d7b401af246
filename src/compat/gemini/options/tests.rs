//! Every spelling of aspect ratio and size.

use super::*;
use crate::catalog::catalog;
use crate::config::{Config, Sources};
use serde_json::{Value, json};

fn read_for(tier: Tier, config: Value) -> Result<Options, Refusal> {
    let catalog = catalog(&Config::load(&Sources::default()).unwrap().tiers);
    let json = Json::parse(&json!({ "generationConfig": config }).to_string(), 64).unwrap();
    read(&Object::of("", &json).unwrap(), tier, &catalog)
}

fn offer(tier: Tier, resolution: Resolution) -> Offer {
    let catalog = catalog(&Config::load(&Sources::default()).unwrap().tiers);
    catalog.offer(tier, resolution).unwrap()
}

/// A size without a price cannot be requested.
#[test]
fn a_size_is_required_if_the_default_size_has_no_price() {
    let catalog = catalog(&large_only().tiers);
    let read = |config: Value| {
        let json = Json::parse(&config.to_string(), 64).unwrap();
        read(&Object::of("", &json).unwrap(), Tier::Pro, &catalog)
    };
    let refused = read(json!({})).unwrap_err();
    assert_eq!(
        refused.message,
        "generationConfig.imageConfig.imageSize is required; supported: 2K"
    );
    let large = json!({"generationConfig": {"imageConfig": {"imageSize": "2K"}}});
    assert_eq!(read(large).unwrap().offer.price().to_string(), "0.101");
}

/// Offers only 2K on pro.
fn large_only() -> Config {
    let mut config = Config::load(&Sources::default()).unwrap();
    let pro = &mut config.tiers.pro;
    pro.resolutions = vec!["2K".into()];
    pro.prices = config.tiers.quality.prices.clone();
    config
}

fn wide_and_large() -> Options {
    Options {
        ratio: Some("16:9".parse().unwrap()),
        offer: offer(Tier::Pro, Resolution::K2),
        wants_text: false,
        output: None,
    }
}

#[test]
fn ratio_and_size_are_read_in_every_spelling() {
    let camel = json!({"aspectRatio": "16:9", "imageSize": "2K"});
    let snake = json!({"aspect_ratio": "16:9", "image_size": "2K"});
    let names =
        json!({"aspectRatio": "ASPECT_RATIO_SIXTEEN_BY_NINE", "imageSize": "IMAGE_SIZE_TWO_K"});
    for image in [camel, snake, names] {
        for config in [
            json!({"imageConfig": image}),
            json!({"image_config": image}),
            json!({"responseFormat": {"image": image}}),
            json!({"response_format": {"image": [image]}}),
            json!({"responseFormat": [{"text": {}}, {"image": image}]}),
            json!({"imageConfig": {"aspectRatio": "1:1"}, "responseFormat": {"image": image}}),
        ] {
            assert_eq!(
                read_for(Tier::Pro, config.clone()),
                Ok(wide_and_large()),
                "{config}"
            );
        }
    }
}

#[test]
fn every_ratio_has_an_enum_name() {
    for (name, ratio) in [
        ("ONE_BY_ONE", "1:1"),
        ("TWO_BY_THREE", "2:3"),
        ("THREE_BY_TWO", "3:2"),
        ("THREE_BY_FOUR", "3:4"),
        ("FOUR_BY_THREE", "4:3"),
        ("FOUR_BY_FIVE", "4:5"),
        ("FIVE_BY_FOUR", "5:4"),
        ("NINE_BY_SIXTEEN", "9:16"),
        ("SIXTEEN_BY_NINE", "16:9"),
        ("TWENTY_ONE_BY_NINE", "21:9"),
        ("ONE_BY_FOUR", "1:4"),
        ("FOUR_BY_ONE", "4:1"),
        ("ONE_BY_EIGHT", "1:8"),
        ("EIGHT_BY_ONE", "8:1"),
    ] {
        let config = json!({"imageConfig": {"aspectRatio": format!("ASPECT_RATIO_{name}")}});
        let read = read_for(Tier::Pro, config).unwrap();
        assert_eq!(read.ratio, Some(ratio.parse().unwrap()));
    }
}

#[test]
fn missing_options_have_defaults() {
    let none = Options {
        ratio: None,
        offer: offer(Tier::Fast, Resolution::K1),
        wants_text: false,
        output: None,
    };
    for config in [
        json!(null),
        json!({}),
        json!({"imageConfig": {}}),
        json!({"imageConfig": {"aspectRatio": null, "imageSize": null}}),
        json!({"imageConfig": {"aspectRatio": "auto", "imageSize": "IMAGE_SIZE_UNSPECIFIED"}}),
        json!({"temperature": 0.5, "seed": 7, "thinkingConfig": {"x": []}, "responseFormat": "text"}),
    ] {
        assert_eq!(read_for(Tier::Fast, config.clone()), Ok(none), "{config}");
    }
}

#[test]
fn the_text_modality_ignores_case() {
    for (modalities, wanted) in [
        (json!(["IMAGE"]), false),
        (json!(["Image", "Text"]), true),
        (json!(["TEXT", "IMAGE"]), true),
        (json!("image"), false),
        (json!([]), false),
    ] {
        let read = read_for(Tier::Fast, json!({"response_modalities": modalities}));
        assert_eq!(read.unwrap().wants_text, wanted);
    }
}

#[test]
fn modalities_without_an_image_are_rejected() {
    for modalities in [
        json!(["TEXT"]),
        json!("text"),
        json!(["AUDIO"]),
        json!(["TEXT", "AUDIO"]),
        json!([7]),
    ] {
        let read = read_for(Tier::Fast, json!({"response_modalities": modalities}));
        let refusal = read.expect_err("refused");
        let field = refusal.field.as_deref();
        assert_eq!(field, Some("generationConfig.responseModalities"));
    }
}

#[test]
fn options_that_the_tier_does_not_offer_are_rejected() {
    let size = |tier, size: &str| read_for(tier, json!({"imageConfig": {"imageSize": size}}));
    assert!(size(Tier::Fast, "1K").is_ok());
    for (tier, bad) in [
        (Tier::Fast, "2K"),
        (Tier::Fast, "4K"),
        (Tier::Quality, "2k"),
        (Tier::Pro, "512"),
        (Tier::Pro, "8K"),
        (Tier::Quality, "IMAGE_SIZE_FIVE_TWELVE"),
        (Tier::Pro, "1024x1024"),
    ] {
        let refusal = size(tier, bad).expect_err("refused");
        assert_eq!(
            refusal.field.as_deref(),
            Some("generationConfig.imageConfig.imageSize")
        );
        assert!(
            refusal.message.contains("supported: 1K"),
            "{}",
            refusal.message
        );
    }
    for (tier, bad) in [
        (Tier::Fast, "1:8"),
        (Tier::Pro, "5:3"),
        (Tier::Pro, "16x9"),
        (Tier::Pro, "ASPECT_RATIO_TEN_BY_ONE"),
    ] {
        let refusal =
            read_for(tier, json!({"imageConfig": {"aspectRatio": bad}})).expect_err("refused");
        assert_eq!(
            refusal.field.as_deref(),
            Some("generationConfig.imageConfig.aspectRatio")
        );
    }
    for bad in [
        json!(7),
        json!([]),
        json!({"imageConfig": 7}),
        json!({"imageConfig": {"aspectRatio": 7}}),
        json!({"imageConfig": {}, "image_config": {}}),
        json!({"responseFormat": {"image": 7}}),
    ] {
        assert!(read_for(Tier::Pro, bad.clone()).is_err(), "{bad}");
    }
}
