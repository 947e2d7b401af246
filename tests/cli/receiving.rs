//! A webhook from its registration to a delivery that was sent again, with nothing but the command line.

use crate::support::{Running, Service, run, tintype};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn listener(service: &Service, words: &[&str]) -> (Running, String) {
    let words = [&["webhook", "listen", "--port", "0"], words].concat();
    let running = Running::start(service.command(&words));
    let url = running.after("Listening at");
    (running, url)
}

fn word<'a>(facts: &'a str, name: &str) -> &'a str {
    let line = facts.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1))
        .unwrap_or_else(|| panic!("no {name} in {facts}"))
}

/// Has a picture made, which ends a job; returns its id.
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
fn a_webhook_is_registered_tested_watched_and_sent_to_again() {
    let service = Service::start();
    let (receiver, url) = listener(&service, &["--fail", "2"]);
    let greeting = receiver.after("Verifying with the secrets of the webhooks at");
    assert_eq!(greeting, service.url);

    // Registered, by the account's name and without it.
    let added = service.ask(&["webhook", "add", &url, "--account", "default"]);
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
    let again = run(service.command(&["webhook", "add", &url]), b"").bad();
    assert!(again.contains("has a webhook with this URL"), "{again}");

    let listed = service.ask(&["webhook", "list"]);
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(
        listed.contains(&webhook) && !listed.contains("whsec_"),
        "{listed}"
    );
    let list = service.json(&["webhook", "list"]);
    assert_eq!(list["data"][0]["secret"], secret.as_str());

    // Tested: two refusals, then taken.
    let said = service.ask(&["webhook", "test", &webhook]);
    let test = said.split_whitespace().last().unwrap();
    let delivery = service.settled(test, "delivered");
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
    // The webhook is newer than the receiver, which has looked its secret up.
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

    // A job of a customer.
    let job = job(&service, &url);
    let mine = crate::support::until_some("the job's delivery", || {
        let found = service.json(&["delivery", "list", "--job", &job]);
        found["data"][0]["delivery_id"].as_str().map(str::to_owned)
    });
    service.settled(&mine, "delivered");
    receiver.line("the job", |line| {
        (line.trim() == format!("job       {job}")).then_some(())
    });
    receiver.line("its metadata", |line| {
        line.contains(r#"{"caf\u00e9":"\u2615","order":4711}"#)
            .then_some(())
    });
    let shown = service.ask(&["delivery", "show", &mine]);
    assert_eq!(word(&shown, "status"), "delivered");
    for part in ["rejected because of --fail", "received", " ms", &job, &url] {
        assert!(shown.contains(part), "{part} in {shown}");
    }

    // Found by what it is.
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
    let none = service.ask(&["delivery", "list", "--status", "failed"]);
    assert_eq!(none.lines().count(), 1, "{none}");

    // Sent again, under its old id, with a secret that has been replaced meanwhile.
    let rotated = service.ask(&["webhook", "rotate", &webhook]);
    assert_ne!(word(&rotated, "secret"), secret);
    service.ask(&["delivery", "redeliver", &mine]);
    receiver.line("the fourth attempt", |line| {
        line.contains("attempt 4, response 200").then_some(())
    });
    let delivery = service.settled(&mine, "delivered");
    assert_eq!(attempts(&delivery).len(), 4);
    let lines = receiver.lines();
    assert!(
        !lines.iter().any(|line| line.contains("does not verify")),
        "{lines:#?}"
    );

    let removed = service.ask(&["webhook", "rm", &webhook]);
    assert_eq!(removed.trim(), format!("removed {webhook}"));
    let refused = run(service.command(&["delivery", "redeliver", &mine]), b"").bad();
    assert!(refused.contains("webhook"), "{refused}");
    assert_eq!(receiver.stop(), Some(0));
    service.stop();
}

fn attempts(delivery: &Value) -> &Vec<Value> {
    delivery["attempts"].as_array().unwrap()
}

#[test]
fn all_failed_deliveries_of_a_webhook_are_sent_again() {
    let service = Service::start();
    // Nobody listens at this port once the receiver has gone.
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
    let failed = service.settled(id, "failed");
    assert_eq!(attempts(&failed).len(), 7);
    assert_eq!(failed["reason"], "attempts exhausted");
    let shown = service.ask(&["delivery", "show", id]);
    assert!(shown.contains("failed: attempts exhausted"), "{shown}");
    assert!(shown.contains("connection refused"), "{shown}");

    let redeliver = ["delivery", "redeliver", "--webhook", &webhook];
    let late = [&redeliver[..], &["--from", "2100-01-01T00:00:00Z"]].concat();
    assert!(service.ask(&late).starts_with("0 deliveries"));
    let (receiver, again) = {
        let words = ["webhook", "listen", "--port", &port, "--json"];
        let running = Running::start(service.command(&words));
        let again = running.line("its URL", |line| {
            let said: Value = serde_json::from_str(line).ok()?;
            said["listening"].as_str().map(str::to_owned)
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
            .ask(&[&redeliver[..], &range].concat())
            .starts_with("1 delivery queued")
    );
    service.settled(id, "delivered");
    let line: Value = receiver.line("the delivery", |line| {
        let said: Value = serde_json::from_str(line).ok()?;
        said.get("body").is_some().then_some(said)
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

/// A delivery that was kept, with its secret and its time.
struct Kept {
    directory: TempDir,
    text: String,
    secret: String,
    sent: i64,
}

impl Kept {
    fn verify(&self, text: &str, words: &[&str]) -> (Option<i32>, String) {
        let words = [&["webhook-verify"], words].concat();
        let ended = run(tintype(self.directory.path(), &words), text.as_bytes());
        (ended.code, ended.out + &ended.err)
    }

    fn file(&self, text: &str) -> PathBuf {
        let path = self.directory.path().join("secret");
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn keep(encoding: &str) -> Kept {
    let service = Service::start();
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    let (receiver, url) = listener(&service, &["--save", kept.to_str().unwrap()]);
    let webhook = service.json(&["webhook", "add", &url, "--encoding", encoding]);
    job(&service, &url);
    let path = receiver.after("saved to");
    assert_eq!(Path::new(&path).parent(), Some(kept.as_path()));
    let text = std::fs::read_to_string(path).unwrap();
    let sent = text
        .lines()
        .find_map(|line| line.strip_prefix("x-timestamp: "));
    let sent = sent.unwrap().parse().unwrap();
    assert_eq!(receiver.stop(), Some(0));
    service.stop();
    let secret = webhook["secret"].as_str().unwrap().to_owned();
    Kept {
        directory,
        text,
        secret,
        sent,
    }
}

#[test]
fn a_kept_delivery_is_verified_or_refused_with_a_reason() {
    for encoding in ["ascii", "utf8"] {
        let kept = keep(encoding);
        let secret = ["--secret", &kept.secret];
        let at = |late: i64| (kept.sent + late).to_string();
        let outcome = |text: &str, words: &[&str]| {
            let (code, said) = kept.verify(text, words);
            (code.unwrap(), said)
        };
        let both = "X-Signature: verifies\nwebhook-signature: verifies\nthe delivery verifies\n";
        assert_eq!(outcome(&kept.text, &secret), (0, both.to_owned()));
        let file = kept.file(&format!("{}\n", kept.secret));
        let by_file = ["--secret-file", file.to_str().unwrap()];
        assert_eq!(outcome(&kept.text, &by_file), (0, both.to_owned()));
        let saved = kept.directory.path().join("delivery.txt");
        std::fs::write(&saved, &kept.text).unwrap();
        let named = [&secret[..], &[saved.to_str().unwrap()]].concat();
        assert_eq!(outcome("", &named), (0, both.to_owned()));
        let missing = [&secret[..], &["nowhere.txt"]].concat();
        assert!(outcome("", &missing).1.contains("nowhere.txt"));
        for late in [-300, 300] {
            let (code, said) = outcome(&kept.text, &[&secret[..], &["--now", &at(late)]].concat());
            assert_eq!(code, 0, "{late}: {said}");
        }

        for (late, reason) in [(301, "301 s ago"), (-301, "301 s in the future")] {
            let (code, said) = outcome(&kept.text, &[&secret[..], &["--now", &at(late)]].concat());
            assert_eq!((code, said.matches(reason).count()), (1, 2), "{said}");
        }
        let other = format!("whsec_{}=", "A".repeat(43));
        let changed = kept.text.replace("4711", "4712");
        assert_ne!(changed, kept.text);
        for (text, secret) in [(&kept.text, &other), (&changed, &kept.secret)] {
            let (code, said) = outcome(text, &["--secret", secret]);
            assert_eq!(
                (code, said.matches("does not match").count()),
                (1, 2),
                "{said}"
            );
        }

        // One scheme is enough, and what is said of a body that was written anew tells so.
        let spaced = kept.text.replace(",\"status\"", ", \"status\"");
        let (code, said) = outcome(&spaced, &secret);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains(&format!("as {encoding}")), "{said}");
        let standard_only: String = kept
            .text
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("x-"))
            .collect();
        let (code, said) = outcome(&standard_only, &secret);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("the header X-Signature is missing"), "{said}");
    }
}
