//! Valid and invalid configuration files.

use std::fs;

use super::super::{Config, Sources};
use super::{TestConfig, defaults};

#[test]
fn an_empty_file_is_the_defaults() {
    for content in [
        "",
        "\n\n",
        "# nothing\n",
        "\u{feff}",
        "[server]\n[tiers.fast]\n",
    ] {
        assert_eq!(
            TestConfig::file(content).config(),
            defaults(),
            "{content:?}"
        );
    }
}

#[test]
fn a_byte_order_mark_and_windows_lines_change_nothing() {
    let given = TestConfig::file("\u{feff}[jobs]\r\nmax_runs = 5\r\n");
    assert_eq!(given.config().jobs.max_runs, 5);
    let faults = TestConfig::file("\u{feff}[jobs]\r\nmax_runs = 5\r\n\r\nmax_run = 5\r\n").faults();
    assert_eq!(
        faults,
        ["config.toml:4: jobs.max_run: unknown key; did you mean `max_runs`?"]
    );
}

#[test]
fn a_long_file_is_read_and_an_endless_one_is_not() {
    let comment = "# a line of a comment that goes on and on\n".repeat(25_000);
    let given = TestConfig::file(format!("{comment}jobs.max_runs = 5\n"));
    assert_eq!(given.config().jobs.max_runs, 5);
    let given = TestConfig::file(format!("{comment}jobs.max_runs = 0\n"));
    assert!(given.faults()[0].starts_with("config.toml:25001: jobs.max_runs"));
    let given = TestConfig::file("#".repeat(4 * 1024 * 1024 + 1));
    assert_eq!(
        given.faults(),
        ["config.toml: longer than 4194304 bytes, expected a TOML file"]
    );
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_line() {
    let faults = TestConfig::file(b"[jobs]\nmax_runs = 1\n# \xff\n").faults();
    assert_eq!(
        faults,
        ["config.toml:3: not TOML: the line holds bytes that are not UTF-8"]
    );
    assert!(!TestConfig::file([0u8; 1000]).faults().is_empty());
    assert!(
        !TestConfig::file([0xff, 0xfe, b'a', 0]).faults().is_empty(),
        "UTF-16"
    );
}

#[test]
fn a_named_file_must_exist_and_the_default_one_need_not() {
    let mut given = TestConfig::nothing();
    given.sources.default_file = Some(given.path());
    assert_eq!(given.config(), defaults());
    given.sources.file = Some(given.path());
    assert_eq!(given.faults(), ["config.toml: no such file"]);
}

#[test]
fn the_named_file_replaces_the_default_one() {
    let given = TestConfig::file("jobs.max_runs = 5");
    let other = given.directory.path().join("other.toml");
    fs::write(&other, "jobs.max_live = 7").unwrap();
    let sources = Sources {
        file: given.sources.file.clone(),
        default_file: Some(other),
        ..Sources::default()
    };
    let config = Config::load(&sources).unwrap();
    assert_eq!((config.jobs.max_runs, config.jobs.max_live), (5, 1_000_000));
}

#[test]
fn a_directory_instead_of_the_file_is_reported() {
    for named in [true, false] {
        let mut given = TestConfig::nothing();
        fs::create_dir(given.path()).unwrap();
        let path = Some(given.path());
        match named {
            true => given.sources.file = path,
            false => given.sources.default_file = path,
        }
        assert_eq!(
            given.faults(),
            ["config.toml: is a directory, expected a TOML file"]
        );
    }
}

/// Root can read every file, so this one is a symbolic link to itself.
#[cfg(unix)]
#[test]
fn a_default_file_that_cannot_be_read_is_an_error() {
    let mut given = TestConfig::nothing();
    std::os::unix::fs::symlink(given.path(), given.path()).unwrap();
    given.sources.default_file = Some(given.path());
    let faults = given.faults();
    assert!(
        faults[0].starts_with("config.toml: cannot be read: "),
        "{faults:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_missing_read_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt;

    let given = TestConfig::file("jobs.max_runs = 5");
    fs::set_permissions(given.path(), fs::Permissions::from_mode(0o000)).unwrap();
    match fs::read(given.path()) {
        Ok(_) => assert_eq!(given.config().jobs.max_runs, 5, "root can read it"),
        Err(_) => assert_eq!(given.faults(), ["config.toml: no permission to read it"]),
    }
}

#[test]
fn other_layers_are_checked_even_if_the_file_is_missing() {
    let mut given = TestConfig::nothing().env("TINTYPE__JOBS__MAX_RUNS", "0");
    given.sources.file = Some(given.path());
    assert_eq!(given.faults().len(), 2);
}
