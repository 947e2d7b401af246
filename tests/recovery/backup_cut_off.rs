//! Backups and restores that are killed, or whose disk is full, at a call of their own: nothing that is left passes for a
//! whole. `TINTYPE_FAULTS` says how many calls of each kind are tried.

use crate::backup::{files_below, small};
use crate::faults::{intruder, tried};
use crate::place::{BINARY, Ended, Place};
use std::fs;
use std::path::Path;

/// Runs a command with a deed in store for it at a call on the files below a directory.
fn haunted(place: &Place, arguments: &[&str], below: &Path, deed: &str, at: usize) -> Ended {
    let mut command = place.command(BINARY);
    command
        .args(arguments)
        .arg("--data-dir")
        .arg(place.data())
        .env("LD_PRELOAD", intruder())
        .env("INTRUDER_DIRECTORY", below)
        .env("INTRUDER_AT", at.to_string())
        .env("INTRUDER_DEED", deed)
        .env("INTRUDER_LOG", place.path("calls"));
    if deed == "ENOSPC" {
        command.env("INTRUDER_LASTING", "1");
    }
    Ended::of(command.output().expect("the binary"))
}

/// Calls to which a deed applies, spread over all that a whole run makes.
fn spread(place: &Place, arguments: &[&str], below: &Path, deed: &str) -> Vec<usize> {
    let _ = fs::remove_file(place.path("calls"));
    let whole = haunted(place, arguments, below, deed, 0);
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
fn a_backup_that_is_killed_at_any_call_is_whole_or_counts_for_nothing() {
    let place = small();
    let mut cut_off = 0;
    for deed in ["die-before", "die-after", "die-half"] {
        let _ = fs::remove_dir_all(place.path("backups"));
        let backups = place.path("backups");
        for at in spread(&place, &["backup", "backups"], &backups, deed) {
            fs::remove_dir_all(&backups).expect("an earlier one");
            let killed = haunted(&place, &["backup", "backups"], &backups, deed, at);
            let checked = place.run_without_data(&["verify", "--backup", "backups"]);
            match checked.code {
                Some(0) => {}
                _ => {
                    cut_off += 1;
                    assert_ne!(killed.code, Some(0), "{killed:?}");
                    let there = Place::new();
                    let backups = backups.to_str().expect("a path");
                    there.run(&["restore", backups]).assert_fault(&[]);
                    assert!(!there.data().exists(), "{deed} at {at}");
                }
            }
            // The next one is not disturbed by what is left.
            let next = place.run(&["backup", "backups"]);
            assert_eq!(next.code, Some(0), "{next:?}");
            let checked = place.run_without_data(&["verify", "--backup", "backups"]);
            assert_eq!(checked.code, Some(0), "{deed} at {at}: {checked:?}");
        }
    }
    assert!(cut_off > 0);
}

#[test]
fn a_backup_for_which_there_is_no_room_says_so_and_counts_for_nothing() {
    let place = small();
    let backups = place.path("backups");
    for at in spread(&place, &["backup", "backups"], &backups, "ENOSPC") {
        fs::remove_dir_all(&backups).expect("an earlier one");
        let full = haunted(&place, &["backup", "backups"], &backups, "ENOSPC", at);
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
fn a_restore_that_is_cut_off_at_any_call_is_whole_or_opens_for_nobody() {
    let from = small();
    let made = from.run(&["backup", "backups"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let backups = from.path("backups");
    let backups = backups.to_str().expect("a path");
    let there = Place::new();
    let mut cut_off = 0;
    for deed in ["die-before", "die-after", "ENOSPC"] {
        let _ = fs::remove_dir_all(there.data());
        for at in spread(&there, &["restore", backups], &there.data(), deed) {
            fs::remove_dir_all(there.data()).expect("an earlier one");
            let ended = haunted(&there, &["restore", backups], &there.data(), deed, at);
            let verified = there.run(&["verify"]);
            if verified.code == Some(0) {
                assert!(
                    verified.out.contains("1 images"),
                    "{deed} at {at}: {verified:?}"
                );
            } else {
                cut_off += 1;
                assert_ne!(ended.code, Some(0), "{deed} at {at}: {ended:?}");
            }
            // Made anew where it was not: the loop begins with a directory that is there.
            fs::create_dir_all(there.data()).expect("a directory");
        }
    }
    assert!(cut_off > 0);
}
