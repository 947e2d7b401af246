//! Hostile 35: neither API keys nor the operator's token appear in the log or in an answer, however a caller sends them.

use crate::support::fox;
use crate::support::options::ADMIN_TOKEN;
use crate::support::process::Process;
use serde_json::json;

#[test]
fn hostile_35_keys_and_the_token_appear_neither_in_the_log_nor_in_answers() {
    let data = tempfile::tempdir().unwrap();
    let settings = [
        // sled handles no secrets; at this level it also logs from a thread's last destructors, where logging is not allowed.
        ("LOG__FILTER", "trace,sled=info"),
        ("ADMIN__TOKEN", ADMIN_TOKEN),
        ("EGRESS__ALLOW", "[\"127.0.0.0/8\"]"),
        ("BACKENDS__FAR__KIND", "openai"),
        ("BACKENDS__FAR__BASE_URL", "http://127.0.0.1:1/v1"),
        ("BACKENDS__FAR__API_KEY", "the-backends-own-key-0123456789"),
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "0"),
    ];
    let process = Process::start(data.path(), &settings);
    let admin = |method: &str, path: &str| {
        let path = format!("/admin/v1{path}");
        process.call(method, &path).bearer(ADMIN_TOKEN)
    };
    let account = admin("POST", "/accounts")
        .json(&json!({"name": "a", "balance": "10"}))
        .expect(201)
        .json();
    let account = account["account_id"].as_str().unwrap().to_owned();
    let keys = format!("/accounts/{account}/keys");
    let made = admin("POST", &keys)
        .json(&json!({"name": "k"}))
        .expect(201)
        .json();
    let key = made["api_key"].as_str().unwrap().to_owned();
    let inactive = admin("POST", &keys)
        .json(&json!({"name": "off", "active": false}))
        .expect(201)
        .json();
    let inactive = inactive["api_key"].as_str().unwrap().to_owned();
    let people = format!("/accounts/{account}/people");
    let invited = admin("POST", &people)
        .json(&json!({"email": "a@shop.example", "role": "owner"}))
        .expect(201)
        .json();
    let link = invited["invitation_url"].as_str().unwrap();
    let link = link.rsplit('/').next().unwrap().to_owned();
    let secrets = [
        key.as_str(),
        &link,
        &inactive,
        ADMIN_TOKEN,
        "the-backends-own-key-0123456789",
    ];

    let mut calls = vec![
        admin("GET", &keys),
        admin("GET", "/accounts"),
        admin("GET", &people),
        admin("GET", "/audit"),
    ];
    for secret in secrets {
        let native = |method: &str, path: &str| {
            process
                .call(method, &format!("/api/v1{path}"))
                .bearer(secret)
        };
        calls.extend([
            native("GET", "/balance"),
            native("POST", "/nb/text-generations").json(&fox()),
            native("POST", "/nb/text-generations").text("{"),
            native("POST", "/nb/text-generations").json(&json!({"prompt": secret, "aspect_ratio": secret})),
            native("POST", "/nb/text-generations").json(&json!({"api_key": secret})),
            native("POST", "/nb/url-generations").json(&json!({
                "prompt": "a", "aspect_ratio": "1:1",
                "input_images_urls": [format!("http://127.0.0.1:1/?key={secret}"), format!("http://{secret}@127.0.0.1/")],
                "callback_url": format!("http://127.0.0.1:1/{secret}")
            })),
            native("GET", &format!("/balance?key={secret}")),
            native("GET", &format!("/nothing?api_key={secret}")),
            native("DELETE", "/balance"),
            process.call("GET", "/api/v1/balance").header("Authorization", secret),
            process.call("GET", "/api/v1/balance").header("Authorization", &format!("Basic {secret}")),
            process.call("GET", "/api/v1/balance").bearer(&format!("{secret}x")),
            process.call("GET", "/api/v1/balance").header("X-Api-Key", secret),
            process.call("GET", "/healthz").header("Cookie", &format!("key={secret}")),
            process.call("GET", "/admin/v1/accounts").bearer(secret),
            admin("GET", &format!("/accounts?limit={secret}")),
            admin("GET", &format!("/accounts?cursor={secret}")),
            admin("POST", "/accounts").json(&json!({"name": "a", "balance": secret})),
            admin("POST", &keys).json(&json!({"name": "a", "models": [secret], "expires_at": secret})),
            process.call("POST", "/api/v1/nb/text-generations").bearer(&key).json(&fox()).idempotent(secret),
        ]);
    }
    for call in &calls {
        let answer = call.send();
        assert!(answer.status < 500, "{}", answer.text());
        let headers = format!("{:?}", answer.headers);
        for secret in secrets {
            assert!(
                !answer.text().contains(secret),
                "{call:?}: {}",
                answer.text()
            );
            assert!(!headers.contains(secret), "{call:?}: {headers}");
        }
    }
    let first_key = process.first_key.clone().unwrap();
    let stopped = process.terminate();
    assert_eq!(stopped.status, Some(0), "{}", stopped.log);
    // The log is at its most verbose, so it must contain this line.
    assert!(stopped.log.contains("answered"));
    for secret in secrets.into_iter().chain([first_key.as_str()]) {
        let told = stopped.log.lines().find(|line| line.contains(secret));
        assert_eq!(told, None);
    }
}
