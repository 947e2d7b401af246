//! Pausing and resuming backends of a real server.

use crate::support::{Service, run};
use serde_json::json;

#[test]
fn a_backend_is_paused_and_resumed() {
    // A node reports the backends as it has observed them itself.
    let service = Service::start_alone_with(&[("TINTYPE__BACKENDS__GPU__KIND", "procedural")]);
    let paused = service.run(&["backend", "pause", "gpu", "--reason", "new driver"]);
    assert!(paused.contains("backend gpu  paused"), "{paused}");
    assert_eq!(service.run(&["pause", "show"]), paused);
    for command in [&["backend", "list"][..], &["stats"]] {
        let listed = service.run(command);
        let line = listed.lines().find(|it| it.starts_with("gpu"));
        let line = line.unwrap_or_else(|| panic!("no gpu in {listed}"));
        assert!(line.contains("unknown, paused (new driver)"), "{line}");
        let other = listed.lines().find(|it| it.starts_with("builtin"));
        assert!(!other.unwrap().contains("paused"), "{listed}");
    }
    let both = service.json(&["backend", "pause", "builtin", "gpu"]);
    assert_eq!(both["backends"], json!(["builtin", "gpu"]));
    let listed = service.run(&["backend", "list"]);
    assert!(listed.contains("paused (new driver)"), "{listed}");
    service.run(&["pause", "clear"]);
    assert_eq!(
        service.json(&["pause", "show"])["backends"],
        both["backends"]
    );
    let resumed = service.run(&["backend", "resume", "gpu", "builtin"]);
    assert!(!resumed.contains("backend "), "{resumed}");
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
    assert_eq!(entries["data"].as_array().map(Vec::len), Some(3));
    service.stop();
}
