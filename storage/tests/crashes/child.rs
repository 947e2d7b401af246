//! The process that something is done to: plays the story on a real engine and says of each commit when it is begun and when it
//! is answered.

use crate::{past, script};
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

/// The engine has said that it failed.
static FAILED: AtomicBool = AtomicBool::new(false);
/// Where the store of a child lies.
pub const STORE: &str = "store";
/// How long others may still be answered after a failure.
const LAST_WORDS: Duration = Duration::from_millis(300);
const DIRECTORY: &str = "TINTYPE_CRASHES_DIRECTORY";

/// What the process does, where it is another thing than to play the story.
const PART: &str = "TINTYPE_CRASHES_PART";
/// It opens the store, and closes it.
const OPENS: &str = "opens";
/// It opens a store with a past, writes to it and reads all of it.
const STARTS: &str = "starts";
/// Bytes that are worth a round.
const ROUND_BYTES: usize = 3 * 1024;
/// Bytes of sled's log that are worth a snapshot.
const SNAPSHOT_BYTES: u64 = 24 * 1024;

/// Small files and short rounds, so that a short story recycles files and gives sled much to do. A round comes when there is so
/// much for it and never by the clock: so the calls of a story are the same each time, but for a few that two threads make side
/// by side.
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
        // Whoever looks at what a child left waits for a busy machine.
        commit_timeout: Duration::from_secs(60),
        ..SledOptions::new(Arc::new(|error| say(&format!("failed: {error}"))))
    }
}

/// The same for the child: it ends a moment after a failure, as the service does. The commit that hangs is never answered.
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
            // Nothing hangs: a commit that takes long waits for a busy machine.
            _ => Duration::from_secs(30),
        },
        on_failure: Arc::new(on_failure),
        ..options()
    }
}

/// The command that plays the story in a directory.
pub fn command(directory: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(env::current_exe().expect("this program"));
    command
        .args([
            "--exact",
            "child::plays_the_story_as_a_child",
            "--nocapture",
        ])
        .args(["--test-threads", "1"])
        .env(DIRECTORY, directory);
    command
}

/// The command that opens the store in a directory and closes it again.
pub fn restart(directory: &Path) -> std::process::Command {
    let mut command = command(directory);
    command.env(PART, OPENS);
    command
}

/// The command that starts on a store with a past.
pub fn start(directory: &Path) -> std::process::Command {
    let mut command = command(directory);
    command.env(PART, STARTS);
    command
}

/// A place for a child's files. A killed process loses nothing that it has written, whatever they lie on, so memory will do.
pub fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
        false => tempfile::tempdir(),
    };
    made.expect("a directory")
}

/// Waits until what is worth a round has had it.
pub fn wait_for_rounds(engine: &SledEngine) {
    while engine.stats().backlog_bytes >= ROUND_BYTES as u64 && !FAILED.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
}

/// One line to whoever started this child, at once and in one write.
fn say(word: &str) {
    let mut stdout = std::io::stdout().lock();
    let said = stdout.write_all(format!("{word}\n").as_bytes());
    said.and_then(|()| stdout.flush()).expect("stdout");
}

/// Ends the process, as the service does after a failure, without another look at what may hang.
fn end(code: i32) -> ! {
    std::process::exit(code)
}

fn refused(error: &EngineError) -> ! {
    say(&format!("refused: {error}"));
    end(3)
}

/// Plays the story when it is run as a child, and nothing when it is run as a test.
#[test]
fn plays_the_story_as_a_child() {
    let Some(directory) = env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    // The story expects to read what it has written. After a failure it may not; then that is what ends it.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some("flusher") && FAILED.load(Ordering::SeqCst) {
            say("refused: a read");
            end(3)
        }
        usual(panic);
    }));
    // The test harness has begun a line of its own.
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
            commit(&engine, past::writes());
            if let Err(error) = past::image(&*engine) {
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
