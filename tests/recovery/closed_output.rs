//! Commands whose output no process reads any more, such as `tintype backup DIR | head -1`: the exit code is the report.

use crate::backup::{files_below, small};
use crate::test_directory::{BINARY, TestDirectory, until};
use std::fs;
use std::io;
use std::process::Stdio;

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
