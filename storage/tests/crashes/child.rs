//! The child process under test: plays the scenario on a real engine, and prints each commit when it starts and when it is
//! answered.

use crate::{history, script};
use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tintype_storage::engine::sled::{FlushPolicy, SledEngine, SledOptions};
use tintype_storage::engine::wal::Layout;
use tintype_storage::engine::{Engine, EngineError, commit_and_wait};
use tintype_storage::store::Writes;

/// The engine has reported a failure.
static FAILED: AtomicBool = AtomicBool::new(false);
/// The directory of a child's store.
pub const STORE: &str = "store";
/// The time for other answers after a failure.
const LAST_WORDS: Duration = Duration::from_millis(300);
const DIRECTORY: &str = "TINTYPE_CRASHES_DIRECTORY";

/// The child's role, if it does not play the scenario.
const PART: &str = "TINTYPE_CRASHES_PART";
/// Opens and closes the store.
const OPENS: &str = "opens";
/// Opens a store with a history, writes to it and reads all of it.
const STARTS: &str = "starts";
/// Bytes per flush.
const ROUND_BYTES: usize = 3 * 1024;
/// Bytes of sled's log per checkpoint.
const SNAPSHOT_BYTES: u64 = 24 * 1024;

/// Small files and short flushes, so that a short scenario recycles files and uses sled heavily. Flushes start by size and
/// never by time, so every run makes the same calls, except for a few concurrent ones of two threads.
pub fn options() -> SledOptions {
    SledOptions {
        wal: Layout {
            segment_bytes: 12 * 1024,
            step_bytes: 4 * 1024,
            kept: 1,
        },
        flush: FlushPolicy {
            bytes: ROUND_BYTES,
            after: Duration::from_secs(3_600),
        },
        checkpoint_after: SNAPSHOT_BYTES,
        // Checks after the child ended may be slow on a busy machine.
        commit_timeout: Duration::from_secs(60),
        ..SledOptions::new(Arc::new(|error| say(&format!("failed: {error}"))))
    }
}

/// The child's options: it exits shortly after a failure, like the service. A hanging commit is never answered.
fn options_of_child() -> SledOptions {
    let on_failure = |error: &EngineError| {
        FAILED.store(true, Ordering::SeqCst);
        say(&format!("failed: {error}"));
        std::thread::spawn(|| {
            std::thread::sleep(LAST_WORDS);
            end(3)
        });
    };
    SledOptions {
        commit_timeout: match env::var("INTRUDER_DEED").as_deref() {
            Ok("hang") => Duration::from_millis(700),
            // Nothing hangs: a slow commit is due to a busy machine.
            _ => Duration::from_secs(30),
        },
        on_failure: Arc::new(on_failure),
        ..options()
    }
}

/// The command that plays the scenario in a directory.
pub fn command(directory: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(env::current_exe().expect("this program"));
    command
        .args([
            "--exact",
            "child::plays_the_crash_scenario_as_a_child",
            "--nocapture",
        ])
        .args(["--test-threads", "1"])
        .env(DIRECTORY, directory)
        // Many children panic on purpose, and each backtrace takes longer than the scenario.
        .env("RUST_BACKTRACE", "0");
    command
}

/// The command that opens and closes the store in a directory.
pub fn restart(directory: &Path) -> std::process::Command {
    let mut command = command(directory);
    command.env(PART, OPENS);
    command
}

/// The command that starts on a store with a history.
pub fn start(directory: &Path) -> std::process::Command {
    let mut command = command(directory);
    command.env(PART, STARTS);
    command
}

/// A directory for a child's files. A killed process loses nothing that it has written, so memory suffices.
pub fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
        false => tempfile::tempdir(),
    };
    made.expect("a directory")
}

/// Waits until all due flushes have ended, with pauses that leave the processor to the flusher and to other children. A hanging flush
/// takes the time of a timeout.
pub fn wait_for_rounds(engine: &SledEngine) {
    while engine.stats().backlog_bytes >= ROUND_BYTES as u64 && !FAILED.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Prints a line for the parent, at once and in one write.
fn say(word: &str) {
    let mut stdout = std::io::stdout().lock();
    let said = stdout.write_all(format!("{word}\n").as_bytes());
    said.and_then(|()| stdout.flush()).expect("stdout");
}

/// Exits, like the service after a failure, without touching what may hang.
fn end(code: i32) -> ! {
    std::process::exit(code)
}

fn refused(error: &EngineError) -> ! {
    say(&format!("refused: {error}"));
    end(3)
}

/// Plays the scenario as a child; does nothing as a test.
#[test]
fn plays_the_crash_scenario_as_a_child() {
    let Some(directory) = env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    // The scenario reads what it wrote. After a failure that read may panic, which then ends it.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some("flusher") && FAILED.load(Ordering::SeqCst) {
            say("refused: a read");
            end(3)
        }
        usual(panic);
    }));
    // The test harness has started a line.
    say("");
    let part = env::var(PART).unwrap_or_default();
    let opened = || match SledEngine::open(&directory.join(STORE), options_of_child()) {
        Ok(engine) => Arc::new(engine),
        Err(error) => {
            say(&format!("not opened: {error}"));
            end(2)
        }
    };
    let mut number = 0;
    let mut commit = |engine: &SledEngine, writes: Writes| {
        number += 1;
        say(&format!("begun {number}"));
        match commit_and_wait(engine, writes) {
            Ok(()) => {
                say(&format!("answered {number}"));
                wait_for_rounds(engine);
            }
            Err(error) => refused(&error),
        }
    };
    match part.as_str() {
        OPENS => opened().close(),
        STARTS => {
            let engine = opened();
            commit(&engine, history::writes());
            if let Err(error) = history::image(&*engine) {
                refused(&error);
            }
            engine.close();
        }
        _ => {
            for round in 0..script::ROUNDS {
                let engine = opened();
                let dynamic: Arc<dyn Engine> = Arc::clone(&engine) as _;
                script::play(&dynamic, round, &mut |writes| commit(&engine, writes));
                engine.close();
            }
        }
    }
    say("through");
    end(0)
}
