//! The crash matrix and the fault matrix of the store. A child process plays a scripted scenario, once per system call on its
//! files, and at that call the process dies or the call fails. Then the store is opened as after any restart: everything
//! answered is there, nothing is partial, every invariant holds, and the store remains usable.
//!
//! Nothing is sampled: the calls are counted, and each is tried. A process that died dies once more during recovery.
//! `TINTYPE_CRASHES` selects the faults; the default is all.

mod child;
mod history;
mod matrix;
mod script;

use matrix::{Figures, Matrix};

/// The only call that the store does not repeat after an interruption: sled's own. Linux documents no EINTR for it.
const NOT_REPEATED: &str = "sync_file_range /db";

/// Injects a fault at every call of the scenario and prints the results.
fn at_every_call(deed: &str, lasting: bool) {
    try_all(&Matrix::of_the_story, "", deed, lasting);
}

/// Injects a fault at every call of a start on a store with a history.
fn at_every_call_of_a_start(deed: &str, lasting: bool) {
    try_all(&|| Matrix::of_a_start(false), "a start, ", deed, lasting);
}

fn try_all(matrix: &dyn Fn() -> Matrix, of: &str, deed: &str, lasting: bool) {
    if std::env::var("TINTYPE_CRASHES").is_ok_and(|only| !only.split(',').any(|it| it == deed)) {
        return;
    }
    let Figures {
        calls,
        ended_at,
        came_through,
        not_opened,
    } = matrix().run(deed, lasting);
    let ends = ended_at.len();
    println!(
        "{of}{deed}{}: at each of {calls} calls; {ends} ends, {came_through} runs were unaffected, {not_opened} starts refused; nothing lost without a word",
        if lasting { ", lasting" } else { "" }
    );
    assert!(calls > 15, "{deed} was tried at {calls} calls only");
    let may_end = |call: &str| match deed {
        "short" => false,
        "EINTR" => call == NOT_REPEATED,
        _ => true,
    };
    let ends_wrongly = ended_at.iter().find(|it| !may_end(it));
    assert_eq!(ends_wrongly, None, "{of}{deed} ends the process");
}

#[test]
fn hostile_088_the_process_dies_before_any_call() {
    at_every_call("die-before", false);
}

#[test]
fn hostile_088_097_the_process_dies_after_any_call() {
    at_every_call("die-after", false);
}

#[test]
fn hostile_088_the_process_dies_within_any_write() {
    at_every_call("die-half", false);
}

#[test]
fn hostile_074_any_call_fails_with_an_input_output_error() {
    at_every_call("EIO", false);
}

#[test]
fn hostile_074_from_any_call_on_all_fail() {
    at_every_call("EIO", true);
}

#[test]
fn hostile_073_the_disk_is_full_at_any_write() {
    at_every_call("ENOSPC", false);
}

#[test]
fn hostile_073_the_disk_stays_full_from_any_write_on() {
    at_every_call("ENOSPC", true);
}

#[test]
fn hostile_076_no_descriptor_is_left_at_any_opening() {
    at_every_call("EMFILE", false);
}

#[test]
fn hostile_076_any_read_or_write_is_short() {
    at_every_call("short", false);
}

#[test]
fn hostile_076_any_call_is_interrupted() {
    at_every_call("EINTR", false);
}

#[test]
fn hostile_077_any_sync_write_or_change_of_a_name_hangs() {
    at_every_call("hang", false);
}

#[test]
fn hostile_074_any_call_of_a_start_fails_with_an_input_output_error() {
    at_every_call_of_a_start("EIO", false);
}

#[test]
fn hostile_074_a_failed_read_of_data_that_was_read_before_is_reported_as_a_loss() {
    try_all(&|| Matrix::of_a_start(true), "a cold start, ", "EIO", false);
}

#[test]
fn hostile_074_from_any_call_of_a_start_on_all_fail() {
    at_every_call_of_a_start("EIO", true);
}

#[test]
fn hostile_076_any_read_or_write_of_a_start_is_short() {
    at_every_call_of_a_start("short", false);
}

#[test]
fn hostile_076_any_call_of_a_start_is_interrupted() {
    at_every_call_of_a_start("EINTR", false);
}
