//! Collects the faults of a request. A response lists only the first ones, and counts the others.

/// Faults in a response. A body of 1 MiB can contain half a million, and the response must not be many times its size.
pub const MAX_FAULTS: usize = 100;

/// The first faults, and the count of all.
pub struct FaultList<T> {
    listed: Vec<T>,
    found: usize,
}

impl<T> Default for FaultList<T> {
    fn default() -> Self {
        Self {
            listed: Vec::new(),
            found: 0,
        }
    }
}

impl<T> FaultList<T> {
    pub fn found(&self) -> usize {
        self.found
    }

    /// Calls `describe` only if the fault is listed.
    pub fn add_with(&mut self, describe: impl FnOnce() -> T) {
        self.found += 1;
        if self.listed.len() < MAX_FAULTS {
            self.listed.push(describe());
        }
    }

    pub fn extend(&mut self, faults: impl IntoIterator<Item = T>) {
        for fault in faults {
            self.add_with(|| fault);
        }
    }

    pub fn add_unlisted(&mut self, count: usize) {
        self.found += count;
    }

    /// `last` makes the last fault from a text that counts those that are not listed.
    ///
    /// # Errors
    /// There are faults.
    pub fn finish(mut self, last: impl FnOnce(String) -> T) -> Result<(), Vec<T>> {
        let unlisted = self.found - self.listed.len();
        if unlisted > 0 {
            self.listed.push(last(has_unlisted(unlisted)));
        }
        match self.listed.is_empty() {
            true => Ok(()),
            false => Err(self.listed),
        }
    }
}

/// The message of the last fault of a list, which counts the others.
pub fn has_unlisted(count: usize) -> String {
    match count {
        1 => "has 1 more error that is not listed".to_owned(),
        _ => format!("has {count} more errors that are not listed"),
    }
}
