//! Schedules the deliveries that the reads of the held shards find, if several nodes share the store.

use super::super::held_shards::{self, DueRead};
use super::DeliveryActor;
use tintype_storage::store::{DueEntry, StoreError};

impl DeliveryActor {
    /// Reads the due index of the held shards.
    pub(super) fn read_due(&mut self) {
        if self.stopping {
            return;
        }
        let now = self.context.process.now();
        let horizon = self.horizon(now);
        let shards = self.shards.as_mut();
        if let Some(reads) = shards.and_then(|it| it.next_reads(now, horizon)) {
            let store = self.context.process.store.clone();
            self.read_then(held_shards::read(store, reads), Self::due_read);
        }
    }

    fn due_read(&mut self, found: Result<Vec<(DueRead, Vec<DueEntry>)>, StoreError>) {
        let found = match found {
            Ok(found) => found,
            // The store may be closed already.
            Err(_) if self.stopping => return,
            Err(error) => return self.context.process.fail_stop.trip(error.to_string()),
        };
        if let Some(shards) = &mut self.shards {
            shards.read(&found);
        }
        let now = self.context.process.now();
        let found = found.into_iter();
        let found = found.flat_map(|(read, all)| all.into_iter().map(move |it| (read, it)));
        for (read, entry) in found {
            // A delivery whose attempt or commit is in flight is scheduled after it.
            if !self.is_busy(entry.id) {
                self.schedule_at(read.due(entry.due, now), entry);
            }
        }
    }
}
