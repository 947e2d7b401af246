//! The answers that need a history: money, queues, pauses, files, secrets.

use super::tour::Tour;
use crate::support::{Customer, fox_with, merge, until};
use serde_json::json;
use std::fs;
use std::sync::Arc;

/// Answers of calls whose feature is not configured.
pub fn not_configured(tour: &mut Tour<'_>) {
    let test = tour.server.admin("POST", "/operator-webhook/test");
    tour.assert_answer(test, "conflict");
}

/// The six generation calls: answers that depend on the key, the money and the pauses.
pub fn generations(tour: &mut Tour<'_>) {
    let server = tour.server;
    let poor = server.customer("0.01");
    let capped = server.another_key(&tour.customer.account, json!({"spend_limit": "0.01"}));
    let contract = tour.contract;
    let limited = server.customer("9.00");
    let path = format!("/accounts/{}", limited.account);
    let limits = json!({"limits": {"spend_per_day": "0.01"}});
    server.admin("PATCH", &path).json(&limits).expect(200);
    let calls = contract.calls();
    let calls: Vec<_> = calls
        .into_iter()
        .filter(|it| it.template.ends_with("-generations"))
        .collect();
    assert_eq!(calls.len(), 6);
    for call in &calls {
        let other = if call.template.contains("/nb/") {
            "pro"
        } else {
            "fast"
        };
        let scoped = server.another_key(&tour.customer.account, json!({"models": [other]}));
        tour.assert_answer(
            tour.without_credentials(call, false).bearer(&scoped.key),
            "model_not_allowed",
        );
        tour.assert_answer(
            tour.without_credentials(call, false).bearer(&poor.key),
            "insufficient_balance",
        );
        tour.assert_answer(
            tour.without_credentials(call, false).bearer(&capped.key),
            "key_limit_reached",
        );
        tour.assert_answer(
            tour.without_credentials(call, false).bearer(&limited.key),
            "account_limit_reached",
        );
        tour.assert_answer(tour.valid_request(call).idempotent(&call.template), "202");
        tour.assert_answer(tour.valid_request(call).idempotent(&call.template), "202");
        let mut other = tour.example(call).unwrap();
        merge(&mut other, json!({"prompt": "another"}));
        let target = call.template.clone();
        let reused = server.post(&target).json(&other).bearer(&tour.customer.key);
        tour.assert_answer(reused.idempotent(&call.template), "idempotency_key_reused");
        let dry = server
            .post(&format!("{target}?dry_run=true"))
            .json(&tour.example(call).unwrap());
        tour.assert_answer(dry.bearer(&tour.customer.key), "200");
    }
    for method in ["PUT", "PATCH"] {
        let reason = json!({"project": true, "reason": "repair", "if_paused": true});
        tour.assert_answer(server.admin(method, "/pause").json(&reason), "conflict");
    }
    server.pause(&["project"]);
    for call in &calls {
        tour.assert_answer(tour.valid_request(call), "paused");
    }
    server.pause(&[]);
    server.assert_settled();
    let place = server.objects();
    fs::rename(&place, place.with_extension("aside")).unwrap();
    fs::write(&place, "in the way").unwrap();
    for call in &calls {
        let mut body = tour.example(call).unwrap();
        merge(&mut body, json!({"prompt": "x".repeat(8_000)}));
        let large = server
            .post(&call.template)
            .json(&body)
            .bearer(&tour.customer.key);
        tour.assert_answer(large, "storage_unavailable");
    }
    // The service looks at its object store at most once a second.
    until("it has looked again", || {
        server.get("/readyz").send().status == 503
    });
    tour.assert_answer(server.get("/readyz"), "overloaded");
    fs::remove_file(&place).unwrap();
    fs::rename(place.with_extension("aside"), &place).unwrap();
}

/// Jobs and their images.
pub fn jobs(tour: &mut Tour<'_>) {
    let server = tour.server;
    let customer = tour.customer.clone();
    let job = server.create(&customer);
    let done = server.job_once(&customer, &job, "done");
    let leaving = server.customer("1.00");
    let of_leaving = server.create(&leaving);
    server.job_once(&leaving, &of_leaving, "done");
    let of = |path: &str| server.native(&customer, "GET", &format!("/jobs/{job}{path}"));
    tour.assert_answer(of("?wait=1"), "200");
    tour.assert_answer(of("/events"), "200");
    tour.assert_answer(of("/events").header("Last-Event-ID", "3"), "204");
    tour.assert_answer(
        server.native(&customer, "DELETE", &format!("/jobs/{job}")),
        "conflict",
    );
    tour.assert_answer(server.admin("DELETE", &format!("/jobs/{job}")), "conflict");

    server.generator.hold();
    let fill: Vec<String> = (0..64).map(|_| server.create(&customer)).collect();
    let (own, others) = (server.create(&customer), server.create(&customer));
    tour.assert_answer(
        server.native(&customer, "DELETE", &format!("/jobs/{own}")),
        "200",
    );
    tour.assert_answer(server.admin("DELETE", &format!("/jobs/{others}")), "200");
    let image_of = |job: &str| format!("/jobs/{job}/image");
    let delete_image = |job: &str| server.native(&customer, "DELETE", &image_of(job));
    tour.assert_answer(delete_image(&own), "conflict");
    tour.assert_answer(server.admin("DELETE", &image_of(&own)), "conflict");
    let erase = |job: &str| server.admin("DELETE", &format!("/jobs/{job}/content"));
    let live = fill.last().unwrap();
    tour.assert_answer(erase(live), "conflict");
    let erase_account = |it: &Customer| {
        let path = format!("/accounts/{}/content", it.account);
        server.admin("DELETE", &path)
    };
    tour.assert_answer(erase_account(&customer), "conflict");
    server.generator.release_all();
    for job in fill {
        server.job_once(&customer, &job, "done");
    }

    let large = fox_with(json!({"prompt": "x".repeat(8_000), "metadata": {"a": "b"}}));
    let stored = server
        .generation(&customer, "/text-generations", &large)
        .expect(202)
        .job_id();
    server.job_once(&customer, &stored, "done");
    let words = server.objects().join("words");
    fs::rename(&words, words.with_extension("aside")).unwrap();
    fs::write(&words, "in the way").unwrap();
    tour.assert_answer(
        server.native(&customer, "GET", "/jobs?metadata%5Ba%5D=b"),
        "storage_unavailable",
    );
    fs::remove_file(&words).unwrap();
    fs::rename(words.with_extension("aside"), &words).unwrap();

    let url = done["result"]["image_url"].as_str().unwrap().to_owned();
    let file = url
        .split_once(&server.address.to_string())
        .unwrap()
        .1
        .to_owned();
    let tag = tour
        .assert_answer(server.get(&file), "200")
        .header("etag")
        .unwrap()
        .to_owned();
    tour.assert_answer(server.get(&file).header("Range", "bytes=0-3"), "206");
    tour.assert_answer(server.get(&file).header("If-None-Match", &tag), "304");
    tour.assert_answer(
        server.get(&file).header("Range", "bytes=1000000-"),
        "range_not_satisfiable",
    );
    tour.assert_answer(server.get(&format!("{file}&width=0")), "validation_failed");
    tour.assert_answer(server.get(&format!("{file}0")), "invalid_signature");
    let image = server.objects().join("results").join(format!("{job}.png"));
    fs::remove_file(&image).unwrap();
    tour.assert_answer(server.get(&file), "gone");
    let results = server.objects().join("results");
    fs::rename(&results, results.with_extension("aside")).unwrap();
    fs::write(&results, "in the way").unwrap();
    tour.assert_answer(server.get(&file), "storage_unavailable");
    tour.assert_answer(delete_image(&job), "storage_unavailable");
    tour.assert_answer(
        server.admin("DELETE", &image_of(&job)),
        "storage_unavailable",
    );
    tour.assert_answer(erase(&job), "storage_unavailable");
    tour.assert_answer(erase_account(&leaving), "storage_unavailable");
    fs::remove_file(&results).unwrap();
    fs::rename(results.with_extension("aside"), &results).unwrap();
    tour.assert_answer(delete_image(&job), "204");
    tour.assert_answer(server.admin("DELETE", &image_of(&job)), "204");
    tour.assert_answer(erase(&job), "204");
    tour.assert_answer(erase_account(&leaving), "200");
    server.clock.advance(std::time::Duration::from_secs(90_000));
    tour.assert_answer(server.get(&file), "url_expired");
}

/// The operator's calls whose answers depend on earlier calls.
pub fn operations(tour: &mut Tour<'_>) {
    let server = tour.server;
    let account = tour.customer.account.clone();
    let deposit = |amount: &str| {
        let path = format!("/accounts/{account}/deposits");
        server
            .admin("POST", &path)
            .json(&json!({"amount": amount}))
            .idempotent("once")
    };
    tour.assert_answer(deposit("1.00"), "201");
    tour.assert_answer(deposit("2.00"), "idempotency_key_reused");
    let charged = server.create(&tour.customer);
    server.job_once(&tour.customer, &charged, "done");
    let too_much = json!({"amount": "99.00", "job_id": charged});
    let refund = server.admin("POST", &format!("/accounts/{account}/deposits"));
    tour.assert_answer(refund.json(&too_much), "conflict");
    let open = |name: &str| {
        let body = json!({"name": name});
        server
            .admin("POST", "/accounts")
            .json(&body)
            .idempotent("o")
    };
    tour.assert_answer(open("one"), "201");
    tour.assert_answer(open("another"), "idempotency_key_reused");

    let rename = server.admin("PATCH", &format!("/accounts/{account}"));
    tour.assert_answer(rename.json(&json!({"name": "studio north"})), "200");

    let key = server.another_key(&account, json!({})).key_id;
    for _ in 0..8 {
        tour.assert_answer(server.admin("POST", &format!("/keys/{key}/rotate")), "200");
    }
    tour.assert_answer(
        server.admin("POST", &format!("/keys/{key}/rotate")),
        "conflict",
    );
    tour.assert_answer(server.admin("DELETE", &format!("/keys/{key}")), "204");
    let owner = server.person(&account, "owner@example.com", "owner");
    let form = "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{\"prompt\": \"a fox\", \"aspect_ratio\": \"1:1\"}\r\n--b--\r\n";
    owner
        .call(
            server,
            "POST",
            &format!("/accounts/{account}/generations/fast"),
        )
        .bytes("multipart/form-data; boundary=b", form.as_bytes())
        .expect(202);
    let keys = server.admin("GET", &format!("/accounts/{account}/keys?limit=100"));
    let keys = keys.expect(200).json();
    let panel = keys["data"].as_array().unwrap().iter();
    let panel = panel.clone().find(|it| it["system"] == true).unwrap();
    let panel = format!("/keys/{}", panel["key_id"].as_str().unwrap());
    tour.assert_answer(server.admin("DELETE", &panel), "conflict");

    let people = format!("/accounts/{account}/people");
    let invite = || {
        let body = json!({"email": "eve@example.com", "role": "owner"});
        server.admin("POST", &people).json(&body)
    };
    let person = tour.assert_answer(invite(), "201").json();
    tour.assert_answer(invite(), "conflict");
    let person = format!("{people}/{}", person["person_id"].as_str().unwrap());
    tour.assert_answer(server.admin("DELETE", &format!("{person}/sessions")), "204");
    tour.assert_answer(server.admin("DELETE", &person), "204");

    let hooks = format!("/accounts/{account}/webhooks");
    let register = |url: &str| server.admin("POST", &hooks).json(&json!({"url": url}));
    let first = tour
        .assert_answer(register("https://example.com/a"), "201")
        .json();
    let first = first["webhook_id"].as_str().unwrap().to_owned();
    tour.assert_answer(register("https://example.com/a"), "conflict");
    register("https://example.com/b").expect(201);
    let taken = json!({"url": "https://example.com/b"});
    tour.assert_answer(
        server
            .admin("PATCH", &format!("/webhooks/{first}"))
            .json(&taken),
        "conflict",
    );
    let delivery = tour
        .assert_answer(
            server.admin("POST", &format!("/webhooks/{first}/test")),
            "202",
        )
        .json();
    let delivery = delivery["delivery_id"].as_str().unwrap().to_owned();
    let again = server.admin("POST", &format!("/webhooks/{first}/test"));
    tour.assert_answer(again, "rate_limited");
    for word in ["202", "rate_limited"] {
        let test = server.admin("POST", "/operator-webhook/test");
        tour.assert_answer(test, word);
    }
    let through_a_proxy = server.get("/metrics").header("Forwarded", "for=192.0.2.1");
    tour.assert_answer(through_a_proxy, "unauthorized");
    tour.assert_answer(
        server.admin("POST", &format!("/deliveries/{delivery}/redeliver")),
        "202",
    );
    let off = server.admin("PATCH", &format!("/webhooks/{first}"));
    tour.assert_answer(off.json(&json!({"active": false})), "200");
    let inactive = server.admin("POST", &format!("/webhooks/{first}/test"));
    tour.assert_answer(inactive, "conflict");
    tour.assert_answer(server.admin("DELETE", &format!("/webhooks/{first}")), "204");
    tour.assert_answer(
        server.admin("POST", &format!("/deliveries/{delivery}/redeliver")),
        "conflict",
    );

    let engine = Arc::clone(server.inside().store.engine());
    let reading = engine.snapshot().unwrap();
    tour.assert_answer(server.admin("GET", "/export"), "conflict");
    drop(reading);
}
