//! Pausing and resuming backends of a real server.

use crate::support::{Service, run};
use serde_json::json;

#[test]
fn a_backend_is_paused_and_resumed() {
    // A node reports the backends as it has observed them itself.
    let service = Service::start_alone_with(&[("TINTYPE__BACKENDS__GPU__KIND", "procedural")]);
    let paused = service.run(&["backend", "pause", "gpu", "--reason", "new driver"]);
    assert_eq!(service.run(&["backend", "list"]), paused);
    let switches = service.run(&["pause", "show"]);
    assert!(
        switches.contains("backend gpu  paused   new driver"),
        "{switches}"
    );
    for command in [&["backend", "list"][..], &["stats"]] {
        let listed = service.run(command);
        let line = listed.lines().find(|it| it.starts_with("gpu"));
        let line = line.unwrap_or_else(|| panic!("no gpu in {listed}"));
        assert!(line.contains("unknown, paused (new driver)"), "{line}");
        let other = listed.lines().find(|it| it.starts_with("builtin"));
        assert!(!other.unwrap().contains("paused"), "{listed}");
    }
    let changed = service.run(&["backend", "pause", "gpu", "--reason", "newer driver"]);
    assert!(changed.contains("paused (newer driver)"), "{changed}");
    service.run(&["backend", "pause", "gpu", "--reason", "new driver"]);
    let both = service.json(&["backend", "pause", "builtin", "gpu"]);
    let reasons = both["data"].as_array().unwrap().iter();
    let reasons: Vec<_> = reasons
        .map(|it| json!([it["paused"], it["paused_reason"]]))
        .collect();
    assert_eq!(reasons, [json!([true, null]), json!([true, "new driver"])]);
    service.run(&["pause", "clear"]);
    let switches = service.json(&["pause", "show"]);
    assert_eq!(switches["backends"], json!(["builtin", "gpu"]));
    let reasons = json!({"builtin": null, "gpu": "new driver"});
    assert_eq!(switches["backend_reasons"], reasons);
    let shown = service.run(&["pause", "show"]);
    let gpu = shown.lines().find(|it| it.starts_with("backend gpu"));
    let gpu = gpu.unwrap_or_else(|| panic!("no gpu in {shown}"));
    assert!(gpu.ends_with("new driver"), "{shown}");
    let resumed = service.run(&["backend", "resume", "gpu", "builtin"]);
    assert!(!resumed.contains("paused"), "{resumed}");
    let unknown = service.command(&["backend", "pause", "gpu", "cpu"]);
    let refused = run(unknown, b"").failure();
    assert!(
        refused.contains("backend `cpu` is not defined; defined: builtin, gpu"),
        "{refused}"
    );
    for command in [&["backend", "pause"][..], &["backend", "resume"]] {
        assert_eq!(run(service.command(command), b"").code, Some(2));
    }
    let entries = service.json(&["audit", "list", "--action", "pause"]);
    assert_eq!(entries["data"].as_array().map(Vec::len), Some(5));
    service.stop();
}
