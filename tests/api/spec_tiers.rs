//! Specification, "Tiers".

use crate::support::{Server, fox_with};
use serde_json::json;

const COMMON: [&str; 10] = [
    "1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9",
];
const WIDE: [&str; 4] = ["1:4", "1:8", "4:1", "8:1"];

/// Sends one text-to-image call for each ratio and returns whether the service accepted it.
fn accepted_ratios(server: &Server, path: &str, ratios: &[&str]) -> Vec<bool> {
    let customer = server.customer("10.00");
    let try_one = |ratio: &&str| {
        let body = fox_with(json!({"aspect_ratio": ratio}));
        let answer = server.generate(&customer, path, &body);
        match answer.status {
            202 => {
                let job = answer.job_id();
                server.job_once(&customer, &job, "done");
                let order = server.generator.orders().pop().unwrap();
                assert_eq!(order.ratio.to_string(), **ratio);
                true
            }
            _ => {
                answer.assert_problem(422, "validation_failed");
                assert_eq!(answer.faulty_fields(), ["aspect_ratio"]);
                false
            }
        }
    };
    ratios.iter().map(try_one).collect()
}

#[test]
fn fast_is_always_1k() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = server.generate(&customer, "/nb/text-generations", &crate::support::fox());
    server.job_once(&customer, &answer.job_id(), "done");
    assert_eq!(server.generator.orders()[0].resolution.as_str(), "1K");
    for resolution in ["1K", "2K", "4K"] {
        let body = fox_with(json!({"resolution": resolution}));
        let answer = server
            .generation(&customer, "/nb/text-generations", &body)
            .invalid(&["resolution"]);
        assert!(answer.text().contains("not accepted on the fast model"));
    }
}

#[test]
fn fast_takes_a_subset_of_the_ratios_and_no_auto() {
    let server = Server::start();
    let path = "/nb/text-generations";
    assert_eq!(accepted_ratios(&server, path, &COMMON), [true; 10]);
    assert_eq!(accepted_ratios(&server, path, &WIDE), [false; 4]);
    let customer = server.customer("1.00");
    for path in ["/nb/text-generations", "/nb/url-generations"] {
        let mut body = fox_with(json!({"aspect_ratio": "auto"}));
        if path.contains("url") {
            body["input_images_urls"] = json!(["http://example.com/a.png"]);
        }
        server
            .generation(&customer, path, &body)
            .invalid(&["aspect_ratio"]);
    }
}

#[test]
fn quality_and_pro_take_the_full_set() {
    let server = Server::start();
    for path in ["/nb2/text-generations", "/text-generations"] {
        assert_eq!(
            accepted_ratios(&server, path, &COMMON),
            [true; 10],
            "{path}"
        );
        assert_eq!(accepted_ratios(&server, path, &WIDE), [true; 4], "{path}");
    }
}

#[test]
fn quality_and_pro_make_1k_2k_and_4k() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for path in ["/nb2/text-generations", "/text-generations"] {
        for resolution in ["1K", "2K", "4K"] {
            let body = fox_with(json!({"resolution": resolution}));
            let answer = server.generation(&customer, path, &body).expect(202);
            server.job_once(&customer, &answer.job_id(), "done");
            let order = server.generator.orders().pop().unwrap();
            assert_eq!(order.resolution.as_str(), resolution);
        }
        for bad in ["1k", "8K", "", "1K ", "1024"] {
            let body = fox_with(json!({"resolution": bad}));
            server
                .generation(&customer, path, &body)
                .invalid(&["resolution"]);
        }
    }
}
