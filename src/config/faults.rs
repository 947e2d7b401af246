//! Collects faults while a configuration is read.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use super::error::{ConfigErrors, Fault, Location, MAX_FAULTS};

#[derive(Default)]
pub(super) struct Faults {
    list: RefCell<Vec<Fault>>,
    omitted: Cell<usize>,
    /// Locations that could not be parsed, or whose meaning depends on one. They take no further faults.
    broken: RefCell<BTreeSet<Location>>,
}

impl Faults {
    /// Records a fault, unless its location is broken and reported already.
    pub fn push(&self, location: &Location, key: &str, message: String) {
        if self.broken.borrow().contains(location) {
            return;
        }
        let mut list = self.list.borrow_mut();
        if list.len() < MAX_FAULTS {
            list.push(Fault {
                location: location.clone(),
                key: key.to_owned(),
                message,
            });
        } else {
            self.omitted.set(self.omitted.get() + 1);
        }
    }

    /// Records that a location could not be parsed or read. Returns whether this is its first fault: only that one counts.
    pub fn push_broken(&self, location: &Location, message: String) -> bool {
        self.push(location, "", message);
        self.broken.borrow_mut().insert(location.clone())
    }

    /// Ignores further faults of a location that depends on a broken one.
    pub fn mute(&self, location: Location) {
        self.broken.borrow_mut().insert(location);
    }

    /// Is a part of the input missing from the tree? Then the absence of a key proves nothing.
    pub fn is_incomplete(&self) -> bool {
        !self.broken.borrow().is_empty()
    }

    /// Has a key a fault already?
    pub fn contains(&self, key: &str) -> bool {
        self.list.borrow().iter().any(|it| it.key == key)
    }

    /// Are further faults only counted?
    pub fn is_full(&self) -> bool {
        self.list.borrow().len() >= MAX_FAULTS
    }

    pub fn into_result(self) -> Result<(), ConfigErrors> {
        let mut faults = self.list.into_inner();
        if faults.is_empty() {
            return Ok(());
        }
        faults.sort();
        faults.dedup();
        Err(ConfigErrors {
            faults,
            omitted: self.omitted.get(),
        })
    }
}
