//! A webhook from registration to redelivery, using only the command line.

use crate::support::{Running, Service, run, tintype};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn listener(service: &Service, arguments: &[&str]) -> (Running, String) {
    let arguments = [&["webhook", "listen", "--port", "0"], arguments].concat();
    let running = Running::start(service.command(&arguments));
    let url = running.after("Listening at");
    (running, url)
}

fn word<'a>(facts: &'a str, name: &str) -> &'a str {
    let line = facts.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1))
        .unwrap_or_else(|| panic!("no {name} in {facts}"))
}

/// Creates a job; returns its id.
fn job(service: &Service, callback: &str) -> String {
    let body = json!({
        "prompt": "a red fox", "aspect_ratio": "1:1",
        "callback_url": callback, "metadata": {"order": 4711, "café": "☕"},
    });
    let response = http_post(
        &format!("{}/api/v1/nb/text-generations", service.url),
        &service.key,
        &body,
    );
    response["job_id"].as_str().unwrap().to_owned()
}

fn http_post(url: &str, key: &str, body: &Value) -> Value {
    let (url, key, body) = (url.to_owned(), key.to_owned(), body.clone());
    actix_web::rt::System::new().block_on(async move {
        let call = awc::Client::new().post(url).bearer_auth(key);
        let mut answer = call.send_json(&body).await.unwrap();
        assert_eq!(answer.status(), 202);
        answer.json().await.unwrap()
    })
}

#[test]
fn a_webhook_is_registered_tested_observed_and_redelivered_to() {
    let service = Service::start();
    let (receiver, url) = listener(&service, &["--fail", "2"]);
    let greeting = receiver.after("Verifying with the secrets of the webhooks at");
    assert_eq!(greeting, service.url);

    // Register a webhook with and without the name of the account.
    let added = service.run(&["webhook", "add", &url, "--account", "default"]);
    let webhook = word(&added, "webhook").to_owned();
    assert_eq!(word(&added, "url"), url);
    let secret = word(&added, "secret").to_owned();
    assert!(secret.starts_with("whsec_"));
    let utf8 = service.json(&[
        "webhook",
        "add",
        &format!("{url}utf8"),
        "--encoding",
        "utf8",
    ]);
    assert_eq!(utf8["encoding"], "utf8");
    let again = run(service.command(&["webhook", "add", &url]), b"").failure();
    assert!(again.contains("has a webhook with this URL"), "{again}");

    let listed = service.run(&["webhook", "list"]);
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(
        listed.contains(&webhook) && !listed.contains("whsec_"),
        "{listed}"
    );
    let list = service.json(&["webhook", "list"]);
    assert_eq!(list["data"][0]["secret"], secret.as_str());

    // Send a test delivery: two failures, then success.
    let output = service.run(&["webhook", "test", &url]);
    let test = output.split_whitespace().last().unwrap();
    let delivery = service.wait_for_delivery(test, "delivered");
    let codes: Vec<&Value> = attempts(&delivery)
        .iter()
        .map(|it| &it["status_code"])
        .collect();
    assert_eq!(codes, [500, 500, 200]);
    receiver.line("the third attempt", |line| {
        line.contains("attempt 3, response 200").then_some(())
    });
    receiver.line("its metadata", |line| {
        line.ends_with(r#"metadata  {"test":true}"#).then_some(())
    });
    // The webhook is newer than the receiver, which has looked up its secret.
    let lines = receiver.lines();
    let verified = |name: &str| {
        let line = format!("  {name}: verifies");
        lines.iter().filter(|it| **it == line).count()
    };
    assert_eq!(
        (verified("X-Signature"), verified("webhook-signature")),
        (3, 3),
        "{lines:#?}"
    );

    // The delivery of a job.
    let job = job(&service, &url);
    let mine = crate::support::until_some("the job's delivery", || {
        let found = service.json(&["delivery", "list", "--job", &job]);
        found["data"][0]["delivery_id"].as_str().map(str::to_owned)
    });
    service.wait_for_delivery(&mine, "delivered");
    receiver.line("the job", |line| {
        (line.trim() == format!("job       {job}")).then_some(())
    });
    receiver.line("its metadata", |line| {
        line.contains(r#"{"caf\u00e9":"\u2615","order":4711}"#)
            .then_some(())
    });
    let shown = service.run(&["delivery", "show", &mine]);
    assert_eq!(word(&shown, "status"), "delivered");
    for part in ["rejected because of --fail", "received", " ms", &job, &url] {
        assert!(shown.contains(part), "{part} in {shown}");
    }

    // Filter the list.
    for filter in [
        ["--webhook", webhook.as_str()],
        ["--account", "default"],
        ["--status", "delivered"],
    ] {
        let found = service.json(&[&["delivery", "list"], &filter[..]].concat());
        assert_eq!(found["data"].as_array().unwrap().len(), 2, "{filter:?}");
    }
    assert_eq!(
        service.json(&["delivery", "list", "--limit", "1"])["data"][0]["delivery_id"],
        mine.as_str()
    );
    let none = service.run(&["delivery", "list", "--status", "failed"]);
    assert_eq!(none.lines().count(), 1, "{none}");

    // Redeliver under the same id after the secret was rotated.
    let rotated = service.run(&["webhook", "rotate", &webhook]);
    assert_ne!(word(&rotated, "secret"), secret);
    service.run(&["delivery", "redeliver", &mine]);
    receiver.line("the fourth attempt", |line| {
        line.contains("attempt 4, response 200").then_some(())
    });
    let delivery = service.wait_for_delivery(&mine, "delivered");
    assert_eq!(attempts(&delivery).len(), 4);
    let lines = receiver.lines();
    assert!(
        !lines.iter().any(|line| line.contains("does not verify")),
        "{lines:#?}"
    );

    let removed = service.run(&["webhook", "rm", &url]);
    assert_eq!(removed.trim(), format!("deleted {webhook}"));
    let refused = run(service.command(&["delivery", "redeliver", &mine]), b"").failure();
    assert!(refused.contains("webhook"), "{refused}");
    assert_eq!(receiver.stop(), Some(0));
    service.stop();
}

fn attempts(delivery: &Value) -> &Vec<Value> {
    delivery["attempts"].as_array().unwrap()
}

#[test]
fn all_failed_deliveries_of_a_webhook_are_redelivered() {
    let service = Service::start();
    // After the receiver has stopped, no server listens on this port.
    let (receiver, url) = listener(&service, &[]);
    let port = url
        .trim_end_matches('/')
        .rsplit(':')
        .next()
        .unwrap()
        .to_owned();
    assert_eq!(receiver.stop(), Some(0));
    let webhook = service.json(&["webhook", "add", &url])["webhook_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let sent = service.json(&["webhook", "test", &webhook]);
    let id = sent["delivery_id"].as_str().unwrap();
    let failed = service.wait_for_delivery(id, "failed");
    assert_eq!(attempts(&failed).len(), 7);
    assert_eq!(failed["reason"], "attempts exhausted");
    let shown = service.run(&["delivery", "show", id]);
    assert!(shown.contains("failed: attempts exhausted"), "{shown}");
    assert!(shown.contains("connection refused"), "{shown}");

    let redeliver = ["delivery", "redeliver", "--webhook", &webhook];
    let late = [&redeliver[..], &["--from", "2100-01-01T00:00:00Z"]].concat();
    assert!(service.run(&late).starts_with("0 deliveries"));
    let (receiver, again) = {
        let arguments = ["webhook", "listen", "--port", &port, "--json"];
        let running = Running::start(service.command(&arguments));
        let again = running.line("its URL", |line| {
            let output: Value = serde_json::from_str(line).ok()?;
            output["listening"].as_str().map(str::to_owned)
        });
        (running, again)
    };
    assert_eq!(again, url);
    let range = [
        "--from",
        "2020-01-01T00:00:00Z",
        "--to",
        "2100-01-01T00:00:00Z",
    ];
    assert!(
        service
            .run(&[&redeliver[..], &range].concat())
            .starts_with("1 delivery queued")
    );
    service.wait_for_delivery(id, "delivered");
    let line: Value = receiver.line("the delivery", |line| {
        let output: Value = serde_json::from_str(line).ok()?;
        output.get("body").is_some().then_some(output)
    });
    assert_eq!(line["verified"], true);
    assert_eq!(line["headers"]["webhook-id"], id);
    assert_eq!(
        (&line["attempt"], &line["answered"]),
        (&json!(1), &json!(200))
    );
    assert_eq!(receiver.stop(), Some(0));
    service.stop();
}

/// A saved delivery, the secret of its webhook, and its time.
struct SavedDelivery {
    directory: TempDir,
    text: String,
    secret: String,
    sent: i64,
}

impl SavedDelivery {
    fn verify(&self, text: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let arguments = [&["webhook-verify"], arguments].concat();
        let ended = run(tintype(self.directory.path(), &arguments), text.as_bytes());
        (ended.code, ended.out + &ended.err)
    }

    fn file(&self, text: &str) -> PathBuf {
        let path = self.directory.path().join("secret");
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn save_delivery(encoding: &str) -> SavedDelivery {
    let service = Service::start();
    let directory = tempfile::tempdir().unwrap();
    let saved_delivery = directory.path().join("kept");
    let (receiver, url) = listener(&service, &["--save", saved_delivery.to_str().unwrap()]);
    let webhook = service.json(&["webhook", "add", &url, "--encoding", encoding]);
    job(&service, &url);
    let path = receiver.after("saved to");
    assert_eq!(Path::new(&path).parent(), Some(saved_delivery.as_path()));
    let text = std::fs::read_to_string(path).unwrap();
    let sent = text
        .lines()
        .find_map(|line| line.strip_prefix("x-timestamp: "));
    let sent = sent.unwrap().parse().unwrap();
    assert_eq!(receiver.stop(), Some(0));
    service.stop();
    let secret = webhook["secret"].as_str().unwrap().to_owned();
    SavedDelivery {
        directory,
        text,
        secret,
        sent,
    }
}

#[test]
fn a_saved_delivery_is_verified_or_refused_with_a_reason() {
    for encoding in ["ascii", "utf8"] {
        let saved_delivery = save_delivery(encoding);
        let secret = ["--secret", &saved_delivery.secret];
        let at = |late: i64| (saved_delivery.sent + late).to_string();
        let outcome = |text: &str, arguments: &[&str]| {
            let (code, output) = saved_delivery.verify(text, arguments);
            (code.unwrap(), output)
        };
        let both = "X-Signature: verifies\nwebhook-signature: verifies\nthe delivery verifies\n";
        assert_eq!(outcome(&saved_delivery.text, &secret), (0, both.to_owned()));
        let file = saved_delivery.file(&format!("{}\n", saved_delivery.secret));
        let by_file = ["--secret-file", file.to_str().unwrap()];
        assert_eq!(
            outcome(&saved_delivery.text, &by_file),
            (0, both.to_owned())
        );
        let saved = saved_delivery.directory.path().join("delivery.txt");
        std::fs::write(&saved, &saved_delivery.text).unwrap();
        let named = [&secret[..], &[saved.to_str().unwrap()]].concat();
        assert_eq!(outcome("", &named), (0, both.to_owned()));
        let missing = [&secret[..], &["nowhere.txt"]].concat();
        assert!(outcome("", &missing).1.contains("nowhere.txt"));
        for late in [-300, 300] {
            let (code, output) = outcome(
                &saved_delivery.text,
                &[&secret[..], &["--now", &at(late)]].concat(),
            );
            assert_eq!(code, 0, "{late}: {output}");
        }

        for (late, reason) in [(301, "301 s ago"), (-301, "301 s in the future")] {
            let (code, output) = outcome(
                &saved_delivery.text,
                &[&secret[..], &["--now", &at(late)]].concat(),
            );
            assert_eq!((code, output.matches(reason).count()), (1, 2), "{output}");
        }
        let other = format!("whsec_{}=", "A".repeat(43));
        let changed = saved_delivery.text.replace("4711", "4712");
        assert_ne!(changed, saved_delivery.text);
        for (text, secret) in [
            (&saved_delivery.text, &other),
            (&changed, &saved_delivery.secret),
        ] {
            let (code, output) = outcome(text, &["--secret", secret]);
            assert_eq!(
                (code, output.matches("does not match").count()),
                (1, 2),
                "{output}"
            );
        }

        // One valid signature is enough, and a re-encoded body is reported.
        let spaced = saved_delivery.text.replace(",\"status\"", ", \"status\"");
        let (code, output) = outcome(&spaced, &secret);
        assert_eq!(code, 0, "{output}");
        assert!(output.contains(&format!("as {encoding}")), "{output}");
        let standard_only: String = saved_delivery
            .text
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("x-"))
            .collect();
        let (code, output) = outcome(&standard_only, &secret);
        assert_eq!(code, 0, "{output}");
        assert!(
            output.contains("the header X-Signature is missing"),
            "{output}"
        );
    }
}
