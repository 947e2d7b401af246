//! The list of faults while a configuration is read.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use super::error::{ConfigErrors, Fault, MAX_FAULTS, Place};

/// The faults so far.
#[derive(Default)]
pub(super) struct Faults {
    list: RefCell<Vec<Fault>>,
    omitted: Cell<usize>,
    broken: RefCell<BTreeSet<Place>>,
}

impl Faults {
    /// Notes a fault, unless its line is one that could not even be parsed: that was reported already.
    pub fn push(&self, place: &Place, key: &str, message: String) {
        if self.broken.borrow().contains(place) {
            return;
        }
        let mut list = self.list.borrow_mut();
        if list.len() < MAX_FAULTS {
            list.push(Fault {
                place: place.clone(),
                key: key.to_owned(),
                message,
            });
        } else {
            self.omitted.set(self.omitted.get() + 1);
        }
    }

    /// Notes that what stands at this place could not be parsed or read, and says whether that is news: only the
    /// first fault of a place counts.
    pub fn push_broken(&self, place: &Place, message: String) -> bool {
        self.push(place, "", message);
        self.broken.borrow_mut().insert(place.clone())
    }

    /// Takes no further faults of this place, as what stands there depends on something that is broken.
    pub fn mute(&self, place: Place) {
        self.broken.borrow_mut().insert(place);
    }

    /// Whether part of what was written is missing from the tree, so that nothing may be concluded from absence.
    pub fn incomplete(&self) -> bool {
        !self.broken.borrow().is_empty()
    }

    /// Whether further faults are only counted.
    pub fn full(&self) -> bool {
        self.list.borrow().len() >= MAX_FAULTS
    }

    /// The faults in order, or `Ok` where there are none.
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
