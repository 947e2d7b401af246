//! The published documents: access, validity, and the correctness of their examples.

use crate::support::contract::{Contract, resolve_ref, validator};
use crate::support::{Options, Server};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Generators name functions after operations.
const VERBS: &[&str] = &[
    "add",
    "cancel",
    "change",
    "check",
    "create",
    "download",
    "erase",
    "export",
    "follow",
    "invite",
    "list",
    "open",
    "redeliver",
    "register",
    "remove",
    "rotate",
    "set",
    "show",
    "sign",
    "stream",
    "test",
];

/// Calls `visit` with every value of a document and its path.
fn each(value: &Value, place: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(place, value);
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, it)| each(it, &format!("{place}/{name}"), visit)),
        Value::Array(entries) => entries
            .iter()
            .enumerate()
            .for_each(|(at, it)| each(it, &format!("{place}/{at}"), visit)),
        _ => {}
    }
}

fn members(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[test]
fn the_client_document_needs_no_key_and_the_operators_needs_the_token() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = server.get("/api/v1/openapi.json").expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json()["openapi"], "3.1.0");
    server
        .get("/admin/v1/openapi.json")
        .refused(401, "unauthorized");
    server
        .get("/admin/v1/openapi.json")
        .bearer(&customer.key)
        .refused(401, "unauthorized");
    let answer = server.admin("GET", "/openapi.json").expect(200);
    assert_eq!(answer.json()["openapi"], "3.1.0");
    assert!(!answer.text().contains(crate::support::options::ADMIN_TOKEN));
}

#[test]
fn a_document_with_a_matching_etag_is_304() {
    let server = Server::start();
    let first = server.get("/api/v1/openapi.json").expect(200);
    let tag = first.header("etag").unwrap();
    let again = server
        .get("/api/v1/openapi.json")
        .header("If-None-Match", tag);
    assert_eq!(again.expect(304).body, b"");
    server
        .get("/api/v1/openapi.json")
        .header("If-None-Match", "\"another\"")
        .expect(200);
    server.call("HEAD", "/api/v1/openapi.json").expect(200);
}

#[test]
fn the_documents_reflect_the_effective_configuration() {
    let options = Options::new()
        .set("tiers.fast.aspect_ratios", vec!["1:1", "4:5"])
        .set("jobs.max_prompt_chars", 77)
        .set("server.public_url", "https://pictures.example");
    let server = Server::with(options);
    let document = server.get("/api/v1/openapi.json").expect(200).json();
    assert_eq!(document["servers"][0]["url"], "https://pictures.example");
    let body = &document["paths"]["/api/v1/nb/text-generations"]["post"]["requestBody"];
    let fields = &body["content"]["application/json"]["schema"]["properties"];
    assert_eq!(
        fields["aspect_ratio"]["enum"],
        serde_json::json!(["1:1", "4:5"])
    );
    assert_eq!(fields["prompt"]["maxLength"], 77);
}

#[test]
fn every_reference_resolves_and_every_component_is_used() {
    let server = Server::start();
    let contract = Contract::of(server.address).unwrap();
    for document in contract.documents() {
        let mut used = BTreeSet::new();
        each(document, "#", &mut |place, value| {
            if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                used.insert(target.to_owned());
                assert!(!resolve_ref(document, value).is_null(), "{place}: {target}");
            }
            if let Some(target) = value
                .get("operationId")
                .filter(|_| place.contains("/links/"))
            {
                let known = contract
                    .calls()
                    .iter()
                    .any(|it| it.operation["operationId"] == *target);
                assert!(known, "{place}: {target}");
            }
        });
        for kind in ["schemas", "responses"] {
            for name in members(&document["components"][kind]).keys() {
                let place = format!("#/components/{kind}/{name}");
                assert!(used.contains(&place), "{place} is unused");
                assert!(name.bytes().all(|it| it.is_ascii_alphanumeric()), "{place}");
            }
        }
    }
}

#[test]
fn every_operation_has_a_unique_id_a_known_tag_and_its_path_parameters() {
    let server = Server::start();
    let contract = Contract::of(server.address).unwrap();
    for document in contract.documents() {
        let groups: Vec<&Value> = document["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["name"])
            .collect();
        let mut names = BTreeSet::new();
        for call in contract
            .calls()
            .iter()
            .filter(|it| std::ptr::eq(it.document, document))
        {
            let operation = call.operation;
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} occurs twice");
            assert!(VERBS.iter().any(|it| name.starts_with(it)), "{name}");
            assert!(groups.contains(&&operation["tags"][0]), "{name}");
            assert!(!operation["summary"].as_str().unwrap().is_empty());
            let empty = Vec::new();
            let parameters = operation["parameters"].as_array().unwrap_or(&empty);
            let documented: BTreeSet<&str> = parameters
                .iter()
                .filter(|it| it["in"] == "path")
                .map(|it| it["name"].as_str().unwrap())
                .collect();
            let written: BTreeSet<&str> =
                call.template.split(['{', '}']).skip(1).step_by(2).collect();
            assert_eq!(documented, written, "{name}");
        }
    }
}

#[test]
fn the_example_of_a_cursor_is_accepted_as_the_parameter() {
    let server = Server::start();
    let contract = Contract::of(server.address).unwrap();
    let mut checked = 0;
    for call in contract.calls() {
        let empty = Vec::new();
        let parameters = call.operation["parameters"].as_array().unwrap_or(&empty);
        let Some(cursor) = parameters.iter().find(|it| it["name"] == "cursor") else {
            continue;
        };
        let validator = validator(call.document, &cursor["schema"]);
        each(
            &call.operation["responses"],
            &call.template,
            &mut |place, value| {
                if place.ends_with("/next_cursor")
                    && place.contains("/example")
                    && value.is_string()
                {
                    checked += 1;
                    assert!(validator.is_valid(value), "{place}: {value}");
                }
            },
        );
    }
    assert!(checked > 0);
}

#[test]
fn every_schema_is_an_object_and_every_field_has_a_schema() {
    let server = Server::start();
    let contract = Contract::of(server.address).unwrap();
    for document in contract.documents() {
        each(document, "#", &mut |place, value| {
            assert!(
                !place.ends_with("/schema") || value.is_object(),
                "{place} is no schema"
            );
            let is_properties = place.ends_with("/properties") && !place.contains("/example");
            for (name, schema) in members(value).iter().filter(|_| is_properties) {
                assert!(schema.is_object(), "{place}/{name} is not described");
                let is_described = schema["description"].is_string();
                let is_sent = place.contains("/requestBody/");
                assert!(
                    !is_sent || is_described,
                    "{place}/{name} has no description"
                );
            }
        });
        for (name, schema) in members(&document["components"]["schemas"]) {
            for (field, described) in members(&schema["properties"]) {
                let is_described = described["description"].is_string();
                assert!(is_described, "{name}.{field} has no description");
            }
        }
    }
}

#[test]
fn descriptions_tell_the_unit_of_a_number_and_the_meaning_of_null() {
    let server = Server::start();
    let contract = Contract::of(server.address).unwrap();
    for document in contract.documents() {
        for (name, schema) in members(&document["components"]["schemas"]) {
            for (field, described) in members(&schema["properties"]) {
                let text = described["description"].as_str().unwrap_or_default();
                let unit = match field.rsplit('_').next().unwrap_or_default() {
                    "ms" => "milliseconds",
                    "seconds" => "econds",
                    "bytes" => "bytes",
                    "width" | "height" => "pixels",
                    _ => "",
                };
                assert!(text.contains(unit), "{name}.{field}: {text}");
                let may_be_null = described.to_string().contains("\"null\"");
                let is_told = text.contains("`null`") || text.contains("if there is one");
                assert!(!may_be_null || is_told, "{name}.{field}: {text}");
            }
        }
    }
}

/// Otherwise generators create several types for the same errors.
#[test]
fn no_two_responses_have_the_same_codes() {
    let server = Server::start();
    let contract = Contract::of(server.address).unwrap();
    for document in contract.documents() {
        let mut seen = BTreeSet::new();
        for (name, response) in members(&document["components"]["responses"]) {
            let schema = &response["content"]["application/problem+json"]["schema"];
            let codes = schema["properties"]["code"]["enum"].as_array().unwrap();
            let codes: BTreeSet<String> = codes.iter().map(Value::to_string).collect();
            // Calls with an API key have more headers.
            let response = (name.starts_with("Client"), codes);
            assert!(seen.insert(response), "{name} is there in another order");
        }
    }
}

#[test]
fn the_examples_of_errors_are_what_the_server_answers() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"models": ["fast"]}));
    let document = server.get("/api/v1/openapi.json").expect(200).json();
    let mut examples = Map::new();
    each(
        &document["components"]["responses"],
        "#",
        &mut |_, value| {
            examples.extend(members(&value["examples"]));
        },
    );
    let create = |path: &str, prompt: &str| {
        let body = json!({"prompt": prompt, "aspect_ratio": "1:1"});
        let call = server.post(&format!("/api/v1{path}"));
        call.bearer(&customer.key).json(&body)
    };
    let fast = |prompt: &str| create("/nb/text-generations", prompt);
    let job = fast("a red fox").idempotent("k").expect(202).job_id();
    server.job_once(&customer, &job, "done");
    let job_path = format!("/api/v1/jobs/{job}");
    let call = |method: &str, path: &str| server.call(method, path).bearer(&customer.key);
    for (code, request) in [
        ("unauthorized", server.get("/api/v1/balance")),
        (
            "model_not_allowed",
            create("/text-generations", "a red fox"),
        ),
        (
            "not_found",
            call("GET", &format!("/api/v1/jobs/{}", Uuid::nil())),
        ),
        ("conflict", call("DELETE", &job_path)),
        ("payload_too_large", fast(&"x".repeat(1 << 20))),
        (
            "unsupported_media_type",
            call("POST", "/api/v1/nb/text-generations").bytes("text/plain", b"{}"),
        ),
        ("validation_failed", fast("")),
        ("idempotency_key_reused", fast("an owl").idempotent("k")),
    ] {
        let served = request.send().json();
        let example = &examples[code]["value"];
        for member in ["code", "status", "title", "detail", "errors"] {
            assert_eq!(served[member], example[member], "{code}");
        }
    }
}

#[test]
fn every_example_fits_its_schema() {
    let server = Server::start();
    let contract = Contract::of(server.address).unwrap();
    for document in contract.documents() {
        let mut checked = 0;
        each(document, "#", &mut |place, value| {
            let Some(schema) = value.get("schema").filter(|it| it.is_object()) else {
                return;
            };
            if place.contains("/properties/") {
                return;
            }
            let many = members(&value["examples"]);
            let many = many.values().map(|it| it["value"].clone());
            let one = value.get("example").cloned();
            let validator = validator(document, schema);
            for example in many.chain(one) {
                checked += 1;
                let faults: Vec<_> = validator
                    .iter_errors(&example)
                    .map(|it| it.to_string())
                    .collect();
                assert!(
                    faults.is_empty(),
                    "{place}: {}\n{example}",
                    faults.join("; ")
                );
            }
        });
        assert!(checked > 50, "{checked}");
    }
}

#[test]
fn every_answer_with_a_body_has_an_example() {
    let server = Server::start();
    let contract = Contract::of(server.address).unwrap();
    for call in contract.calls() {
        for (status, response) in members(&call.operation["responses"]) {
            for (media, content) in members(&resolve_ref(call.document, &response)["content"]) {
                let shown = content.get("example").is_some() || content.get("examples").is_some();
                // JSON cannot show an image.
                assert!(
                    shown || media.starts_with("image/"),
                    "{} {status} {media}",
                    call.template
                );
            }
        }
        let body = members(&call.operation["requestBody"]["content"]);
        assert!(
            body.values().all(|it| !members(&it["examples"]).is_empty()),
            "{}",
            call.template
        );
    }
}
