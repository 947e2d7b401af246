//! The operator acts for an account: each call of the account's pages succeeds and has its effect.

use crate::panel_guard::{FullAccount, OF_ACCOUNT};
use crate::support::batches::{batch_of, entry};
use serde_json::{Value, json};

/// The body and the success status of each call. Calls that delete something come last.
fn calls() -> Vec<(&'static str, &'static str, Option<Value>, u16)> {
    let url = json!({"url": "http://127.0.0.1:9/other"});
    vec![
        ("GET", "", None, 200),
        ("GET", "/overview", None, 200),
        ("GET", "/models", None, 200),
        ("GET", "/transactions", None, 200),
        ("GET", "/usage", None, 200),
        ("GET", "/usage.csv", None, 200),
        ("GET", "/ledger.csv", None, 200),
        ("GET", "/webhook-outcomes", None, 200),
        ("PATCH", "", Some(json!({"name": "renamed"})), 200),
        ("POST", "/deposits", Some(json!({"amount": "5"})), 201),
        ("GET", "/people", None, 200),
        (
            "POST",
            "/people",
            Some(json!({"email": "b@a.example", "role": "viewer"})),
            201,
        ),
        (
            "PATCH",
            "/people/{person_id}",
            Some(json!({"role": "viewer"})),
            200,
        ),
        ("POST", "/people/{person_id}/invitation", None, 200),
        ("GET", "/jobs", None, 200),
        ("GET", "/jobs/{job_id}", None, 200),
        ("GET", "/jobs/{job_id}/preview", None, 204),
        ("GET", "/jobs/{job_id}/picture", None, 200),
        ("PUT", "/jobs/{job_id}/favourite", None, 204),
        ("GET", "/jobs?favourite=true", None, 200),
        ("DELETE", "/jobs/{job_id}/favourite", None, 204),
        ("GET", "/batches", None, 200),
        ("POST", "/batches", Some(batch_of(&[entry()])), 202),
        ("GET", "/batches/{batch_id}", None, 200),
        ("GET", "/batches/{batch_id}/jobs", None, 200),
        ("GET", "/batches/{batch_id}/results", None, 200),
        ("GET", "/batches/{batch_id}/failed", None, 200),
        ("GET", "/batches/{batch_id}/pictures", None, 200),
        // The batch has ended, too.
        ("DELETE", "/batches/{batch_id}", None, 409),
        // The job is done: there is nothing to cancel.
        ("DELETE", "/jobs/{job_id}", None, 409),
        ("GET", "/keys", None, 200),
        ("POST", "/keys", Some(json!({"name": "another"})), 201),
        ("GET", "/keys/{key_id}", None, 200),
        (
            "PATCH",
            "/keys/{key_id}",
            Some(json!({"name": "renamed"})),
            200,
        ),
        (
            "POST",
            "/keys/{key_id}/rotate",
            Some(json!({"overlap_hours": 1})),
            200,
        ),
        ("GET", "/webhooks", None, 200),
        ("POST", "/webhooks", Some(url), 201),
        (
            "PATCH",
            "/webhooks/{webhook_id}",
            Some(json!({"encoding": "utf8"})),
            200,
        ),
        ("POST", "/webhooks/{webhook_id}/secret", None, 200),
        ("POST", "/webhooks/{webhook_id}/test", None, 202),
        ("POST", "/webhooks/{webhook_id}/rotate-secret", None, 200),
        ("GET", "/webhooks/{webhook_id}/redeliver", None, 200),
        (
            "POST",
            "/webhooks/{webhook_id}/verify",
            Some(json!({"delivery": "X-Timestamp: 1\n\n{}"})),
            200,
        ),
        (
            "POST",
            "/webhooks/{webhook_id}/redeliver",
            Some(json!({})),
            202,
        ),
        ("GET", "/deliveries", None, 200),
        ("GET", "/deliveries/{delivery_id}", None, 200),
        ("GET", "/deliveries/{delivery_id}/sent", None, 200),
        ("POST", "/deliveries/{delivery_id}/redeliver", None, 202),
        ("DELETE", "/jobs/{job_id}/picture", None, 204),
        ("DELETE", "/jobs/{job_id}/content", None, 204),
        ("DELETE", "/people/{person_id}/sessions", None, 204),
        ("DELETE", "/people/{person_id}", None, 204),
        ("DELETE", "/keys/{key_id}", None, 204),
        ("DELETE", "/webhooks/{webhook_id}", None, 204),
    ]
}

/// Other tests cover these: an endless stream, and a form.
const ELSEWHERE: &[(&str, &str)] = &[("GET", "/events"), ("POST", "/generations/{tier}")];

#[test]
fn every_call_of_an_accounts_pages_does_its_work_for_the_operator() {
    let full = FullAccount::new();
    let operator = full.server.operators_browser();
    let calls = calls();
    for (method, template, _) in OF_ACCOUNT {
        let known = calls.iter().any(|it| (it.0, it.1) == (*method, *template));
        let elsewhere = ELSEWHERE.contains(&(*method, *template));
        assert!(known || elsewhere, "{method} {template}");
    }
    for (method, template, body, status) in calls {
        let path = full.path(&full.customer.account, template);
        let call = operator.call(&full.server, method, &path);
        let call = match &body {
            Some(body) => call.json(body),
            None => call,
        };
        call.expect(status);
    }
    // The log records every change as the operator's, on this account.
    let path = format!("/audit?limit=100&account_id={}", full.customer.account);
    let lines = full.server.admin("GET", &path).expect(200).json();
    let lines = lines["data"].as_array().unwrap().clone();
    assert!(lines.iter().all(|it| it["actor"] == "operator"));
    let told = |action: &str| lines.iter().any(|it| it["action"] == action);
    for action in [
        "account.change",
        "deposit.create",
        "person.invite",
        "person.change",
        "person.invite_again",
        "person.remove",
        "batch.create",
        "key.create",
        "key.change",
        "key.rotate",
        "key.delete",
        "webhook.create",
        "webhook.change",
        "webhook.rotate_secret",
        "webhook.test",
        "webhook.delete",
        "delivery.redeliver",
        "job.delete_image",
        "job.erase",
    ] {
        assert!(told(action), "{action}");
    }
}

#[test]
fn the_operator_generates_and_cancels_images_on_behalf_of_an_account() {
    let server = crate::support::Server::with(crate::support::Options::new().slots(1));
    let customer = server.customer("1");
    let operator = server.operators_browser();
    server.generator.hold();
    let base = format!("/accounts/{}", customer.account);
    let make = || {
        let request = json!({"prompt": "a fox", "aspect_ratio": "1:1"});
        let form = format!(
            "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{request}\r\n--b--\r\n"
        );
        let call = operator.call(&server, "POST", &format!("{base}/generations/fast"));
        call.bytes("multipart/form-data; boundary=b", form.as_bytes())
            .expect(202)
            .job_id()
    };
    let first = make();
    server.job_once(&customer, &first, "processing");
    let second = make();
    let path = format!("{base}/jobs/{second}");
    let canceled = operator.call(&server, "DELETE", &path).expect(200).json();
    assert_eq!(canceled["error"], "canceled");
    server.generator.release_all();
    server.job_once(&customer, &first, "done");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}

#[test]
fn the_operator_learns_the_account_of_a_job_a_batch_and_a_key() {
    let full = FullAccount::new();
    let operator = full.server.operators_browser();
    let account = format!("/accounts/{}", full.customer.account);
    let account = operator
        .call(&full.server, "GET", &account)
        .expect(200)
        .json();
    for template in [
        "/jobs/{job_id}/account",
        "/batches/{batch_id}/account",
        "/keys/{key_id}/account",
    ] {
        let path = full.service_path(template);
        let owner = operator.call(&full.server, "GET", &path).expect(200).json();
        let expected = json!({"account_id": account["account_id"], "name": account["name"]});
        assert_eq!(owner, expected, "{path}");
        for unknown in ["01a1fa95-0000-7000-8000-000000000000", "nonsense"] {
            let part = template.split('/').nth(2).unwrap();
            let path = template.replace(part, unknown);
            let answer = operator.call(&full.server, "GET", &path).send();
            answer.assert_problem(404, "not_found");
        }
    }
}
