//! Power cuts: whatever part of the unsynced writes a disk keeps, everything answered is there, and nothing is partial.
//!
//! A child process plays a scenario once, under a recorder that logs each write, sync and name in order. Images are built from
//! the record: for a point in it, everything synced by then, and a random choice of the other sectors and names. Each image is
//! opened like any directory after a crash. `TINTYPE_POWER_CUTS` sets the number of images.

mod disk;
mod record;
mod scenario;

use disk::Disk;
use record::Record;
use scenario::{Scenario, model};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};
use tempfile::TempDir;
use tintype_storage::engine::sled::SledEngine;
use tintype_storage::engine::{Direction, Engine, Key, KeyRange, Value};

const FIRST_START: &str = "its first start was cut off, and it holds nothing yet; remove it";
/// A short run; request thousands by hand.
const CUTS: u64 = 80;

/// Plays the scenario as a child; does nothing as a test.
#[test]
fn plays_the_scenario_as_a_child() {
    if let Some(directory) = env::var_os("RECORDER_DIRECTORY") {
        scenario::play(&PathBuf::from(directory).join("store"));
    }
}

/// The record of one run.
struct RecordedRun {
    _directory: TempDir,
    record: Record,
    root: PathBuf,
}

fn played() -> &'static RecordedRun {
    static PLAYED: OnceLock<RecordedRun> = OnceLock::new();
    PLAYED.get_or_init(|| {
        let directory = tempfile::tempdir().expect("directory");
        let recorder = directory.path().join("recorder.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/power_cut/recorder.c");
        let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
        let compiled = Command::new(compiler)
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .args([&recorder, &source])
            .args(["-ldl", "-lpthread"])
            .status()
            .expect("a C compiler, which linking Rust programs needs as well");
        assert!(compiled.success(), "the recorder does not compile");
        let root = directory.path().join("disk");
        fs::create_dir(&root).expect("directory");
        let file = directory.path().join("record");
        let child = Command::new(env::current_exe().expect("this program"))
            .args(["--exact", "plays_the_scenario_as_a_child", "--nocapture"])
            .args(["--test-threads", "1"])
            .env("LD_PRELOAD", &recorder)
            .env("RECORDER_DIRECTORY", &root)
            .env("RECORDER_FILE", &file)
            .status()
            .expect("the child starts");
        assert!(child.success(), "the scenario failed");
        RecordedRun {
            record: Record::read(&file),
            root,
            _directory: directory,
        }
    })
}

#[test]
fn the_record_is_complete_and_shows_the_disk_content() {
    let played = played();
    let disk = Disk::at(&played.record, played.record.len(), None);
    let files = disk.files();
    assert!(files.len() > 5, "{:?}", files.keys());
    for (path, content) in files {
        let found = fs::read(path).expect("a file of the record is there");
        assert!(found == *content, "{} differs", path.display());
    }
    assert_eq!(
        played.record.said_before(played.record.len()),
        Some(Scenario::COMMITS - 1)
    );
}

#[test]
fn hostile_92_a_power_cut_at_any_moment_loses_no_acknowledged_commit() {
    let played = played();
    let cuts = env::var("TINTYPE_POWER_CUTS").ok();
    let cuts = cuts.map_or(CUTS, |it| it.parse().expect("a number"));
    let mut faults = Vec::new();
    for seed in 0..cuts {
        if let Err(fault) = cut(played, seed) {
            faults.push(format!("cut {seed}: {fault}"));
        }
    }
    assert!(faults.is_empty(), "{} of {cuts}: {faults:#?}", faults.len());
    println!("{cuts} power cuts, nothing lost");
}

/// Opens the image of a power cut and compares it with the answered commits.
fn cut(played: &RecordedRun, seed: u64) -> Result<(), String> {
    let mut random = disk::Random::new(seed);
    let moment = random.below(played.record.len() as u64 + 1) as usize;
    let disk = Disk::at(&played.record, moment, Some(&mut random));
    let image = tempfile::tempdir().expect("directory");
    disk.write(&played.root, image.path());
    let answered = played.record.said_before(moment);
    let begun = played.record.begun_before(moment);
    let engine = match SledEngine::open(&image.path().join("store"), scenario::options()) {
        Ok(engine) => engine,
        // Nothing was answered, and the error says what to do.
        Err(error) if begun.is_none() && error.to_string().contains(FIRST_START) => return Ok(()),
        Err(error) => {
            return Err(format!("at entry {moment}, {answered:?} answered: {error}"));
        }
    };
    let pairs = engine
        .scan(&KeyRange::prefix(b""), Direction::Rising, usize::MAX)
        .wait();
    let found: BTreeMap<Key, Value> = pairs
        .map_err(|error| format!("at entry {moment}: {error}"))?
        .into_iter()
        .collect();
    let newest = found
        .get(scenario::COUNTER)
        .map(|it| u64::from_be_bytes(it.as_slice().try_into().expect("a counter has eight bytes")));
    if newest < answered || newest > begun {
        return Err(format!(
            "at entry {moment}: {answered:?} was answered and {begun:?} begun, found {newest:?}"
        ));
    }
    if found != model(newest) {
        return Err(format!("at entry {moment}: commit {newest:?} is not whole"));
    }
    Ok(())
}
