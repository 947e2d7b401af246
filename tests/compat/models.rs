//! The lists of models in both formats.

use crate::fixture::ResponseAssertions;
use crate::support::{Customer, Options, Server};
use serde_json::Value;

fn listed(server: &Server, customer: &Customer, target: &str) -> Value {
    let call = server.get(target).header("x-goog-api-key", &customer.key);
    call.expect(200).json()
}

fn names(page: &Value) -> Vec<String> {
    let models = page["models"].as_array().expect("models");
    let name = |model: &Value| model["name"].as_str().unwrap().to_owned();
    models.iter().map(name).collect()
}

#[test]
fn every_model_id_is_listed_with_its_capabilities() {
    let server = Server::start();
    let customer = server.customer("0.00");
    let page = listed(&server, &customer, "/v1beta/models");
    assert_eq!(
        names(&page),
        [
            "models/fast",
            "models/gemini-2.5-flash-image",
            "models/gemini-3.1-flash-lite-image",
            "models/quality",
            "models/gemini-3.1-flash-image",
            "models/gemini-3.1-flash-image-preview",
            "models/pro",
            "models/gemini-3-pro-image",
            "models/gemini-3-pro-image-preview",
        ]
    );
    assert!(page.get("nextPageToken").is_none());
    for model in page["models"].as_array().unwrap() {
        let methods = model["supportedGenerationMethods"].as_array().unwrap();
        assert_eq!(methods[0], "generateContent");
        for name in ["displayName", "description", "version"] {
            assert!(model[name].is_string());
        }
        let path = format!("/v1beta/{}", model["name"].as_str().unwrap());
        assert_eq!(listed(&server, &customer, &path), *model);
    }
}

#[test]
fn page_tokens_lead_through_all_models() {
    let server = Server::start();
    let customer = server.customer("0.00");
    let (mut found, mut token) = (Vec::new(), String::new());
    for _ in 0..5 {
        let target = format!("/v1/models?pageSize=2&pageToken={token}");
        let page = listed(&server, &customer, &target);
        found.extend(names(&page));
        token = page["nextPageToken"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert_eq!(token.is_empty(), found.len() == 9);
    }
    assert_eq!(found.len(), 9);
    assert_eq!(
        names(&listed(&server, &customer, "/v1/models?pageSize=0")).len(),
        9
    );
    for bad in ["pageSize=-1", "pageSize=x", "pageToken=99", "pageToken=x"] {
        let call = server.get(&format!("/v1/models?{bad}"));
        let answer = call.header("x-goog-api-key", &customer.key).send();
        answer.assert_google_error(400, "INVALID_ARGUMENT");
    }
}

#[test]
fn model_ids_are_configurable() {
    let options = Options::new().set("tiers.fast.compat_models", vec!["my-model"]);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let page = listed(&server, &customer, "/v1beta/models");
    assert_eq!(names(&page)[..2], ["models/fast", "models/my-model"]);
    server
        .gemini(&customer, "my-model", &crate::fixture::fox())
        .expect(200);
    server
        .gemini(&customer, "gemini-2.5-flash-image", &crate::fixture::fox())
        .expect(404);
}

#[test]
fn unknown_models_and_invalid_keys() {
    let server = Server::start();
    let customer = server.customer("0.00");
    let call = server.get("/v1beta/models/nothing");
    let answer = call.header("x-goog-api-key", &customer.key).send();
    answer.assert_google_error(404, "NOT_FOUND");
    for target in ["/v1/models", "/v1beta/models", "/v1beta/models/pro"] {
        let answer = server.get(target).send();
        answer.assert_google_error(403, "PERMISSION_DENIED");
        let answer = server.get(target).header("x-goog-api-key", "bad").send();
        answer.assert_google_error(400, "INVALID_ARGUMENT");
    }
}

/// Both APIs share the path. The server distinguishes them by the way of sending the key.
#[test]
fn a_bearer_token_under_v1_gets_the_shape_of_openai() {
    let server = Server::start();
    let customer = server.customer("0.00");
    let bearer = |target: &str| server.get(target).bearer(&customer.key);
    let list = bearer("/v1/models").expect(200).json();
    assert_eq!(list["object"], "list");
    assert_eq!(list["data"].as_array().map(Vec::len), Some(9));
    assert_eq!(list["data"][0]["object"], "model");
    let one = bearer("/v1/models/pro").expect(200).json();
    assert_eq!(
        (&one["id"], &one["object"]),
        (&"pro".into(), &"model".into())
    );
    let unknown = bearer("/v1/models/dall-e-3").send();
    unknown.assert_openai_error(404, "invalid_request_error", Some("model_not_found"));
    assert_eq!(unknown.json()["error"]["param"], "model");
    let bad = server.get("/v1/models").bearer("bad").send();
    bad.assert_openai_error(401, "invalid_request_error", Some("invalid_api_key"));
    let both = bearer("/v1/models").header("x-goog-api-key", &customer.key);
    assert!(both.expect(200).json()["models"].is_array());
    assert!(bearer("/v1beta/models").expect(200).json()["models"].is_array());
}
