//! The state that survives a crash of the process: the trace, the wall clock, the work of backends, and the model that checks every
//! commit.

use crate::model::{Before, Model};
use crate::rng::Rng;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use tintype_storage::domain::ids::JobId;
use tintype_storage::engine::{Key, Value};
use tokio::time::Instant;

/// The message of injected panics.
pub const EXPECTED_PANIC: &str = "an injected panic";
/// When every scenario begins, in milliseconds: at noon of the last day of a month, so that scenarios cross days and months.
pub const BEGIN: i64 = 1_796_040_000_000;

/// The world of one scenario. Clones share it.
#[derive(Clone)]
pub struct World {
    pub rng: Rng,
    pub model: Arc<Mutex<Model>>,
    inner: Arc<Inner>,
}

struct Inner {
    lines: Mutex<Vec<String>>,
    wall: Wall,
    /// No more failures are injected.
    calm: AtomicBool,
    /// Work that goes on at backends without its caller, with the uptime at which it is done.
    kept_work: Mutex<BTreeMap<JobId, i64>>,
    life: AtomicI64,
    numbers: AtomicU64,
}

/// The wall clock: advances with the simulated time of a life, and can be set.
#[derive(Default)]
struct Wall {
    base: AtomicI64,
    /// The sum of all steps.
    set_by: AtomicI64,
    began: Mutex<Option<Instant>>,
}

impl World {
    pub fn new(rng: Rng, model: Model) -> Self {
        let wall = Wall::default();
        wall.base.store(BEGIN, Ordering::SeqCst);
        Self {
            rng,
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

    /// The wall clock, in milliseconds.
    pub fn now(&self) -> i64 {
        let wall = &self.inner.wall;
        let passed = wall
            .began
            .lock()
            .map_or(0, |began| began.elapsed().as_millis() as i64);
        wall.base.load(Ordering::SeqCst) + passed
    }

    /// Sets the clock forward or back.
    pub fn step_clock(&self, by: i64) {
        self.inner.wall.base.fetch_add(by, Ordering::SeqCst);
        self.inner.wall.set_by.fetch_add(by, Ordering::SeqCst);
    }

    /// Checks a commit against the model. Returns trace lines.
    pub fn record_commit(&self, writes: &[(Key, Option<Value>)], before: &Before) -> Vec<String> {
        let (now, uptime) = (self.now(), self.uptime());
        self.model.lock().commit(writes, before, now, uptime)
    }

    /// Milliseconds since the scenario began, independent of clock steps.
    pub fn uptime(&self) -> i64 {
        self.now() - BEGIN - self.inner.wall.set_by.load(Ordering::SeqCst)
    }

    /// A unique number.
    pub fn number(&self) -> u64 {
        self.inner.numbers.fetch_add(1, Ordering::SeqCst)
    }

    /// Begins a life of the process. Called within its runtime.
    pub fn life_begins(&self) {
        *self.inner.wall.began.lock() = Some(Instant::now());
        self.inner.life.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends a life of the process. Called within its runtime.
    pub fn life_ends(&self) {
        let now = self.now();
        self.inner.wall.base.store(now, Ordering::SeqCst);
        *self.inner.wall.began.lock() = None;
    }

    pub fn trace(&self, line: String) {
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

    /// Records a violation.
    pub fn fault(&self, text: String) {
        self.trace(format!("FAULT {text}"));
        self.model.lock().fault(text);
    }

    /// When the work for a job that goes on at a backend is done, if there is any.
    pub fn kept_work(&self, job: JobId) -> Option<i64> {
        self.inner.kept_work.lock().get(&job).copied()
    }

    /// Starts work that goes on at a backend without its caller.
    pub fn keep_work(&self, job: JobId, done: i64) {
        self.inner.kept_work.lock().insert(job, done);
    }

    pub fn forget_work(&self, job: JobId) {
        self.inner.kept_work.lock().remove(&job);
    }
}
