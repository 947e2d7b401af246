//! Operator commands against a real server: accounts, deposits, keys, pauses and the audit log.

use crate::support::{Service, run, tintype, until_some};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The value of a `name  value` line.
fn field<'a>(printed: &'a str, name: &str) -> &'a str {
    let line = printed.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {printed}"));
    line[name.len()..].trim()
}

/// The balance as this API key sees it; `None` if the server rejects the key.
fn balance(service: &Service, key: &str) -> Option<Value> {
    let host = service.url.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let head = format!(
        "GET /api/v1/balance HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n"
    );
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    head.starts_with("HTTP/1.1 200")
        .then(|| serde_json::from_str(body).unwrap())
}

#[test]
fn accounts_and_deposits() {
    let service = Service::start();
    let added = service.run(&["account", "add", "studio", "--balance", "25"]);
    assert_eq!(field(&added, "balance"), "25.00");
    let id = field(&added, "account").to_owned();
    let listed = service.run(&["account", "list"]);
    assert!(listed.starts_with("ACCOUNT"), "{listed}");
    assert!(listed.contains("default") && listed.contains("studio"));
    let deposit = [
        "deposit",
        "add",
        "5.50",
        "--account",
        "studio",
        "--reference",
        "invoice 7",
        "--idempotency-key",
        "d1",
    ];
    for _ in 0..2 {
        let made = service.run(&deposit);
        assert_eq!(field(&made, "balance"), "30.50");
        assert_eq!(field(&made, "reference"), "invoice 7");
    }
    let corrected = service.json(&["deposit", "add", "-0.50", "--account", &id]);
    assert_eq!(corrected["kind"], "adjustment");
    assert_eq!(
        service.json(&["account", "show", "studio"])["balance"],
        "30.00"
    );
    let refused = service.command(&["deposit", "add", "-99", "--account", &id]);
    let output = run(refused, b"").failure();
    assert!(output.contains("amount"), "{output}");
    service.stop();
}

#[test]
fn the_limits_of_an_account_and_of_a_key_are_set_shown_and_removed() {
    let service = Service::start();
    let added = service.run(&["account", "add", "studio", "--spend-per-day", "5"]);
    assert_eq!(field(&added, "spent today"), "0.00 of 5.00");
    let limits = ["--max-concurrent", "20", "--rate-limit", "5/10"];
    let changed = service.run(&[&["account", "limit", "studio"], &limits[..]].concat());
    assert_eq!(field(&changed, "live jobs"), "0 of 20");
    assert_eq!(field(&changed, "rate"), "5 per second, burst 10");
    assert_eq!(field(&changed, "spent today"), "0.00 of 5.00");
    let removed = service.run(&["account", "limit", "studio", "--spend-per-day", "none"]);
    assert!(!removed.contains("spent today"), "{removed}");
    assert_eq!(field(&removed, "live jobs"), "0 of 20");
    let refused = service.command(&["account", "limit", "studio"]);
    let output = run(refused, b"").failure();
    assert!(output.contains("--spend-per-day"), "{output}");
    let key = ["key", "add", "ci", "--account", "studio"];
    let key = service.run(&[&key[..], &["--max-concurrent", "3"]].concat());
    assert_eq!(field(&key, "max live jobs"), "3");
}

#[test]
fn the_low_balance_of_an_account_is_set_and_removed() {
    let service = Service::start();
    let added = service.run(&["account", "add", "studio", "--low-balance", "5"]);
    assert_eq!(field(&added, "low balance"), "5.00");
    let changed = service.run(&["account", "low-balance", "studio", "7.5"]);
    assert_eq!(field(&changed, "low balance"), "7.50");
    let removed = service.run(&["account", "low-balance", "studio", "none"]);
    assert!(!removed.contains("low balance"), "{removed}");
    let refused = service.command(&["account", "low-balance", "studio", "much"]);
    let output = run(refused, b"").failure();
    assert!(output.contains("low_balance"), "{output}");
}

#[test]
fn an_account_is_renamed_deactivated_and_reactivated() {
    let service = Service::start();
    let made = service.run(&["key", "add", "ci"]);
    let key = field(&made, "api key").to_owned();
    let renamed = service.run(&["account", "rename", "default", "studio north"]);
    assert_eq!(field(&renamed, "name"), "studio north");
    let off = service.json(&["account", "deactivate", "studio north"]);
    assert_eq!(off["active"], false);
    assert!(balance(&service, &key).is_none());
    let listed = service.run(&["account", "list"]);
    let line = listed.lines().find(|line| line.contains("studio north"));
    let line = line.unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(line.split_whitespace().nth(2), Some("no"), "{listed}");
    let on = service.run(&["account", "activate", "studio north"]);
    assert_eq!(field(&on, "active"), "yes");
    assert!(balance(&service, &key).is_some());
    let output = run(service.command(&["account", "rename", "default", "x"]), b"").failure();
    assert!(output.contains("there is no account `default`"), "{output}");
    service.stop();
}

#[test]
fn a_key_is_created_shown_changed_and_deleted() {
    let service = Service::start();
    let made = service.run(&[
        "key",
        "add",
        "ci",
        "--models",
        "fast,pro",
        "--spend-limit-daily",
        "1.5",
        "--rate-limit",
        "5/10",
        "--allowed-ips",
        "127.0.0.0/8",
    ]);
    let (id, first) = (
        field(&made, "key").to_owned(),
        field(&made, "api key").to_owned(),
    );
    assert_eq!(field(&made, "models"), "fast, pro");
    assert_eq!(field(&made, "today"), "0.00 of 1.50");
    assert!(balance(&service, &first).is_some());
    let listed = service.run(&["key", "list"]);
    assert!(listed.contains(&id) && !listed.contains(&first));
    let changed = service.json(&["key", "change", &id, "--models", "none", "--name", "all"]);
    assert_eq!(changed["models"], json!(["fast", "quality", "pro"]));
    assert_eq!(
        (&changed["name"], &changed["spend_limit_daily"]),
        (&"all".into(), &"1.50".into())
    );
    let rotated = service.json(&["key", "rotate", &id, "--overlap", "1"]);
    let second = rotated["api_key"].as_str().unwrap();
    assert!(balance(&service, &first).is_some() && balance(&service, second).is_some());
    service.run(&["key", "change", &id, "--allowed-ips", "192.0.2.1"]);
    assert!(balance(&service, second).is_none());
    service.run(&["key", "change", &id, "--allowed-ips", "none"]);
    assert!(balance(&service, second).is_some());
    let off = service.run(&["key", "deactivate", &id]);
    assert_eq!(field(&off, "active"), "no");
    assert!(balance(&service, &first).is_none() && balance(&service, second).is_none());
    let on = service.run(&["key", "activate", &id]);
    assert_eq!(field(&on, "active"), "yes");
    assert!(balance(&service, second).is_some());
    let off = service.run(&["key", "change", &id, "--active", "false"]);
    assert_eq!(field(&off, "active"), "no");
    let on = service.run(&["key", "change", &id, "--active", "true"]);
    assert_eq!(field(&on, "active"), "yes");
    assert!(!field(&service.run(&["key", "show", &id]), "last used").is_empty());
    assert_eq!(service.run(&["key", "rm", &id]), format!("deleted {id}\n"));
    for arguments in [&["key", "show", &id][..], &["key", "rotate", &id]] {
        let output = run(service.command(arguments), b"").failure();
        assert!(output.contains("no such key"), "{output}");
    }
    let output = run(service.command(&["key", "change", &id]), b"").failure();
    assert!(output.contains("--models"), "{output}");
    service.stop();
}

#[test]
fn the_expiry_of_a_key_is_in_the_future_and_listed() {
    let service = Service::start();
    let add = ["key", "add", "late", "--expires", "2020-01-01T00:00:00Z"];
    let refused = run(service.command(&add), b"").failure();
    assert!(refused.contains("must be in the future"), "{refused}");
    let end = "2100-01-01T00:00:00Z";
    let made = service.run(&["key", "add", "ci", "--expires", end]);
    let id = field(&made, "key").to_owned();
    let row = |word: &str| {
        let listed = service.run(&["key", "list"]);
        let row = listed.lines().find(|line| line.contains(&id)).unwrap();
        assert!(row.contains(word), "{row}");
        row.split_whitespace().nth(2).unwrap().to_owned()
    };
    assert_eq!(row("2100-01-01"), "yes");
    // To end a key at once is not a mistake.
    let change = ["key", "change", &id, "--expires", "2020-01-01T00:00:00Z"];
    assert_eq!(field(&service.run(&change), "active"), "expired");
    assert_eq!(row("2020-01-01"), "expired");
    service.stop();
}

#[test]
fn a_person_is_invited_listed_changed_and_deleted() {
    let service = Service::start();
    let invited = service.run(&["person", "invite", "ada@shop.example", "--role", "owner"]);
    let id = field(&invited, "person").to_owned();
    assert!(field(&invited, "link ").contains("/panel#/invitation/"));
    let listed = service.run(&["person", "list"]);
    assert!(listed.contains("ada@shop.example") && listed.contains("invited"));
    assert!(!listed.contains("/panel#"));
    let changed = service.json(&["person", "change", &id, "--role", "viewer"]);
    assert_eq!(changed["role"], "viewer");
    let link = service.json(&["person", "link", &id, "--revoke"]);
    assert!(link["invitation_url"].is_string());
    assert_eq!(
        field(&service.run(&["person", "show", &id]), "role"),
        "viewer"
    );
    let out = service.run(&["person", "sign-out", &id]);
    assert_eq!(out, format!("signed out {id}\n"));
    assert_eq!(
        service.run(&["person", "rm", &id]),
        format!("deleted {id}\n")
    );
    let output = run(service.command(&["person", "show", &id]), b"").failure();
    assert!(output.contains("no such person"), "{output}");
    service.stop();
}

#[test]
fn a_webhook_is_shown_and_changed() {
    let service = Service::start();
    let added = service.json(&["webhook", "add", "http://127.0.0.1:9/a"]);
    let id = added["webhook_id"].as_str().unwrap();
    let shown = service.run(&["webhook", "show", id]);
    assert_eq!(field(&shown, "secret"), added["secret"].as_str().unwrap());
    let changed = service.run(&["webhook", "change", id, "--encoding", "utf8"]);
    assert_eq!(field(&changed, "encoding"), "utf8");
    assert_eq!(field(&changed, "url"), "http://127.0.0.1:9/a");
    let changed = service.run(&["webhook", "change", id, "--active", "false"]);
    assert_eq!(field(&changed, "active"), "no");
    let nothing = run(service.command(&["webhook", "change", id]), b"");
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    service.stop();
}

#[test]
fn jobs_and_stats_of_a_server() {
    let service = Service::start();
    service.run(&["pause", "set", "pro"]);
    let key = service.json(&["key", "add", "ci"]);
    let key = key["api_key"].as_str().unwrap();
    let image = service.directory.path().join("fox.png");
    let image = image.to_str().unwrap();
    let arguments = [
        "generate",
        "a fox",
        "-o",
        image,
        "--tier",
        "fast",
        "--server",
        &service.url,
    ];
    let without = run(tintype(service.directory.path(), &arguments), b"").failure();
    assert!(without.contains("TINTYPE_KEY"), "{without}");
    let mut generate = tintype(service.directory.path(), &arguments);
    generate.env("TINTYPE_KEY", key);
    run(generate, b"").success();
    let listed = service.json(&["job", "list", "--status", "done", "--tier", "fast"]);
    let job = &listed["data"][0];
    assert_eq!(job["prompt"], "a fox");
    let id = job["job_id"].as_str().unwrap();
    assert!(service.run(&["job", "list"]).contains(id));
    let shown = service.run(&["job", "show", id, "--account", "default"]);
    assert_eq!(field(&shown, "status"), "done");
    let image = field(&shown, "image");
    assert!(image.contains(&format!("/results/{id}.")), "{image}");
    let late = run(service.command(&["job", "cancel", id]), b"").failure();
    assert!(late.contains("done"), "{late}");
    // The account is that of the job.
    service.run(&["account", "add", "another"]);
    let refund = ["deposit", "add", "--refund-of", id];
    let part = service.run(&[&refund[..], &["0.009"]].concat());
    assert_eq!(field(&part, "refund of"), id);
    assert_eq!(field(&part, "account"), "default");
    assert_eq!(field(&service.run(&refund), "amount"), "0.03");
    let shown = service.run(&["job", "show", id]);
    assert_eq!(field(&shown, "refunded"), "0.039");
    let more = run(service.command(&refund), b"").failure();
    assert!(more.contains("0.00 is left to refund"), "{more}");
    statements(&service);
    let deleted = service.run(&["job", "delete-image", id]);
    assert_eq!(deleted, format!("deleted the image of {id}\n"));
    let shown = service.run(&["job", "show", id]);
    assert_eq!(field(&shown, "status"), "done");
    assert_eq!(field(&shown, "image"), "deleted");
    let none = service.json(&["job", "list", "--metadata", "order=7"]);
    assert_eq!(none["data"], json!([]));
    // Each node counts the jobs that it runs.
    let stats = || service.run(&["stats"]);
    let done: Vec<String> = (0..service.nodes())
        .map(|_| field(&stats(), "done").to_owned())
        .collect();
    let ones = done.iter().filter(|it| it.starts_with("1 since "));
    assert_eq!(ones.count(), 1, "{done:?}");
    assert!(stats().contains("\nBACKEND "), "{}", stats());
    service.stop();
}

/// The charge of a job of 0.039, which was refunded.
fn statements(service: &Service) {
    let period = ["--from", "2020-01-01", "--to", "2100-01-01"];
    let statement = |more: &[&str]| {
        let arguments = [&["account", "statement"], &period[..], more];
        service.run(&arguments.concat())
    };
    let all = statement(&[]);
    assert!(
        all.starts_with("OPENING") && all.contains("-0.039"),
        "{all}"
    );
    assert!(all.contains("another"), "{all}");
    let account = service.json(&["account", "show", "another"]);
    let id = account["account_id"].as_str().unwrap();
    assert!(all.contains(id), "{all}");
    let lines = statement(&["default", "--lines", "--csv"]);
    let [head, line] = lines.lines().collect::<Vec<_>>()[..] else {
        panic!("{lines}")
    };
    assert!(head.ends_with("model,resolution,unit_price,images,charged"));
    assert!(
        line.ends_with("\"default\",\"USD\",fast,1K,0.039,1,0.039"),
        "{line}"
    );
    let month = ["account", "statement", "--month", "2020-01", "--csv"];
    let month = service.run(&month);
    assert_eq!(month.lines().count(), 1, "{month}");
    let without = service.command(&["account", "statement"]);
    let output = run(without, b"");
    assert_eq!(output.code, Some(2));
    let both = "<--month <MONTH>|--from <TIME>>";
    assert!(output.err.contains(both), "{output:?}");
}

#[test]
fn pauses_with_their_reasons() {
    let service = Service::start();
    let set = service.run(&["pause", "set", "fast", "--reason", "new weights"]);
    let line = |printed: &str, what: &str| -> Vec<String> {
        let line = printed.lines().find(|line| line.starts_with(what)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(line(&set, "fast"), ["fast", "paused", "new", "weights"]);
    let more = service.run(&["pause", "set", "pro", "project"]);
    assert_eq!(line(&more, "fast"), ["fast", "paused", "new", "weights"]);
    assert_eq!(line(&more, "pro"), ["project", "paused"]);
    let less = service.run(&["pause", "clear", "project"]);
    assert_eq!(line(&less, "project"), ["project", "running"]);
    assert_eq!(service.run(&["pause", "show"]), less);
    service.run(&["pause", "clear"]);
    let shown = service.json(&["pause", "show"]);
    let open = json!({"project": false, "tiers": {"fast": false, "quality": false, "pro": false}});
    assert_eq!(shown, open);
    assert_eq!(run(service.command(&["pause", "set"]), b"").code, Some(2));
    assert_eq!(
        run(service.command(&["pause", "set", "turbo"]), b"").code,
        Some(2)
    );
    service.stop();
}

#[test]
fn the_audit_log_since_the_first_start() {
    let service = Service::start();
    service.run(&["pause", "set", "fast", "--reason", "repair"]);
    let listed = service.run(&["audit", "list"]);
    let actions = ["pause.change", "key.create", "account.create"];
    let found: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().find(|it| actions.contains(it)))
        .collect();
    assert_eq!(found, actions);
    assert!(listed.contains("service") && listed.contains("operator"));
    let keys = service.json(&["audit", "list", "--action", "key", "--account", "default"]);
    assert_eq!(keys["data"].as_array().unwrap().len(), 1);
    service.run(&["person", "invite", "ada@example.com", "--role", "owner"]);
    // The operator made all changes.
    let of_person = service.json(&["audit", "list", "--person", "ada@example.com"]);
    assert_eq!(of_person["data"], json!([]));
    let unknown = ["audit", "list", "--person", "eve@example.com"];
    let unknown = run(service.command(&unknown), b"").failure();
    assert!(unknown.contains("no person `eve@example.com`"), "{unknown}");
    let found = service.json(&["account", "list", "--name", "DEF"]);
    assert_eq!(found["data"][0]["name"], "default");
    let found = service.json(&["account", "list", "--name", "studio"]);
    assert_eq!(found["data"], json!([]));
    let none = service.json(&["audit", "list", "--from", "2030-01-01"]);
    assert_eq!(none["data"], json!([]));
    let output = run(
        service.command(&["audit", "list", "--action", "theft"]),
        b"",
    )
    .failure();
    assert!(output.contains("key.change"), "{output}");
    let verified = service.stop_and_run(&["verify", "--data-dir", "data"]);
    assert!(verified.contains("4 audit log entries"), "{verified}");
}

#[test]
fn completions_for_three_shells() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(tintype(directory.path(), &["completions", shell]), b"").success();
        for word in [
            "tintype",
            "account",
            "rotate",
            "redeliver",
            "spend-limit-daily",
        ] {
            assert!(script.contains(word), "{word} for {shell}");
        }
    }
    let output = run(tintype(directory.path(), &["completions", "basic"]), b"");
    assert_eq!(output.code, Some(2));
}

#[test]
fn the_only_process_of_a_data_directory_is_listed() {
    let service = Service::start_alone();
    let listed = service.run(&["node", "list"]);
    assert!(listed.starts_with("NODE"), "{listed}");
    let row = listed.lines().nth(1).unwrap();
    assert!(
        row.contains(env!("CARGO_PKG_VERSION")) && row.contains(" up "),
        "{row}"
    );
    assert_eq!(service.json(&["node", "list"])["shared"], false);
    service.stop();
}

#[test]
fn nodes_behind_a_load_balancer_answer_in_turn() {
    let service = Service::start();
    let mut answered = BTreeSet::new();
    until_some("every node has answered", || {
        let list = service.json(&["node", "list"]);
        // A node lists itself after its first heartbeat.
        let mut nodes = list["data"].as_array().unwrap().iter();
        let node = nodes.find(|it| it["answers"] == true);
        answered.extend(node.map(|it| it["pid"].as_u64().unwrap()));
        (answered.len() == service.nodes()).then_some(())
    });
    service.stop();
}

#[test]
fn the_commands_and_the_server_read_the_same_token_from_the_environment() {
    let [quoted, long] = [format!("\"{}\"", "a".repeat(40)), "b".repeat(40)];
    for variables in [
        &[("TINTYPE_ADMIN_TOKEN", &*quoted)][..],
        &[
            ("TINTYPE_ADMIN_TOKEN", &*quoted),
            ("TINTYPE__ADMIN__TOKEN", &*long),
        ],
    ] {
        let service = Service::start_alone_with(variables);
        let mut command = service.command(&["account", "list"]);
        command.envs(variables.iter().copied());
        run(command, b"").success();
        service.stop();
    }
}
