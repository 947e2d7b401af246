//! What a crash of the process does not touch: the disk's image, the clock on the wall, callers, back ends, receivers, and the
//! model that everything is held against.

use crate::chance::Chance;
use crate::model::{Before, Model};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use tintype_storage::domain::ids::JobId;
use tintype_storage::engine::{Key, Value};
use tokio::time::Instant;

/// What those say who panic on purpose.
pub const ON_PURPOSE: &str = "as chance says";
/// When every story begins, in milliseconds: at noon of the last day of a month, so that days and months pass.
pub const BEGIN: i64 = 1_796_040_000_000;

/// The world of one story. A clone is the same one.
#[derive(Clone)]
pub struct World {
    pub chance: Chance,
    pub model: Arc<Mutex<Model>>,
    inner: Arc<Inner>,
}

struct Inner {
    lines: Mutex<Vec<String>>,
    wall: Wall,
    /// Nothing goes wrong any more.
    calm: AtomicBool,
    /// Work that back ends keep, with the moment on the wall when it is done.
    kept_work: Mutex<BTreeMap<JobId, i64>>,
    life: AtomicI64,
    numbers: AtomicU64,
}

/// The clock on the wall: runs with the simulated time of a life, and can be set.
#[derive(Default)]
struct Wall {
    base: AtomicI64,
    /// By how much it was set in all.
    set_by: AtomicI64,
    began: Mutex<Option<Instant>>,
}

impl World {
    pub fn new(chance: Chance, model: Model) -> Self {
        let wall = Wall::default();
        wall.base.store(BEGIN, Ordering::SeqCst);
        Self {
            chance,
            model: Arc::new(Mutex::new(model)),
            inner: Arc::new(Inner {
                lines: Mutex::default(),
                wall,
                calm: AtomicBool::new(false),
                kept_work: Mutex::default(),
                life: AtomicI64::new(0),
                numbers: AtomicU64::new(1),
            }),
        }
    }

    /// The moment, in milliseconds.
    pub fn now(&self) -> i64 {
        let wall = &self.inner.wall;
        let passed = wall
            .began
            .lock()
            .map_or(0, |began| began.elapsed().as_millis() as i64);
        wall.base.load(Ordering::SeqCst) + passed
    }

    /// Sets the clock, forward or back.
    pub fn step_clock(&self, by: i64) {
        self.inner.wall.base.fetch_add(by, Ordering::SeqCst);
        self.inner.wall.set_by.fetch_add(by, Ordering::SeqCst);
    }

    /// Holds a commit against the model. Returns what there is to tell of it.
    pub fn note_commit(&self, writes: &[(Key, Option<Value>)], before: &Before) -> Vec<String> {
        let (now, uptime) = (self.now(), self.uptime());
        self.model.lock().commit(writes, before, now, uptime)
    }

    /// Milliseconds that have passed since the story began, whatever the clock says.
    pub fn uptime(&self) -> i64 {
        self.now() - BEGIN - self.inner.wall.set_by.load(Ordering::SeqCst)
    }

    /// A number that is given once.
    pub fn number(&self) -> u64 {
        self.inner.numbers.fetch_add(1, Ordering::SeqCst)
    }

    /// A life of the process begins; called within its time.
    pub fn life_begins(&self) {
        *self.inner.wall.began.lock() = Some(Instant::now());
        self.inner.life.fetch_add(1, Ordering::SeqCst);
    }

    /// It has ended; called within its time.
    pub fn life_ends(&self) {
        let now = self.now();
        self.inner.wall.base.store(now, Ordering::SeqCst);
        *self.inner.wall.began.lock() = None;
    }

    /// Notes a line of the story.
    pub fn tell(&self, line: String) {
        let life = self.inner.life.load(Ordering::SeqCst);
        let uptime = self.uptime() as f64 / 1_000.0;
        self.inner
            .lines
            .lock()
            .push(format!("life {life} {uptime:>10.3} s: {line}"));
    }

    pub fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.inner.lines.lock())
    }

    pub fn is_calm(&self) -> bool {
        self.inner.calm.load(Ordering::SeqCst)
    }

    pub fn calm_down(&self) {
        self.inner.calm.store(true, Ordering::SeqCst);
    }

    /// Something that must not happen has happened.
    pub fn fault(&self, text: String) {
        self.tell(format!("FAULT {text}"));
        self.model.lock().fault(text);
    }

    /// When the work for a job that a back end keeps is done, if it keeps any.
    pub fn kept_work(&self, job: JobId) -> Option<i64> {
        self.inner.kept_work.lock().get(&job).copied()
    }

    /// A back end begins to work for a job and goes on whatever becomes of the caller.
    pub fn keep_work(&self, job: JobId, done: i64) {
        self.inner.kept_work.lock().insert(job, done);
    }

    pub fn forget_work(&self, job: JobId) {
        self.inner.kept_work.lock().remove(&job);
    }
}
