//! Child processes: roles that this test program plays when a test needs a second process.

use crate::support::no_failure;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Engine, commit_and_wait, submit_waiting};

const PART: &str = "TINTYPE_STORAGE_TEST_PART";
const DIRECTORY: &str = "TINTYPE_STORAGE_TEST_DIRECTORY";

/// Does nothing as a test; plays the role that the environment names as a child.
#[test]
fn plays_the_role_named_by_the_environment() {
    let Ok(part) = env::var(PART) else { return };
    let directory = PathBuf::from(env::var_os(DIRECTORY).expect("a directory"));
    match part.as_str() {
        "hold" => hold(&directory),
        "commit" => commit(&directory),
        "fill" => fill(&directory),
        other => panic!("unknown part {other}"),
    }
}

/// The command that plays a role on a directory.
pub fn child(part: &str, directory: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    as_child(&mut command, part, directory);
    command
}

/// Like [`child`], run by a shell after `setting`, such as a limit.
pub fn child_under(setting: &str, part: &str, directory: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{setting}; exec \"$0\" \"$@\"")]);
    command.arg(env::current_exe().expect("this program"));
    as_child(&mut command, part, directory);
    command
}

fn as_child(command: &mut Command, part: &str, directory: &Path) {
    command
        .args([
            "--exact",
            "children::plays_the_role_named_by_the_environment",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(PART, part)
        .env(DIRECTORY, directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
}

/// A child that has printed its first line. Dropping it ends the child.
pub struct Running {
    pub child: Child,
    pub stdout: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a child and waits until it prints `word`.
    pub fn start(mut command: Command, word: &str) -> Self {
        let mut child = command.spawn().expect("spawn");
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        let mut running = Self { child, stdout };
        let said = running.words().any(|line| line == word);
        assert!(said, "the child ended without saying {word:?}");
        running
    }

    /// The lines that the child prints from now on.
    pub fn words(&mut self) -> impl Iterator<Item = String> {
        (&mut self.stdout).lines().map_while(Result::ok)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The child may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints a line for the parent. `println!` was refused: the test harness captures it.
fn say(word: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{word}").expect("stdout");
    stdout.flush().expect("stdout");
}

/// Keeps the directory open until stdin ends.
fn hold(directory: &Path) {
    let engine = SledEngine::open(directory, SledOptions::new(no_failure())).expect("open");
    commit_and_wait(&engine, vec![(b"held".to_vec(), Some(vec![1]))]).expect("commit");
    say("\nopen");
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .expect("standard input");
}

/// Commits one by one, and prints each commit when it is answered.
fn commit(directory: &Path) {
    let engine = SledEngine::open(directory, SledOptions::new(no_failure())).expect("open");
    say("\nopen");
    for number in 0..20u32 {
        let key = number.to_be_bytes().to_vec();
        commit_and_wait(&engine, vec![(key, Some(vec![7; 500]))]).expect("commit");
        say(&format!("answered {number}"));
    }
}

/// Commits until the disk refuses, and reports the engine's reaction.
fn fill(directory: &Path) {
    let mut options = SledOptions::new(Arc::new(|error| say(&format!("on_failure: {error}"))));
    options.commit_timeout = Duration::from_secs(2);
    let engine = SledEngine::open(directory, options).expect("open");
    say("\nopen");
    for number in 0..1_000_000u32 {
        let key = number.to_be_bytes().to_vec();
        let answer = submit_waiting(&engine, vec![(key, Some(vec![7; 9_000]))]);
        // A commit without an answer within a minute would hang forever.
        match answer.recv_timeout(Duration::from_secs(60)) {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => say(&format!("refused: {error}")),
            Err(error) => say(&format!("no answer: {error}")),
        }
        say(&format!("answered before: {number}"));
        break;
    }
    let after = commit_and_wait(&engine, vec![(b"after".to_vec(), Some(vec![]))]);
    say(&format!("after: {after:?}"));
    engine.close();
    say("closed");
    // No promise covers dropping sled after a failure: the process exits instead.
    std::process::exit(0);
}
