//! Decisions 1: `auto`, and the default resolution.

use crate::support::{
    ENDPOINTS, Origin, Server, fox, fox_with, options::Options, origin, sample_images,
};
use image::ImageFormat;
use serde_json::json;

/// The ratios that `auto` chooses for these images on one endpoint.
fn ratios(path: &str, images: Vec<Vec<u8>>) -> Vec<String> {
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("10.00");
    let ratio = |image: Vec<u8>| {
        let square = origin::bytes(sample_images::png(8, 8));
        let origin = Origin::start([("/first", origin::bytes(image)), ("/second", square)]);
        let urls = [origin.url("/first"), origin.url("/second")];
        let body = fox_with(json!({"aspect_ratio": "auto", "input_images_urls": urls}));
        let job = server
            .generation(&customer, path, &body)
            .expect(202)
            .job_id();
        server.job_once(&customer, &job, "done");
        server.generator.orders().pop().unwrap().ratio.to_string()
    };
    images.into_iter().map(ratio).collect()
}

#[test]
fn auto_is_the_supported_ratio_nearest_to_the_first_image() {
    let shapes = [
        (1920, 1080, "16:9"),
        (1080, 1920, "9:16"),
        (1000, 1001, "1:1"),
        (100, 1_000, "1:8"),
        (1_000, 100, "8:1"),
        (1_000, 240, "4:1"),
        (2_500, 1_000, "21:9"),
        (640, 480, "4:3"),
        (1, 1, "1:1"),
    ];
    let images: Vec<_> = shapes
        .iter()
        .map(|(w, h, _)| sample_images::png(*w, *h))
        .collect();
    let expected: Vec<_> = shapes.iter().map(|(.., ratio)| *ratio).collect();
    for path in ["/url-generations", "/nb2/url-generations"] {
        assert_eq!(ratios(path, images.clone()), expected, "{path}");
    }
}

#[test]
fn auto_compares_ratios_in_log_space() {
    // The service compares ratios in log space: between 4:3 (1.333) and 3:2 (1.5) the border is 1.4142 there, and 1.4167 on a
    // linear scale.
    let between = vec![
        sample_images::png(1_415, 1_000),
        sample_images::png(1_413, 1_000),
    ];
    assert_eq!(ratios("/url-generations", between), ["3:2", "4:3"]);
}

#[test]
fn auto_applies_the_exif_orientation_of_a_photograph() {
    let upright = sample_images::turned_jpeg(160, 90, 1);
    let half_turned = sample_images::turned_jpeg(160, 90, 3);
    let quarter_turned = sample_images::turned_jpeg(160, 90, 6);
    let other_quarter = sample_images::turned_jpeg(160, 90, 8);
    let seen = ratios(
        "/url-generations",
        vec![upright, half_turned, quarter_turned, other_quarter],
    );
    assert_eq!(seen, ["16:9", "16:9", "9:16", "9:16"]);
}

#[test]
fn auto_reads_every_format() {
    let formats = [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::WebP,
        ImageFormat::Gif,
    ];
    let images = formats
        .map(|format| sample_images::encoded(30, 20, format))
        .to_vec();
    assert_eq!(ratios("/nb2/url-generations", images), ["3:2"; 4]);
}

#[test]
fn auto_on_a_text_endpoint_is_422() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (path, ..) in ENDPOINTS.iter().filter(|(.., images)| !images) {
        let body = fox_with(json!({"aspect_ratio": "auto"}));
        server
            .generation(&customer, path, &body)
            .invalid(&["aspect_ratio"]);
    }
}

#[test]
fn a_tier_offers_the_configured_aspect_ratios() {
    let options = Options::new().set("tiers.fast.aspect_ratios", vec!["1:1", "8:1"]);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    for (ratio, status) in [("1:1", 202), ("8:1", 202), ("16:9", 422)] {
        let body = fox_with(json!({"aspect_ratio": ratio}));
        server
            .generation(&customer, "/nb/text-generations", &body)
            .expect(status);
    }
}

#[test]
fn the_default_resolution_is_1k() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for path in [
        "/text-generations",
        "/nb2/text-generations",
        "/nb/text-generations",
    ] {
        let job = server
            .generation(&customer, path, &fox())
            .expect(202)
            .job_id();
        server.job_once(&customer, &job, "done");
        let order = server.generator.orders().pop().unwrap();
        assert_eq!(order.resolution.as_str(), "1K");
    }
}
