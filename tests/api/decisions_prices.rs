//! Decisions 1, "Prices": a size that is not on sale has no price, and no interface accepts it.

use crate::support::{Options, Server, fox, fox_with};
use serde_json::{Value, json};

/// A server that sells only 1K on `pro`.
fn server() -> Server {
    let prices = toml::Table::from_iter([("1K".to_owned(), toml::Value::from("0.50"))]);
    Server::with(
        Options::new()
            .set("tiers.pro.resolutions", vec!["1K"])
            .set("tiers.pro.prices", prices),
    )
}

fn jobs(server: &Server) -> usize {
    let list = server.admin("GET", "/jobs").expect(200).json();
    list["data"].as_array().unwrap().len()
}

#[test]
fn a_size_without_a_price_is_never_free() {
    let server = server();
    let customer = server.customer("1.00");
    let native = |body: Value| server.generation(&customer, "/text-generations", &body);
    for size in ["2K", "4K"] {
        let body = fox_with(json!({"resolution": size}));
        native(body.clone()).invalid(&["resolution"]);
        server
            .generation(&customer, "/text-generations?dry_run=true", &body)
            .invalid(&["resolution"]);
    }
    let gemini = |config: Value| {
        let body = json!({
            "contents": [{"parts": [{"text": "a fox"}]}],
            "generationConfig": {"imageConfig": config},
        });
        let target = "/v1beta/models/gemini-3-pro-image:generateContent";
        let call = server.post(target).json(&body);
        call.header("x-goog-api-key", &customer.key).send()
    };
    assert_eq!(gemini(json!({"imageSize": "2K"})).status, 400);
    let browser = server.operators_browser();
    let form = format!(
        "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{}\r\n--b--\r\n",
        fox_with(json!({"resolution": "2K"}))
    );
    let path = format!("/accounts/{}/generations/pro", customer.account);
    let panel = browser.call(&server, "POST", &path);
    let panel = panel.bytes("multipart/form-data; boundary=b", form.as_bytes());
    panel.invalid(&["resolution"]);
    assert_eq!(jobs(&server), 0);
    // A size on sale has its usual price, also if the interface chooses the size.
    let job = native(fox());
    let job = job.expect(202).job_id();
    server.job_once(&customer, &job, "done");
    server.assert_money(&customer, "0.50", "0.00", "0.50");
    let openai = server.post("/v1/images/generations");
    let body = json!({"model": "pro", "prompt": "a fox", "size": "4096x4096"});
    let openai = openai.json(&body);
    openai.bearer(&customer.key).expect(200);
    server.assert_money(&customer, "0.00", "0.00", "0.00");
}
