//! ComfyUI: a workflow is filled in and submitted under an id that is derived from the job, waited for, and its picture
//! fetched.
//!
//! The id makes work survive a restart of either side: before anything is submitted the server is asked for it. What it
//! still works on is waited for, what it has done is fetched, and only what it does not know, or what has failed, is
//! submitted (again, under the next id).

mod abandon;
mod builtin_workflows;
mod placeholder;
mod probe;
mod progress;
mod prompt_id;
mod prompt_status;
mod server;
mod setup_error;
mod templates;
mod wait;
mod watch;
pub mod workflow;

pub use builtin_workflows::file as builtin_workflow;
pub use probe::ComfyUiProbe;
pub use setup_error::ComfyUiSetupError;
pub use templates::TemplateError;

use super::local::{finish::finish, originals, size};
use super::upstream::{Auth, Fault, Upstream, not_set_up};
use crate::config::{ComfyUiSettings, Remote};
use crate::images::Images;
use abandon::Abandon;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use placeholder::Placeholder;
use progress::ProgressMeter;
use prompt_status::{Failure, PromptStatus, Stored, chosen};
use serde_json::Value;
use server::Server;
use std::sync::Arc;
use std::time::Duration;
use templates::Templates;
use tintype_actors::ports::{GenerateError, GenerationTask, Generator, Picture, note_cause};
use tokio::time::sleep;
use uuid::Uuid;
use watch::Watch;
use workflow::{Graph, Workflow};

/// Prompts that one job may have come to, over all runs and tries.
const MAX_GOES: u32 = 64;
/// Before a server that did not say whether it holds a prompt is asked once more.
const HOLDS_PAUSE: Duration = Duration::from_secs(2);

/// A ComfyUI server.
#[derive(Clone)]
pub struct ComfyUi {
    inner: Arc<Inner>,
}

struct Inner {
    server: Server,
    templates: Templates,
    settings: ComfyUiSettings,
    images: Images,
}

impl ComfyUi {
    /// The back end `name`. Reads the workflows that the settings name.
    ///
    /// # Errors
    /// See [`ComfyUiSetupError`].
    pub fn new(
        name: &str,
        remote: &Remote,
        settings: ComfyUiSettings,
        images: Images,
    ) -> Result<Self, ComfyUiSetupError> {
        let templates = Templates::read(&settings).map_err(|source| {
            let name = name.to_owned();
            ComfyUiSetupError::Template { name, source }
        })?;
        let inner = Inner {
            server: Server::new(Upstream::new(name, remote, Auth::None)?),
            templates,
            settings,
            images,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }
}

impl Generator for ComfyUi {
    fn generate(
        &self,
        order: GenerationTask,
    ) -> LocalBoxFuture<'static, Result<Picture, GenerateError>> {
        let inner = Arc::clone(&self.inner);
        async move { inner.make(order).await }.boxed_local()
    }

    fn holds(&self, order: GenerationTask) -> LocalBoxFuture<'static, bool> {
        let inner = Arc::clone(&self.inner);
        async move { inner.holds(&order).await }.boxed_local()
    }
}

/// A prompt that the server has.
struct Tracked {
    id: String,
    watch: Watch,
    abandon: Abandon,
    /// Whether an earlier try or run submitted it.
    adopted: bool,
}

impl Inner {
    async fn make(&self, order: GenerationTask) -> Result<Picture, GenerateError> {
        let workflow = self.templates.of(order.inputs.len())?;
        for go in 0..MAX_GOES {
            let id = prompt_id::prompt_id(self.server.upstream().name(), &order, go);
            let found = self.server.find(&id.to_string()).await;
            let mut tracked = match found.map_err(to_generate_error)? {
                Some((_, PromptStatus::Done(stored))) => {
                    match self.collect(&workflow, &stored).await? {
                        Some(bytes) => return finish(order.account, bytes, order.pixels).await,
                        None => continue,
                    }
                }
                Some((_, PromptStatus::Failed(_) | PromptStatus::Canceled)) => continue,
                Some((theirs, PromptStatus::Live)) => {
                    self.adopt(id, theirs, &workflow, &order).await
                }
                None => self.submit(id, &workflow, &order).await?,
            };
            let ended = wait::wait(
                &self.server,
                &tracked.id,
                &mut tracked.watch,
                &order.progress,
            );
            // Left armed by a fault: the run may go on elsewhere, and the card is not to work for nobody.
            let ended = ended.await?;
            tracked.abandon.disarm();
            match ended {
                PromptStatus::Done(stored) => match self.collect(&workflow, &stored).await? {
                    Some(bytes) => return finish(order.account, bytes, order.pixels).await,
                    None if tracked.adopted => {}
                    None => return Err(self.no_picture()),
                },
                PromptStatus::Failed(failure) => return Err(self.failed(&failure)),
                // By an earlier try that was given up.
                PromptStatus::Canceled if tracked.adopted => {}
                PromptStatus::Canceled | PromptStatus::Live => {
                    return Err(GenerateError::Broken(
                        "the picture was canceled on the image generator".into(),
                    ));
                }
            }
        }
        Err(GenerateError::Broken(
            "the image generator has failed at this job too often".into(),
        ))
    }

    /// Is a prompt of the order under way or done?
    async fn holds(&self, order: &GenerationTask) -> bool {
        for go in 0..MAX_GOES {
            let id = prompt_id::prompt_id(self.server.upstream().name(), order, go).to_string();
            let mut found = self.server.find(&id).await;
            if found.is_err() {
                // Once more: a server that is just being started too refuses connections at first.
                sleep(HOLDS_PAUSE).await;
                found = self.server.find(&id).await;
            }
            match found {
                Ok(Some((_, PromptStatus::Live | PromptStatus::Done(_)))) => return true,
                Ok(Some((_, PromptStatus::Failed(_) | PromptStatus::Canceled))) => {}
                Ok(None) | Err(_) => return false,
            }
        }
        false
    }

    /// Takes over what an earlier try or run of the job has submitted.
    async fn adopt(
        &self,
        id: Uuid,
        theirs: String,
        workflow: &Workflow,
        order: &GenerationTask,
    ) -> Tracked {
        tracing::info!(job = %order.job, prompt = theirs, "the image generator is at work on the job already");
        let abandon = Abandon::new(self.server.clone(), theirs.clone(), order.cut_off.clone());
        let socket = self.server.listen(&id.to_string()).await;
        let graph = workflow.fill(order.inputs.len(), &|_| Value::Null);
        Tracked {
            // The graph that runs has these nodes, unless the operator has changed the workflow meanwhile.
            watch: Watch::new(socket, ProgressMeter::new(&theirs, &graph)),
            id: theirs,
            abandon,
            adopted: true,
        }
    }

    async fn submit(
        &self,
        id: Uuid,
        workflow: &Workflow,
        order: &GenerationTask,
    ) -> Result<Tracked, GenerateError> {
        let graph = self.graph(id, workflow, order).await?;
        let ours = id.to_string();
        // Opened before, so that no word is missed.
        let socket = self.server.listen(&ours).await;
        let mut abandon = Abandon::new(self.server.clone(), ours.clone(), order.cut_off.clone());
        let submitted = self.server.submit(&ours, &graph).await;
        // Left armed by any other fault: the server may have it all the same.
        if let Err(Fault::Status { status, .. }) = &submitted
            && status.is_client_error()
        {
            abandon.disarm();
        }
        let submitted = submitted.map_err(to_generate_error)?;
        abandon.known_as(&submitted.id);
        if !submitted.node_errors.is_empty() {
            self.server.log_node_errors(&submitted.node_errors);
            if concerns(&submitted.node_errors, workflow.output()) {
                // Dropped armed: what is left of the graph is of no use.
                return Err(not_set_up());
            }
        }
        let meter = ProgressMeter::new(&submitted.id, &graph);
        Ok(Tracked {
            watch: Watch::new(socket, meter),
            id: submitted.id,
            abandon,
            adopted: false,
        })
    }

    /// The workflow with the job in it, its input images on the server.
    async fn graph(
        &self,
        id: Uuid,
        workflow: &Workflow,
        order: &GenerationTask,
    ) -> Result<Graph, GenerateError> {
        let checkpoint = match workflow.takes_checkpoint() {
            true => self.checkpoint(order).await?,
            false => String::new(),
        };
        let mut files = Vec::with_capacity(order.inputs.len());
        for original in originals::load(&self.images, order).await? {
            files.push(
                self.server
                    .upload(original)
                    .await
                    .map_err(to_generate_error)?,
            );
        }
        let (width, height) = size::native(order.pixels, self.settings.max_pixels);
        Ok(
            workflow.fill(files.len(), &|placeholder| match placeholder {
                Placeholder::Prompt => order.prompt.as_str().into(),
                Placeholder::Seed => prompt_id::seed(id).into(),
                Placeholder::Width => width.into(),
                Placeholder::Height => height.into(),
                Placeholder::FinalWidth => order.pixels.0.into(),
                Placeholder::FinalHeight => order.pixels.1.into(),
                Placeholder::Checkpoint => checkpoint.as_str().into(),
                Placeholder::FilenamePrefix => format!("tintype/{}", order.job).into(),
                Placeholder::Image(number) => {
                    let file = files.get(number.wrapping_sub(1));
                    file.map_or(Value::Null, |file| file.as_str().into())
                }
            }),
        )
    }

    async fn checkpoint(&self, order: &GenerationTask) -> Result<String, GenerateError> {
        if let Some(named) = order.model.as_ref().or(self.settings.checkpoint.as_ref()) {
            return Ok(named.clone());
        }
        let known = self.server.checkpoints().await.map_err(to_generate_error)?;
        known.into_iter().next().ok_or_else(|| {
            let backend = self.server.upstream().name();
            let cause = "it has no checkpoint: put one into its models/checkpoints, or use a workflow that loads its model in another way";
            tracing::warn!(%backend, "{cause}");
            note_cause(cause);
            not_set_up()
        })
    }

    /// The picture among the files, where it is still there.
    async fn collect(
        &self,
        workflow: &Workflow,
        stored: &[Stored],
    ) -> Result<Option<Vec<u8>>, GenerateError> {
        match chosen(stored, workflow.output()) {
            Some(file) => self.server.fetch(file).await.map_err(to_generate_error),
            None => Ok(None),
        }
    }

    fn no_picture(&self) -> GenerateError {
        let backend = self.server.upstream().name();
        let cause = "the workflow ended without a picture: it needs a SaveImage node";
        tracing::warn!(%backend, "{cause}");
        note_cause(cause);
        not_set_up()
    }

    fn failed(&self, failure: &Failure) -> GenerateError {
        let upstream = self.server.upstream();
        let (backend, node) = (upstream.name(), upstream.clean(&failure.node_type));
        let exception = upstream.clean(&failure.exception);
        let message = upstream.clean(&failure.message);
        tracing::warn!(%backend, node, exception, message, "the workflow failed");
        note_cause(format!(
            "the workflow failed at its node {node}: {exception}: {message}"
        ));
        match failure.is_out_of_memory() {
            true => GenerateError::Transient {
                reason: "the image generator ran out of memory".into(),
                retry_after: None,
            },
            false => GenerateError::Broken("the image generator failed at its workflow".into()),
        }
    }
}

/// A fault as callers hear of it. What ComfyUI refuses is at fault by its set-up: the caller's words are a plain string in a
/// graph, and the input images were looked at before they were sent.
fn to_generate_error(fault: Fault) -> GenerateError {
    match GenerateError::from(fault) {
        GenerateError::Refused(_) => not_set_up(),
        other => other,
    }
}

/// Does the picture depend on one of the nodes at fault?
fn concerns(errors: &serde_json::Map<String, Value>, output: Option<&str>) -> bool {
    let Some(output) = output else {
        return true;
    };
    errors.iter().any(|(node, described)| {
        let dependent = described["dependent_outputs"].as_array();
        node == output || dependent.is_none_or(|it| it.iter().any(|it| it == output))
    })
}
