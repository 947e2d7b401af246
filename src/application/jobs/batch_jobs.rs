//! Reads the jobs of a batch page by page.

use crate::application::error::Error;
use std::vec;
use tintype_storage::domain::batch::Batch;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Job;
use tintype_storage::store::{Part, Store};

/// Jobs read at a time. A response to a slow client holds the rest of a page.
const PAGE_SIZE: usize = 50;

pub struct BatchJobs {
    store: Store,
    batch: Batch,
    page: vec::IntoIter<Job>,
    /// The last job of the page.
    last: Option<JobId>,
}

impl BatchJobs {
    pub fn of(store: &Store, batch: Batch) -> Self {
        Self {
            store: store.clone(),
            batch,
            page: vec::IntoIter::default(),
            last: None,
        }
    }

    /// The next job in the order of the requests; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Job>, Error> {
        if self.page.as_slice().is_empty() {
            let store = &self.store;
            let page = store.jobs_of_batch(&self.batch, Part::All, self.last, PAGE_SIZE);
            let page = page.await?;
            self.last = page.last().map(|job| job.id).or(self.last);
            self.page = page.into_iter();
        }
        Ok(self.page.next())
    }
}
