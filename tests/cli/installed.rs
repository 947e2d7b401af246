//! The files of the package match: its configuration, its systemd unit, and the paths that the commands read.

use crate::support::{run, tintype};
use std::fs;
use std::path::{Path, PathBuf};

const DATA_DIR: &str = "/var/lib/tintype";
const CONFIG: &str = "/etc/tintype/config.toml";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_installed_configuration_is_valid_and_uses_the_state_directory_of_the_unit() {
    let directory = tempfile::tempdir().unwrap();
    let config = root().join("deploy/debian/config.toml");
    let config = config.to_str().unwrap();
    let printed = run(
        tintype(directory.path(), &["check-config", "--config", config]),
        b"",
    )
    .success();
    let data_dir = format!("data_dir = \"{DATA_DIR}\"");
    assert!(printed.contains(&data_dir), "{printed}");
    let unit = text("deploy/tintype.service");
    let starts: Vec<&str> = unit
        .lines()
        .filter_map(|it| it.strip_prefix("ExecStart="))
        .collect();
    // A flag would silently override the file for the service, but not for the commands.
    assert_eq!(
        starts,
        [format!("/usr/bin/tintype serve --config {CONFIG}")]
    );
    assert!(unit.contains("\nStateDirectory=tintype\n"), "{DATA_DIR}");
}

/// An outage of the database, or a full disk, may take longer than any number of starts.
#[test]
fn the_unit_restarts_the_service_however_often_it_fails() {
    let unit = text("deploy/tintype.service");
    for line in [
        "StartLimitIntervalSec=0",
        "Restart=on-failure",
        "RestartSec=5",
    ] {
        assert!(unit.lines().any(|it| it == line), "{line}");
    }
    assert!(!unit.contains("StartLimitBurst"), "{unit}");
}

#[test]
fn every_file_of_the_package_exists_and_only_root_can_read_secrets() {
    let manifest: toml::Value = toml::from_str(&text("Cargo.toml")).unwrap();
    let package = &manifest["package"]["metadata"]["deb"];
    let assets = package["assets"].as_array().unwrap();
    let mut modes = Vec::new();
    for asset in assets {
        let part = |at: usize| asset[at].as_str().unwrap().to_owned();
        let from = part(0);
        modes.push((part(1), part(2)));
        let place = root().join(from.split('*').next().unwrap());
        // Build artifacts do not exist yet.
        assert!(from.starts_with("target/") || place.exists(), "{from}");
    }
    let mode = |name: &str| {
        modes
            .iter()
            .find(|(to, _)| to == name)
            .map(|(_, mode)| mode.as_str())
    };
    assert_eq!(mode("etc/tintype/environment"), Some("600"));
    assert_eq!(mode("etc/tintype/config.toml"), Some("640"));
    for name in package["conf-files"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        assert!(mode(name.trim_start_matches('/')).is_some(), "{name}");
    }
}

#[test]
fn commands_work_without_the_backend_keys_of_the_service() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("config.toml");
    let listen = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listen.local_addr().unwrap();
    drop(listen);
    let settings = format!(
        "[server]\nlisten = \"{address}\"\n[admin]\ntoken = \"the-token-of-an-installed-service-0123\"\n\
         [backends.google]\nkind = \"gemini\"\nbase_url = \"http://{address}\"\napi_key_env = \"A_KEY_OF_THE_SERVICE\"\n\
         [tiers.fast]\nbackends = [{{ name = \"google\", model = \"gemini-2.5-flash-image\" }}]\n"
    );
    fs::write(&config, settings).unwrap();
    let output = |arguments: &[&str]| run(tintype(directory.path(), arguments), b"").failure();
    assert!(output(&["check-config"]).contains("A_KEY_OF_THE_SERVICE"));
    let unreachable = output(&["stats"]);
    assert!(
        !unreachable.contains("A_KEY_OF_THE_SERVICE"),
        "{unreachable}"
    );
    assert!(unreachable.contains(&address.to_string()), "{unreachable}");
    let nothing_there = output(&["verify"]);
    assert!(
        nothing_there.contains("not a Tintype data directory"),
        "{nothing_there}"
    );
    for (arguments, expected) in [
        (&["backup", "saved"][..], "not a Tintype data directory"),
        (&["export"], "not a Tintype data directory"),
        (&["restore", "nowhere"], "no directory nowhere"),
        (&["import", "nothing.jsonl"], "cannot read nothing.jsonl"),
    ] {
        let refused = output(arguments);
        assert!(refused.contains(expected), "{arguments:?}: {refused}");
    }
}
