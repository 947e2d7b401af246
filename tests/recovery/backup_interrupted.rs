//! Backups and restores that are killed, or meet a full disk, at a chosen system call: no partial result passes for a complete one.
//! `TINTYPE_FAULTS` sets how many calls of each kind are tried.

use crate::backup::{files_below, small};
use crate::faults::{intruder, tried};
use crate::test_directory::{BINARY, CommandOutput, TestDirectory};
use std::fs;
use std::path::Path;

/// Runs a command with a fault injected at a system call on the files below a directory.
fn run_with_fault(
    place: &TestDirectory,
    arguments: &[&str],
    below: &Path,
    fault: &str,
    at: usize,
) -> CommandOutput {
    let mut command = place.command(BINARY);
    command
        .args(arguments)
        .arg("--data-dir")
        .arg(place.data())
        .env("LD_PRELOAD", intruder())
        .env("INTRUDER_DIRECTORY", below)
        .env("INTRUDER_AT", at.to_string())
        .env("INTRUDER_DEED", fault)
        .env("INTRUDER_LOG", place.path("calls"));
    if fault == "ENOSPC" {
        command.env("INTRUDER_LASTING", "1");
    }
    CommandOutput::of(command.output().expect("the binary"))
}

/// The calls at which to inject the fault, spread over all calls of a complete run.
fn spread(place: &TestDirectory, arguments: &[&str], below: &Path, fault: &str) -> Vec<usize> {
    let _ = fs::remove_file(place.path("calls"));
    let whole = run_with_fault(place, arguments, below, fault, 0);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let calls = fs::read_to_string(place.path("calls")).expect("calls");
    let calls = calls.lines().count();
    assert!(calls > 5, "{calls}");
    let tried = tried().min(calls);
    (0..tried)
        .map(|it| 1 + it * (calls - 1) / (tried - 1))
        .collect()
}

#[test]
fn a_backup_killed_at_any_call_is_complete_or_ignored() {
    let place = small();
    let mut cut_off = 0;
    for fault in ["die-before", "die-after", "die-half"] {
        let _ = fs::remove_dir_all(place.path("backups"));
        let backups = place.path("backups");
        for at in spread(&place, &["backup", "backups"], &backups, fault) {
            fs::remove_dir_all(&backups).expect("an earlier one");
            let killed = run_with_fault(&place, &["backup", "backups"], &backups, fault, at);
            let checked = place.run_without_data(&["verify", "--backup", "backups"]);
            match checked.code {
                Some(0) => {}
                _ => {
                    cut_off += 1;
                    assert_ne!(killed.code, Some(0), "{killed:?}");
                    let there = TestDirectory::new();
                    let backups = backups.to_str().expect("a path");
                    there.run(&["restore", backups]).assert_fault(&[]);
                    assert!(!there.data().exists(), "{fault} at {at}");
                }
            }
            // The leftovers do not disturb the next run.
            let next = place.run(&["backup", "backups"]);
            assert_eq!(next.code, Some(0), "{next:?}");
            let checked = place.run_without_data(&["verify", "--backup", "backups"]);
            assert_eq!(checked.code, Some(0), "{fault} at {at}: {checked:?}");
        }
    }
    assert!(cut_off > 0);
}

#[test]
fn a_backup_on_a_full_disk_is_reported_and_leaves_no_manifest() {
    let place = small();
    let backups = place.path("backups");
    for at in spread(&place, &["backup", "backups"], &backups, "ENOSPC") {
        fs::remove_dir_all(&backups).expect("an earlier one");
        let full = run_with_fault(&place, &["backup", "backups"], &backups, "ENOSPC", at);
        full.assert_fault(&["o space left on device"]);
        let manifests = || {
            files_below(&backups)
                .into_iter()
                .filter(|it| it.ends_with("manifest.json"))
        };
        assert!(!backups.exists() || manifests().count() == 0, "at {at}");
        let verified = place.run(&["verify"]);
        assert_eq!(verified.code, Some(0), "the service's own: {verified:?}");
        let again = place.run(&["backup", "backups"]);
        assert_eq!(again.code, Some(0), "{again:?}");
    }
}

#[test]
fn a_restore_interrupted_at_any_call_is_complete_or_unusable() {
    let from = small();
    let made = from.run(&["backup", "backups"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let backups = from.path("backups");
    let backups = backups.to_str().expect("a path");
    let there = TestDirectory::new();
    let mut cut_off = 0;
    for fault in ["die-before", "die-after", "ENOSPC"] {
        let _ = fs::remove_dir_all(there.data());
        for at in spread(&there, &["restore", backups], &there.data(), fault) {
            fs::remove_dir_all(there.data()).expect("an earlier one");
            let ended = run_with_fault(&there, &["restore", backups], &there.data(), fault, at);
            let verified = there.run(&["verify"]);
            if verified.code == Some(0) {
                assert!(
                    verified.out.contains("1 image\n"),
                    "{fault} at {at}: {verified:?}"
                );
            } else {
                cut_off += 1;
                assert_ne!(ended.code, Some(0), "{fault} at {at}: {ended:?}");
            }
            // Recreates the directory if the restore left none: each iteration starts with an existing directory.
            fs::create_dir_all(there.data()).expect("a directory");
        }
    }
    assert!(cut_off > 0);
}
