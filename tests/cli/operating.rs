//! The operator's commands against a real server: accounts, money, keys, switches and the audit log.

use crate::support::{Service, run, tintype};
use serde_json::{Value, json};

/// The value of a line of facts.
fn fact<'a>(printed: &'a str, name: &str) -> &'a str {
    let line = printed.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {printed}"));
    line[name.len()..].trim()
}

/// The status of a call of a client with this key.
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
    let added = service.ask(&["account", "add", "studio", "--balance", "25"]);
    assert_eq!(fact(&added, "balance"), "25.00");
    let id = fact(&added, "account").to_owned();
    let listed = service.ask(&["account", "list"]);
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
        let made = service.ask(&deposit);
        assert_eq!(fact(&made, "balance"), "30.50");
        assert_eq!(fact(&made, "reference"), "invoice 7");
    }
    let corrected = service.json(&["deposit", "add", "-0.50", "--account", &id]);
    assert_eq!(corrected["kind"], "adjustment");
    assert_eq!(
        service.json(&["account", "show", "studio"])["balance"],
        "30.00"
    );
    let refused = service.command(&["deposit", "add", "-99", "--account", &id]);
    let said = run(refused, b"").bad();
    assert!(said.contains("amount"), "{said}");
    service.stop();
}

#[test]
fn the_limits_of_an_account_and_of_a_key_are_set_shown_and_removed() {
    let service = Service::start();
    let added = service.ask(&["account", "add", "studio", "--spend-per-day", "5"]);
    assert_eq!(fact(&added, "spent today"), "0.00 of 5.00");
    let limits = ["--max-concurrent", "20", "--rate-limit", "5/10"];
    let changed = service.ask(&[&["account", "limit", "studio"], &limits[..]].concat());
    assert_eq!(fact(&changed, "live jobs"), "0 of 20");
    assert_eq!(fact(&changed, "rate"), "5 per second, burst 10");
    assert_eq!(fact(&changed, "spent today"), "0.00 of 5.00");
    let removed = service.ask(&["account", "limit", "studio", "--spend-per-day", "none"]);
    assert!(!removed.contains("spent today"), "{removed}");
    assert_eq!(fact(&removed, "live jobs"), "0 of 20");
    let refused = service.command(&["account", "limit", "studio"]);
    let said = run(refused, b"").bad();
    assert!(said.contains("--spend-per-day"), "{said}");
    let key = ["key", "add", "ci", "--account", "studio"];
    let key = service.ask(&[&key[..], &["--max-concurrent", "3"]].concat());
    assert_eq!(fact(&key, "max live jobs"), "3");
}

#[test]
fn the_low_balance_of_an_account_is_set_and_removed() {
    let service = Service::start();
    let added = service.ask(&["account", "add", "studio", "--low-balance", "5"]);
    assert_eq!(fact(&added, "low balance"), "5.00");
    let changed = service.ask(&["account", "low-balance", "studio", "7.5"]);
    assert_eq!(fact(&changed, "low balance"), "7.50");
    let removed = service.ask(&["account", "low-balance", "studio", "none"]);
    assert!(!removed.contains("low balance"), "{removed}");
    let refused = service.command(&["account", "low-balance", "studio", "much"]);
    let said = run(refused, b"").bad();
    assert!(said.contains("low_balance"), "{said}");
}

#[test]
fn an_account_is_renamed_switched_off_and_on() {
    let service = Service::start();
    let made = service.ask(&["key", "add", "ci"]);
    let key = fact(&made, "api key").to_owned();
    let renamed = service.ask(&["account", "rename", "default", "studio north"]);
    assert_eq!(fact(&renamed, "name"), "studio north");
    let off = service.json(&["account", "deactivate", "studio north"]);
    assert_eq!(off["active"], false);
    assert!(balance(&service, &key).is_none());
    let listed = service.ask(&["account", "list"]);
    let line = listed.lines().find(|line| line.contains("studio north"));
    let line = line.unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(line.split_whitespace().nth(2), Some("no"), "{listed}");
    let on = service.ask(&["account", "activate", "studio north"]);
    assert_eq!(fact(&on, "active"), "yes");
    assert!(balance(&service, &key).is_some());
    let said = run(service.command(&["account", "rename", "default", "x"]), b"").bad();
    assert!(said.contains("there is no account `default`"), "{said}");
    service.stop();
}

#[test]
fn a_key_from_its_making_to_its_end() {
    let service = Service::start();
    let made = service.ask(&[
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
        fact(&made, "key").to_owned(),
        fact(&made, "api key").to_owned(),
    );
    assert_eq!(fact(&made, "models"), "fast, pro");
    assert_eq!(fact(&made, "today"), "0.00 of 1.50");
    assert!(balance(&service, &first).is_some());
    let listed = service.ask(&["key", "list"]);
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
    service.ask(&["key", "change", &id, "--allowed-ips", "192.0.2.1"]);
    assert!(balance(&service, second).is_none());
    service.ask(&["key", "change", &id, "--allowed-ips", "none"]);
    assert!(balance(&service, second).is_some());
    let off = service.ask(&["key", "deactivate", &id]);
    assert_eq!(fact(&off, "active"), "no");
    assert!(balance(&service, &first).is_none() && balance(&service, second).is_none());
    let on = service.ask(&["key", "change", &id, "--active", "true"]);
    assert_eq!(fact(&on, "active"), "yes");
    assert!(!fact(&service.ask(&["key", "show", &id]), "last used").is_empty());
    assert_eq!(service.ask(&["key", "rm", &id]), format!("removed {id}\n"));
    for words in [&["key", "show", &id][..], &["key", "rotate", &id]] {
        let said = run(service.command(words), b"").bad();
        assert!(said.contains("no such key"), "{said}");
    }
    let said = run(service.command(&["key", "change", &id]), b"").bad();
    assert!(said.contains("--models"), "{said}");
    service.stop();
}

#[test]
fn a_ledger_as_a_table_in_parts_and_as_a_file() {
    let service = Service::start();
    for amount in ["1.00", "2.00", "-0.50"] {
        service.ask(&["deposit", "add", amount, "--reference", "a, b"]);
    }
    let listed = service.ask(&["account", "ledger"]);
    assert!(listed.starts_with("TIME"), "{listed}");
    assert_eq!(listed.lines().count(), 5);
    let part = service.json(&["account", "ledger", "--limit", "2"]);
    let cursor = part["next_cursor"].as_str().expect("more of it");
    let rest = service.json(&["account", "ledger", "--cursor", cursor]);
    assert_eq!(rest["data"].as_array().unwrap().len(), 2);
    assert_eq!(rest["next_cursor"], Value::Null);
    let short = service.command(&["account", "ledger", "--limit", "2"]);
    let short = run(short, b"");
    assert!(short.err.contains(cursor), "{short:?}");
    let file = service.ask(&["account", "ledger", "--csv", "--kind", "adjustment"]);
    let lines: Vec<&str> = file.lines().collect();
    assert_eq!(lines.len(), 2, "{file}");
    assert!(
        lines[1].contains(",adjustment,-0.50,102.50,,\"a, b\","),
        "{file}"
    );
    service.stop();
}

#[test]
fn people_from_their_invitation_to_their_end() {
    let service = Service::start();
    let invited = service.ask(&["person", "invite", "ada@shop.example", "--role", "owner"]);
    let id = fact(&invited, "person").to_owned();
    assert!(fact(&invited, "link ").contains("/panel#/invitation/"));
    let listed = service.ask(&["person", "list"]);
    assert!(listed.contains("ada@shop.example") && listed.contains("invited"));
    assert!(!listed.contains("/panel#"));
    let changed = service.json(&["person", "change", &id, "--role", "viewer"]);
    assert_eq!(changed["role"], "viewer");
    let link = service.json(&["person", "link", &id, "--revoke"]);
    assert!(link["invitation_url"].is_string());
    assert_eq!(
        fact(&service.ask(&["person", "show", &id]), "role"),
        "viewer"
    );
    let out = service.ask(&["person", "sign-out", &id]);
    assert_eq!(out, format!("signed out {id}\n"));
    assert_eq!(
        service.ask(&["person", "rm", &id]),
        format!("removed {id}\n")
    );
    let said = run(service.command(&["person", "show", &id]), b"").bad();
    assert!(said.contains("no such person"), "{said}");
    service.stop();
}

#[test]
fn a_webhook_is_shown_and_changed() {
    let service = Service::start();
    let added = service.json(&["webhook", "add", "http://127.0.0.1:9/a"]);
    let id = added["webhook_id"].as_str().unwrap();
    let shown = service.ask(&["webhook", "show", id]);
    assert_eq!(fact(&shown, "secret"), added["secret"].as_str().unwrap());
    let changed = service.ask(&["webhook", "change", id, "--encoding", "utf8"]);
    assert_eq!(fact(&changed, "encoding"), "utf8");
    assert_eq!(fact(&changed, "url"), "http://127.0.0.1:9/a");
    let changed = service.ask(&["webhook", "change", id, "--active", "false"]);
    assert_eq!(fact(&changed, "active"), "no");
    let nothing = run(service.command(&["webhook", "change", id]), b"");
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    service.stop();
}

#[test]
fn jobs_and_figures_of_a_real_server() {
    let service = Service::start();
    service.ask(&["pause", "set", "pro"]);
    let key = service.json(&["key", "add", "ci"]);
    let key = key["api_key"].as_str().unwrap();
    let picture = service.directory.path().join("fox.png");
    let picture = picture.to_str().unwrap();
    let words = [
        "generate",
        "a fox",
        "-o",
        picture,
        "--tier",
        "fast",
        "--server",
        &service.url,
    ];
    let without = run(tintype(service.directory.path(), &words), b"").bad();
    assert!(without.contains("TINTYPE_KEY"), "{without}");
    let mut generate = tintype(service.directory.path(), &words);
    generate.env("TINTYPE_KEY", key);
    run(generate, b"").good();
    let listed = service.json(&["job", "list", "--status", "done", "--tier", "fast"]);
    let job = &listed["data"][0];
    assert_eq!(job["prompt"], "a fox");
    let id = job["job_id"].as_str().unwrap();
    assert!(service.ask(&["job", "list"]).contains(id));
    let shown = service.ask(&["job", "show", id, "--account", "default"]);
    assert_eq!(fact(&shown, "status"), "done");
    assert!(fact(&shown, "image").contains("/files/"));
    let late = run(service.command(&["job", "cancel", id]), b"").bad();
    assert!(late.contains("done"), "{late}");
    let none = service.json(&["job", "list", "--metadata", "order=7"]);
    assert_eq!(none["data"], json!([]));
    let stats = service.ask(&["stats"]);
    assert_eq!(fact(&stats, "throughput done"), "1");
    service.stop();
}

#[test]
fn the_switches_with_their_reasons() {
    let service = Service::start();
    let set = service.ask(&["pause", "set", "fast", "--reason", "new weights"]);
    let line = |printed: &str, what: &str| -> Vec<String> {
        let line = printed.lines().find(|line| line.starts_with(what)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(line(&set, "fast"), ["fast", "paused", "new", "weights"]);
    let more = service.ask(&["pause", "set", "pro", "project"]);
    assert_eq!(line(&more, "fast"), ["fast", "paused", "new", "weights"]);
    assert_eq!(line(&more, "pro"), ["project", "paused"]);
    let less = service.ask(&["pause", "clear", "project"]);
    assert_eq!(line(&less, "project"), ["project", "running"]);
    assert_eq!(service.ask(&["pause", "show"]), less);
    service.ask(&["pause", "clear"]);
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
fn the_audit_log_from_the_first_start_on() {
    let service = Service::start();
    service.ask(&["pause", "set", "fast", "--reason", "repair"]);
    let listed = service.ask(&["audit", "list"]);
    let actions = ["pause.change", "key.create", "account.create"];
    let found: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().find(|it| actions.contains(it)))
        .collect();
    assert_eq!(found, actions);
    assert!(listed.contains("service") && listed.contains("operator"));
    let keys = service.json(&["audit", "list", "--action", "key", "--account", "default"]);
    assert_eq!(keys["data"].as_array().unwrap().len(), 1);
    let none = service.json(&["audit", "list", "--from", "2030-01-01T00:00:00Z"]);
    assert_eq!(none["data"], json!([]));
    let said = run(
        service.command(&["audit", "list", "--action", "theft"]),
        b"",
    )
    .bad();
    assert!(said.contains("key.change"), "{said}");
    let directory = service.stop();
    let verify = tintype(directory.path(), &["verify", "--data-dir", "data"]);
    let verified = run(verify, b"").good();
    assert!(verified.contains("3 audit log entries"), "{verified}");
}

#[test]
fn completions_for_three_shells() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(tintype(directory.path(), &["completions", shell]), b"").good();
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
    let said = run(tintype(directory.path(), &["completions", "basic"]), b"");
    assert_eq!(said.code, Some(2));
}

#[test]
fn the_one_process_of_a_data_directory_is_listed() {
    let service = Service::start();
    let listed = service.ask(&["node", "list"]);
    assert!(listed.starts_with("NODE"), "{listed}");
    let row = listed.lines().nth(1).unwrap();
    assert!(
        row.contains(env!("CARGO_PKG_VERSION")) && row.contains(" up "),
        "{row}"
    );
    assert_eq!(service.json(&["node", "list"])["shared"], false);
    service.stop();
}
