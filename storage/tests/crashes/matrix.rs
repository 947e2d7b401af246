//! One fault, injected at each call in turn.

use crate::history::{self, Image};
use crate::{child, script};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{env, fs};
use tempfile::TempDir;
use tintype_storage::engine::sled::SledEngine;
use tintype_storage::engine::{Engine, EngineError, commit_and_wait};
use tintype_storage::store::Store;
use tintype_storage::verify::verify;

const FIRST_START: &str = "its first start was cut off, and it holds nothing yet; remove it";
/// Undisturbed runs that are counted first.
const COUNTED: usize = 2;
/// The tolerated difference between runs, in calls.
const MARGIN: u64 = 12;
/// The approximate number of calls of an opening.
const CALLS_OF_A_START: u64 = 60;
/// Commits per run after the restart: four files of the journal.
const GOES_ON: u8 = 20;
/// The time limit of a child after the fault: the watchdog's limit, plus plenty for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The results of a fault.
#[derive(Default)]
pub struct Figures {
    /// Calls at which the fault was injected.
    pub calls: u64,
    /// The call at which each child ended that ended early.
    pub ended_at: Vec<String>,
    /// Children that the fault did not affect.
    pub came_through: u64,
    /// Refused restarts, before anything was answered; for cold starts, after severe loss.
    pub not_opened: u64,
}

/// What the child of one run printed.
#[derive(Default)]
struct ChildOutput {
    begun: usize,
    answered: usize,
    through: bool,
    failures: usize,
    lines: Vec<String>,
}

pub struct Matrix {
    /// The stored records after each commit of the child.
    images: Vec<Image>,
    /// The store that the child finds, unless it starts empty.
    past: Option<TempDir>,
    /// Drop the store from the system's cache.
    cold: bool,
}

/// The interposing library, compiled once.
fn intruder() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = BUILT.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory");
        let library = directory.path().join("intruder.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crashes/intruder.c");
        let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
        let compiled = Command::new(compiler)
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .status()
            .expect("a C compiler, which linking Rust programs needs as well");
        assert!(compiled.success(), "the fault injector does not compile");
        (directory, library)
    });
    library
}

impl Matrix {
    /// The child plays the scenario.
    pub fn of_the_story() -> Self {
        Self {
            images: script::images(),
            past: None,
            cold: false,
        }
    }

    /// The child starts on a store with a history. If `cold`, the system's cache is empty: then more may be lost than can be
    /// repaired, but it must be reported.
    pub fn of_a_start(cold: bool) -> Self {
        let (past, found) = history::make();
        Self {
            images: vec![found.clone(), history::after(found)],
            past: Some(past),
            cold,
        }
    }

    /// A directory with the child's store, and the child's command.
    fn child(&self, deed: &str, at: u64) -> (TempDir, Command) {
        let place = child::place();
        let command = match &self.past {
            None => child::command(place.path()),
            Some(past) => {
                let store = Path::new(child::STORE);
                history::copy(&past.path().join(store), &place.path().join(store));
                child::start(place.path())
            }
        };
        let mut command = disturbed(command, place.path(), deed, at);
        if self.cold {
            command.env("INTRUDER_COLD", "1");
        }
        (place, command)
    }

    /// Injects the fault at each call. The calls are counted several times, because concurrent threads may make one more or
    /// less; some calls beyond the highest count are tried, so that none is left out.
    pub fn run(&self, deed: &str, lasting: bool) -> Figures {
        // On a very busy machine the child may mistake its disk for a hanging one.
        let counted = || (0..5).find_map(|_| self.count(deed).ok());
        let counts = [(); COUNTED].map(|()| counted().expect("an undisturbed scenario"));
        let (least, most) = (
            counts.iter().copied().min().unwrap_or(0),
            counts.iter().copied().max().unwrap_or(0),
        );
        assert!(most - least <= MARGIN, "the runs differ: {counts:?} calls");
        let next = AtomicU64::new(1);
        let outcome = Mutex::new((Figures::default(), Vec::new()));
        let mut threads = std::thread::available_parallelism().map_or(1, usize::from);
        if deed == "hang" {
            // Hanging children mostly wait.
            threads *= 8;
        }
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at > most + MARGIN {
                            return;
                        }
                        let ran = self.once(deed, at, lasting);
                        let (figures, faults) = &mut *outcome.lock().expect("figures");
                        match ran {
                            Ok(None) => {}
                            Ok(Some(of_run)) => figures.add(of_run),
                            Err(fault) => {
                                let fault = format!("{deed} at call {at}: {fault}");
                                println!("{fault}");
                                faults.push(fault);
                            }
                        }
                        if faults.len() >= 10 {
                            return;
                        }
                    }
                });
            }
        });
        let (figures, faults) = outcome.into_inner().expect("figures");
        assert!(faults.is_empty(), "{}", faults.join("\n\n"));
        assert!(
            figures.calls + MARGIN >= least,
            "{} of {least} calls",
            figures.calls
        );
        figures
    }

    /// The number of calls to which the fault applies in an undisturbed run.
    fn count(&self, deed: &str) -> Result<u64, String> {
        let (place, command) = self.child(deed, 0);
        let log = place.path().join("log");
        let (said, _) = run(command, place.path())?;
        let calls = fs::read_to_string(&log).unwrap_or_default();
        match said.through {
            true => Ok(calls.lines().count() as u64),
            false => Err(format!("it did not come through: {:?}", said.lines)),
        }
    }

    /// Plays the scenario with the fault at one call; `None` if there are fewer calls.
    fn once(&self, deed: &str, at: u64, lasting: bool) -> Result<Option<Figures>, String> {
        let (place, mut command) = self.child(deed, at);
        let log = place.path().join("log");
        if lasting {
            command.env("INTRUDER_LASTING", "1");
        }
        let (said, code) = run(command, place.path())?;
        let calls = fs::read_to_string(&log).unwrap_or_default();
        let Some(call) = calls.lines().find(|it| it.ends_with(" DEED")) else {
            return match said.through {
                true => Ok(None),
                false => Err(format!("nothing was done, and yet: {:?}", said.lines)),
            };
        };
        let describe = |fault: String| format!("({call}) {fault}\nthe child said {:?}", said.lines);
        let died = deed.starts_with("die");
        self.check_end(&said, code, died).map_err(describe)?;
        if died {
            // Once more during the recovery, each time at another call.
            let command = child::restart(place.path());
            let again = 1 + at % CALLS_OF_A_START;
            run(disturbed(command, place.path(), deed, again), place.path())?;
        }
        let describe = |fault: String| format!("({call}) {fault}\nthe child said {:?}", said.lines);
        let lives = if at.is_multiple_of(3) { 3 } else { 1 };
        let opened = self
            .check_restart(&said, place.path(), lives)
            .map_err(describe)?;
        Ok(Some(Figures {
            calls: 1,
            ended_at: match said.through {
                true => Vec::new(),
                false => vec![call.trim_end_matches(" DEED").to_owned()],
            },
            came_through: u64::from(said.through),
            not_opened: u64::from(!opened),
        }))
    }

    /// A child that was not killed ends with success or with an error message.
    fn check_end(&self, said: &ChildOutput, code: Option<i32>, died: bool) -> Result<(), String> {
        match code {
            None if died => Ok(()),
            // The fault may hit a thread's clean-up after the last answer.
            Some(0) if said.through => Ok(()),
            Some(2 | 3) if !died => {
                let last = said.lines.last().map_or("", String::as_str);
                let words = ["refused: ", "not opened: ", "failed: "];
                let is_reported = words.iter().any(|it| last.starts_with(it));
                if said.failures > 1 {
                    return Err("the failure was reported more than once".into());
                }
                is_reported
                    .then_some(())
                    .ok_or_else(|| "it ended without a word".into())
            }
            other => Err(format!("it ended with {other:?}")),
        }
    }

    /// Everything answered is there, nothing is partial, and the store remains usable.
    fn check_restart(&self, said: &ChildOutput, place: &Path, lives: u8) -> Result<bool, String> {
        let store = place.join(child::STORE);
        let engine = match SledEngine::open(&store, child::options()) {
            Ok(engine) => engine,
            Err(error) if said.begun == 0 && error.to_string().contains(FIRST_START) => {
                return Ok(false);
            }
            Err(error) if self.cold => return is_reported_again(said, &error.to_string()),
            Err(error) => return Err(format!("the restart fails: {error}")),
        };
        let found = history::image(&engine).map_err(|error| error.to_string())?;
        let newest = (said.answered..=said.begun).find(|at| self.images[*at] == found);
        let engine: Arc<dyn Engine> = Arc::new(engine);
        let faults = match self.past {
            None => verify(&Store::new(Arc::clone(&engine)), |_| {}).map(|report| report.faults),
            // It has no records that verification knows.
            Some(_) => Ok(Vec::new()),
        };
        let faults = faults.map_err(|error| error.to_string())?;
        if newest.is_none() || !faults.is_empty() {
            let (answered, begun) = (said.answered, said.begun);
            let like = self.images.iter().position(|it| *it == found);
            return Err(format!(
                "answered {answered}, begun {begun}; found is commit {like:?}, {} records; {faults:?}",
                found.len()
            ));
        }
        drop(engine);
        go_on(&store, found, lives).map_err(|error| format!("the store is not usable: {error}"))?;
        Ok(true)
    }
}

/// Loss was reported at once, and is reported at each later start.
fn is_reported_again(said: &ChildOutput, now: &str) -> Result<bool, String> {
    let is_reported = |text: &str| text.contains("restore a backup");
    match is_reported(now) && said.lines.iter().any(|it| is_reported(it)) {
        true => Ok(false),
        false => Err(format!(
            "the restart fails, and the loss was not reported: {now}"
        )),
    }
}

/// Writes several files of the journal in each run, and finds everything in the next one.
fn go_on(store: &Path, mut expected: Image, lives: u8) -> Result<(), String> {
    let text = |error: EngineError| error.to_string();
    for life in 0..lives {
        let engine = SledEngine::open(store, child::options()).map_err(text)?;
        if history::image(&engine).map_err(text)? != expected {
            return Err(format!(
                "life {life} after the restart finds something else"
            ));
        }
        for number in 0..GOES_ON {
            let (key, value) = (vec![b'~', number], vec![life; 700]);
            commit_and_wait(&engine, vec![(key.clone(), Some(value.clone()))]).map_err(text)?;
            expected.insert(key, value);
        }
        engine.close();
    }
    Ok(())
}

/// A command whose process runs with the interposing library.
fn disturbed(mut command: Command, place: &Path, deed: &str, at: u64) -> Command {
    command
        .env("LD_PRELOAD", intruder())
        .env("INTRUDER_DIRECTORY", place.join(child::STORE))
        .env("INTRUDER_AT", at.to_string())
        .env("INTRUDER_DEED", deed)
        .env("INTRUDER_LOG", place.join("log"));
    command
}

/// Runs a child to its end. Returns its output and its exit code; no code if the fault killed it.
fn run(mut command: Command, place: &Path) -> Result<(ChildOutput, Option<i32>), String> {
    let output = fs::File::create(place.join("said")).expect("a file");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("its status") {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            // By its own handle, so that no other process is hit.
            let _ = child.kill();
            let _ = child.wait();
            let said = fs::read_to_string(place.join("said")).unwrap_or_default();
            return Err(format!("it hangs; it said {said}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = fs::read_to_string(place.join("said")).unwrap_or_default();
    let mut said = ChildOutput::default();
    for line in text.lines() {
        let number = |word: &str| line.strip_prefix(word)?.parse::<usize>().ok();
        if let Some(number) = number("begun ") {
            said.begun = number;
        } else if let Some(number) = number("answered ") {
            said.answered = number;
        } else if line == "through" {
            said.through = true;
        }
        said.failures += usize::from(line.starts_with("failed: "));
        let is_ours = ["failed: ", "refused: ", "not opened: ", "through"];
        if is_ours.iter().any(|it| line.starts_with(it)) {
            said.lines.push(line.to_owned());
        }
    }
    let mut errors = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut errors);
    }
    if status.code() == Some(101) {
        return Err(format!("it panicked: {errors}"));
    }
    Ok((said, status.code()))
}

impl Figures {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.ended_at.extend(other.ended_at);
        self.came_through += other.came_through;
        self.not_opened += other.not_opened;
    }
}
