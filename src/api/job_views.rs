//! Renders jobs, with fresh download URLs and their place in the queue.

use super::responses::text_of;
use crate::application::error::Error;
use crate::application::jobs::image_url;
use crate::application::services::JobService;
use crate::application::submission::queue_estimate::QueueEstimates;
use tintype_api::{JobRecord, Waiting};
use tintype_storage::domain::job::{Job, PromptText};

/// Renders the jobs of one response, whose estimates are of one time.
pub struct JobViews<'a> {
    jobs: &'a JobService,
    estimates: QueueEstimates<'a>,
}

impl<'a> JobViews<'a> {
    pub fn of(jobs: &'a JobService) -> Self {
        Self {
            jobs,
            estimates: QueueEstimates::now(&jobs.core),
        }
    }

    /// The position of a queued job.
    pub fn waiting<S>(&self, job: &Job<S>) -> Option<Waiting> {
        self.estimates.waiting(job)
    }

    /// A job in the form of the lookup.
    pub async fn lookup<'j>(&self, job: &'j Job) -> Result<tintype_api::Job<'j>, Error> {
        let image_url = image_url(self.jobs, job).await?;
        let waiting = self.estimates.waiting(job);
        Ok(tintype_api::Job::new(job, image_url, waiting))
    }

    /// A job with its prompt.
    ///
    /// # Errors
    /// The prompt cannot be read now; those of [`Self::lookup`]
    pub async fn record<'j>(&self, job: &'j Job) -> Result<JobRecord<'j>, Error> {
        let text = self.text(job).await?;
        self.with_text(job, text).await
    }

    /// A job without its prompt if the prompt cannot be read now.
    pub async fn listed<'j>(&self, job: &'j Job) -> Result<JobRecord<'j>, Error> {
        let text = self.text(job).await.unwrap_or_default();
        self.with_text(job, text).await
    }

    async fn text(&self, job: &Job) -> Result<Option<PromptText>, Error> {
        text_of(self.jobs, &job.prompt, "prompt of the job", job.id).await
    }

    async fn with_text<'j>(
        &self,
        job: &'j Job,
        text: Option<PromptText>,
    ) -> Result<JobRecord<'j>, Error> {
        let url = image_url(self.jobs, job).await?;
        Ok(JobRecord::new(job, text, url, self.estimates.waiting(job)))
    }
}
