//! Commands whose output no process reads any more, such as `tintype backup DIR | head -1`: the exit code is the report.

use crate::backup::{files_below, small};
use crate::test_directory::{BINARY, TestDirectory, signal, until};
use std::fs;
use std::io;
use std::process::{Child, Stdio};

/// Runs a command with closed pipes as standard output and standard error. Returns its exit code.
fn code_without_readers(place: &TestDirectory, arguments: &[&str]) -> Option<i32> {
    let closed = || {
        let (_, writer) = io::pipe().expect("a pipe");
        Stdio::from(writer)
    };
    let mut command = place.command(BINARY);
    command.args(arguments).stdout(closed()).stderr(closed());
    let mut child = command.spawn().expect("the binary");
    until("the command ends", || child.try_wait().expect("its status")).code()
}

#[test]
fn a_closed_output_does_not_change_the_exit_code() {
    let place = small();
    for arguments in [
        &["backup", "backups", "--without-pictures", "--without-keys"][..],
        &["backup", "backups"],
        &["backup", "list", "backups"],
        &["verify"],
        &["verify", "--backup", "backups"],
        &["restore", "backups", "--data-dir", "restored"],
        &["export", "--output", "records.jsonl"],
        &["import", "records.jsonl", "--data-dir", "imported"],
        &["check-config"],
        &["generate", "an owl", "--model", "fast"],
    ] {
        assert_eq!(
            code_without_readers(&place, arguments),
            Some(0),
            "{arguments:?}"
        );
    }
    let images = files_below(&place.path("backups/pictures"));
    fs::remove_file(&images[0]).expect("an image");
    let verify = ["verify", "--backup", "backups"];
    assert_eq!(code_without_readers(&place, &verify), Some(1));
}

/// Ends the process even if the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_first_key_that_cannot_be_printed_is_reported() {
    let place = TestDirectory::new();
    let log = place.path("log");
    let full = fs::File::options().write(true).open("/dev/full");
    let mut command = place.command(BINARY);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(place.data())
        .stdout(full.expect("a full device"))
        .stderr(fs::File::create(&log).expect("a log"));
    let mut service = Killed(command.spawn().expect("the binary"));
    until("the log says what to do", || {
        let log = fs::read_to_string(&log).expect("the log");
        log.contains("tintype key add").then_some(())
    });
    signal("TERM", service.0.id());
    let ended = until("it ends", || service.0.try_wait().expect("its status"));
    assert!(ended.success(), "{ended}");
}
