//! A service that runs for long, with random kills and restarts: its use of the machine stays flat, and retention frees disk space.
//!
//! `MINUTES=30 cargo test --release --test recovery soak -- --nocapture` runs it and prints its measurements. Without the variable it
//! does not run: growth takes minutes to show. `kill_load` covers what kills may lose.

use crate::kill_load::{
    Memory, acknowledged, all_delivered, all_done, configure, create_until_cut, number, register,
    settle_doubts,
};
use crate::peer::Peer;
use crate::test_directory::{Service, TestDirectory, until};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

const CALLERS: usize = 3;
const JOBS_OF_A_LIFE: Range<usize> = 2_000..6_000;

/// The resources of a process and its directory.
#[derive(Clone, Copy, Debug)]
struct Figures {
    memory_kib: u64,
    handles: u64,
    open_ms: u64,
    /// Of the records, without images.
    disk_kib: u64,
    jobs: u64,
}

fn memory_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let figure = line.and_then(|line| line.split_whitespace().nth(1));
    figure.expect("its memory").parse().expect("a number")
}

fn handles(pid: u32) -> u64 {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("its handles")
        .count() as u64
}

/// Allocated disk space, without holes.
fn disk_kib(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut kib = 0;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        // A file may vanish after the listing.
        let Ok(meta) = entry.metadata() else { continue };
        kib += match meta.is_dir() {
            true => disk_kib(&entry.path()),
            false => meta.blocks() / 2,
        };
    }
    kib
}

/// One life of the process: load, measurements, kill.
fn live(
    place: &TestDirectory,
    service: &mut Service,
    peer: &Peer,
    key: &str,
    memory: &Mutex<Memory>,
    jobs: usize,
    open_ms: u64,
) -> Figures {
    let client = service.client(key);
    let wanted = acknowledged(memory) + jobs;
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| create_until_cut(&client, peer, memory));
        }
        until("enough is acknowledged", || {
            (acknowledged(memory) >= wanted).then_some(())
        });
        let figures = Figures {
            memory_kib: memory_kib(service.pid()),
            handles: handles(service.pid()),
            open_ms,
            disk_kib: disk_kib(&place.data().join("store")),
            jobs: acknowledged(memory) as u64,
        };
        service.kill();
        figures
    })
}

/// Runs lives in sequence for a duration, and returns the measurements of each.
fn soak(length: Duration, seed: u64) -> (TestDirectory, Vec<Figures>) {
    let (peer, place, memory) = (
        Peer::start(),
        TestDirectory::new(),
        Mutex::new(Memory::default()),
    );
    configure(&place, &peer);
    let (mut rng, mut key, mut lives) = (SmallRng::seed_from_u64(seed), None, Vec::new());
    let began = Instant::now();
    while began.elapsed() < length || lives.len() < 4 {
        let starting = Instant::now();
        let mut service = place.serve();
        let open_ms = u64::try_from(starting.elapsed().as_millis()).expect("a short time");
        let key = key.get_or_insert_with(|| {
            register(&place, &service, &peer);
            service.printed_key().expect("a key")
        });
        let jobs = rng.random_range(JOBS_OF_A_LIFE);
        lives.push(live(
            &place,
            &mut service,
            &peer,
            key,
            &memory,
            jobs,
            open_ms,
        ));
    }
    let service = place.serve();
    let client = service.client(key.as_deref().expect("a key"));
    settle_doubts(&client, &peer, &memory);
    let jobs = memory.into_inner().expect("memory").acknowledged;
    all_done(&client, &jobs);
    all_delivered(&peer, &jobs);
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let images = place.objects("results").len();
    assert_eq!(
        images,
        jobs.len(),
        "each job has its image, and nothing else is there"
    );
    (place, lives)
}

/// Checks that the next sweep deletes expired images and frees their space. Sweeps run every ten minutes.
fn retention_frees(mut place: TestDirectory) {
    place.set("RESULTS__RETENTION_DAYS", "1");
    let before = disk_kib(&place.data().join("objects"));
    let long_ago = SystemTime::now() - Duration::from_secs(3 * 86_400);
    for path in place.objects("results") {
        let file = fs::File::options().write(true).open(path).expect("it");
        file.set_modified(long_ago).expect("its time");
    }
    let service = place.serve();
    let (began, objects) = (Instant::now(), || place.objects("results").len());
    while objects() > 0 && began.elapsed() < Duration::from_secs(1_200) {
        std::thread::sleep(Duration::from_secs(1));
    }
    let after = disk_kib(&place.data().join("objects"));
    println!("images: {before} KiB, after retention {after} KiB");
    assert_eq!(objects(), 0);
    assert!(after <= before / 4 + 64, "{before} KiB, then {after} KiB");
    service.stop();
}

/// Checks that only the per-job records grow.
fn flat(lives: &[Figures]) {
    println!("life  memory KiB  handles  open ms  store KiB  jobs");
    for (index, it) in lives.iter().enumerate() {
        println!(
            "{:4}  {:10}  {:7}  {:7}  {:9}  {:4}",
            index + 1,
            it.memory_kib,
            it.handles,
            it.open_ms,
            it.disk_kib,
            it.jobs
        );
    }
    let third = lives.len().div_ceil(3);
    let most = |part: &[Figures], of: fn(&Figures) -> u64| part.iter().map(of).max().unwrap_or(0);
    let (early, late) = (&lives[..third], &lives[lives.len() - third..]);
    let jobs = most(late, |it| it.jobs);
    // A life starts with empty memory, so its use at the end comes from its own load and the live jobs.
    let memory = |part| most(part, |it| it.memory_kib);
    assert!(
        memory(late) < memory(early) * 2 + 65_536 + jobs,
        "memory grows"
    );
    let handles = |part| most(part, |it| it.handles);
    assert!(
        handles(late) < handles(early) * 2 + 64,
        "handles are not given back"
    );
    // The WAL keeps up to four files of 16 MiB, and sled uses four times the data's size; for the size of a job see docs/deploying.md.
    let disk = most(late, |it| it.disk_kib);
    assert!(disk < 192 * 1024 + jobs * 16, "{disk} KiB for {jobs} jobs");
}

#[test]
fn the_resource_usage_of_a_service_stays_flat_over_kills_and_restarts() {
    let Some(minutes) = number("MINUTES") else {
        return;
    };
    let seed = number("TINTYPE_KILL_SEED").unwrap_or(1);
    let (place, lives) = soak(Duration::from_secs(minutes * 60), seed);
    flat(&lives);
    retention_frees(place);
}
