//! ComfyUI: fills in a workflow, submits it under an id derived from the job, waits for it, and fetches the image.
//!
//! The id lets work survive a restart of either side. Before submitting, the adapter looks the id up on the server: it waits for a
//! live prompt and fetches the image of a finished one. Only if the prompt is unknown or failed does it submit, under the next
//! unused id.

mod builtin_workflows;
mod placeholder;
mod probe;
mod progress;
mod prompt_events;
mod prompt_id;
mod prompt_status;
mod server;
mod templates;
mod wait;
pub mod workflow;

pub use builtin_workflows::file as builtin_workflow;
pub use probe::probe;

use super::image_background::refuse_transparent;
use super::inputs;
use super::local::{finish::finish, originals, out_of_memory, size};
use super::setup_error::BackendSetupError;
use super::upstream::{Auth, CleanupGuard, Fault, Upstream, misconfigured, without_refusal};
use crate::config::{ComfyUiSettings, Remote};
use crate::objects::ObjectStorage;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use placeholder::Placeholder;
use progress::ProgressMeter;
use prompt_events::PromptEvents;
use prompt_status::{Failure, PromptStatus, StoredFile, pick_output};
use serde_json::Value;
use server::Server;
use std::sync::Arc;
use std::time::Duration;
use templates::Templates;
use tintype_actors::ports::{
    GenerateError, GeneratedImage, GenerationTask, Generator, PortFuture, set_cause,
};
use tokio::time::sleep;
use uuid::Uuid;
use workflow::{Graph, Workflow};

/// Prompts of one job, over all its runs and attempts.
const MAX_PROMPTS: u32 = 64;
/// Before `has_earlier_work` retries a failed lookup.
const LOOKUP_RETRY_DELAY: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct ComfyUi {
    inner: Arc<Inner>,
}

struct Inner {
    server: Server,
    templates: Templates,
    settings: ComfyUiSettings,
    objects: ObjectStorage,
}

impl ComfyUi {
    /// Reads the workflows that the settings name.
    pub fn new(
        name: &str,
        remote: &Remote,
        settings: ComfyUiSettings,
        objects: ObjectStorage,
    ) -> Result<Self, BackendSetupError> {
        let (server, templates) = set_up(name, remote, &settings)?;
        let inner = Inner {
            server,
            templates,
            settings,
            objects,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }
}

fn set_up(
    name: &str,
    remote: &Remote,
    settings: &ComfyUiSettings,
) -> Result<(Server, Templates), BackendSetupError> {
    let templates = read_templates(name, settings)?;
    let server = Server::new(Upstream::new(name, remote, Auth::None)?);
    Ok((server, templates))
}

/// Reads the workflows that the settings name.
///
/// # Errors
/// See [`BackendSetupError`].
pub fn check_files(name: &str, settings: &ComfyUiSettings) -> Result<(), BackendSetupError> {
    read_templates(name, settings).map(drop)
}

fn read_templates(name: &str, settings: &ComfyUiSettings) -> Result<Templates, BackendSetupError> {
    Templates::read(settings).map_err(|error| BackendSetupError::Template {
        name: name.to_owned(),
        source: error.into(),
    })
}

impl Generator for ComfyUi {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        let inner = Arc::clone(&self.inner);
        async move { inner.run(task).await }.boxed_local()
    }

    fn has_earlier_work(&self, task: GenerationTask) -> LocalBoxFuture<'static, bool> {
        let inner = Arc::clone(&self.inner);
        async move { inner.has_earlier_work(&task).await }.boxed_local()
    }
}

struct TrackedPrompt {
    id: String,
    events: PromptEvents,
    guard: CleanupGuard,
    /// Did an earlier attempt or run submit it?
    adopted: bool,
}

impl Inner {
    async fn run(&self, task: GenerationTask) -> Result<GeneratedImage, GenerateError> {
        inputs::refuse_mask(&task)?;
        refuse_transparent(&task)?;
        let workflow = self.templates.for_inputs(task.inputs.len())?;
        for number in 0..MAX_PROMPTS {
            let id = prompt_id::prompt_id(self.server.upstream().name(), &task, number);
            let found = self.server.find(&id.to_string()).await;
            let mut tracked = match found.map_err(without_refusal)? {
                Some((_, PromptStatus::Done(stored))) => {
                    match self.fetch_output(&workflow, &stored).await? {
                        Some(bytes) => return finish(task.account, bytes, task.pixels).await,
                        None => continue,
                    }
                }
                Some((_, PromptStatus::Failed(_) | PromptStatus::Canceled)) => continue,
                Some((theirs, PromptStatus::Live)) => {
                    self.adopt(id, theirs, &workflow, &task).await
                }
                None => self.submit(id, &workflow, &task).await?,
            };
            let ended = wait::wait(
                &self.server,
                &tracked.id,
                &mut tracked.events,
                &task.progress,
            );
            // On a fault the guard stays armed: the run may fail over, and the GPU must not keep working on this prompt.
            let ended = ended.await?;
            tracked.guard.disarm();
            match ended {
                PromptStatus::Done(stored) => match self.fetch_output(&workflow, &stored).await? {
                    Some(bytes) => return finish(task.account, bytes, task.pixels).await,
                    None if tracked.adopted => {}
                    None => {
                        set_cause("the workflow produced no image: it needs a SaveImage node");
                        return Err(misconfigured());
                    }
                },
                PromptStatus::Failed(failure) => return Err(self.failed(&failure)),
                // An earlier attempt was dropped and canceled it.
                PromptStatus::Canceled if tracked.adopted => {}
                PromptStatus::Canceled | PromptStatus::Live => {
                    return Err(GenerateError::BackendFault(
                        "the generation was canceled on the image generator".into(),
                    ));
                }
            }
        }
        Err(GenerateError::BackendFault(
            "the image generator failed this job too many times".into(),
        ))
    }

    /// Does the server have a live or finished prompt of the task?
    async fn has_earlier_work(&self, task: &GenerationTask) -> bool {
        for number in 0..MAX_PROMPTS {
            let id = prompt_id::prompt_id(self.server.upstream().name(), task, number).to_string();
            let mut found = self.server.find(&id).await;
            if found.is_err() {
                // A server that is restarting too refuses connections at first.
                sleep(LOOKUP_RETRY_DELAY).await;
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

    /// Takes over a prompt that an earlier attempt or run of the job submitted.
    async fn adopt(
        &self,
        id: Uuid,
        theirs: String,
        workflow: &Workflow,
        task: &GenerationTask,
    ) -> TrackedPrompt {
        tracing::info!(job = %task.job, prompt = theirs, "adopted a prompt of an earlier run");
        let guard = self.server.cancel_on_drop(&theirs, task);
        let socket = self.server.open_socket(&id.to_string()).await;
        let graph = workflow.fill(task.inputs.len(), &|_| Value::Null);
        TrackedPrompt {
            // The running graph has these nodes, unless the operator has changed the workflow since.
            events: PromptEvents::new(socket, ProgressMeter::new(&theirs, &graph)),
            id: theirs,
            guard,
            adopted: true,
        }
    }

    async fn submit(
        &self,
        id: Uuid,
        workflow: &Workflow,
        task: &GenerationTask,
    ) -> Result<TrackedPrompt, GenerateError> {
        let graph = self.graph(id, workflow, task).await?;
        let ours = id.to_string();
        // Opened before the submission, so that no event is missed.
        let socket = self.server.open_socket(&ours).await;
        let mut guard = self.server.cancel_on_drop(&ours, task);
        let submitted = self.server.submit(&ours, &graph).await;
        // On any other fault the guard stays armed: the server may have accepted the prompt.
        if let Err(Fault::Status { status, .. }) = &submitted
            && status.is_client_error()
        {
            guard.disarm();
        }
        let submitted = submitted.map_err(without_refusal)?;
        // An old server assigned another id.
        guard.disarm();
        let guard = self.server.cancel_on_drop(&submitted.id, task);
        if !submitted.node_errors.is_empty() {
            self.server.set_cause_of_node_errors(&submitted.node_errors);
            if affects_output(&submitted.node_errors, workflow.output()) {
                // The armed guard cancels the rest of the graph, which cannot yield the image.
                return Err(misconfigured());
            }
        }
        let meter = ProgressMeter::new(&submitted.id, &graph);
        Ok(TrackedPrompt {
            events: PromptEvents::new(socket, meter),
            id: submitted.id,
            guard,
            adopted: false,
        })
    }

    /// Uploads the input images and fills in the workflow.
    async fn graph(
        &self,
        id: Uuid,
        workflow: &Workflow,
        task: &GenerationTask,
    ) -> Result<Graph, GenerateError> {
        let checkpoint = match workflow.takes_checkpoint() {
            true => self.checkpoint(task).await?,
            false => String::new(),
        };
        let mut files = Vec::with_capacity(task.inputs.len());
        for original in originals::load(&self.objects, task).await? {
            files.push(
                self.server
                    .upload(original)
                    .await
                    .map_err(without_refusal)?,
            );
        }
        let (width, height) = size::native(task.pixels, self.settings.max_pixels);
        Ok(
            workflow.fill(files.len(), &|placeholder| match placeholder {
                Placeholder::Prompt => task.prompt.as_str().into(),
                Placeholder::Seed => prompt_id::seed(id).into(),
                Placeholder::Width => width.into(),
                Placeholder::Height => height.into(),
                Placeholder::FinalWidth => task.pixels.0.into(),
                Placeholder::FinalHeight => task.pixels.1.into(),
                Placeholder::Checkpoint => checkpoint.as_str().into(),
                Placeholder::FilenamePrefix => format!("tintype/{}", task.job).into(),
                Placeholder::Image(number) => {
                    let file = files.get(number.wrapping_sub(1));
                    file.map_or(Value::Null, |file| file.as_str().into())
                }
            }),
        )
    }

    async fn checkpoint(&self, task: &GenerationTask) -> Result<String, GenerateError> {
        if let Some(named) = task.model.as_ref().or(self.settings.checkpoint.as_ref()) {
            return Ok(named.clone());
        }
        let known = self.server.checkpoints().await.map_err(without_refusal)?;
        known.into_iter().next().ok_or_else(|| {
            set_cause("the server has no checkpoint: put one into its models/checkpoints, or use a workflow that loads its model another way");
            misconfigured()
        })
    }

    /// Fetches the image; `None` if there is none or the server has deleted it.
    async fn fetch_output(
        &self,
        workflow: &Workflow,
        stored: &[StoredFile],
    ) -> Result<Option<Vec<u8>>, GenerateError> {
        match pick_output(stored, workflow.output()) {
            Some(file) => self.server.fetch(file).await.map_err(without_refusal),
            None => Ok(None),
        }
    }

    fn failed(&self, failure: &Failure) -> GenerateError {
        let upstream = self.server.upstream();
        let node = upstream.clean(&failure.node_type);
        let exception = upstream.clean(&failure.exception);
        let message = upstream.clean(&failure.message);
        set_cause(format!(
            "the workflow failed at node {node}: {exception}: {message}"
        ));
        match failure.is_out_of_memory() {
            true => out_of_memory(None),
            false => {
                GenerateError::BackendFault("the workflow of the image generator failed".into())
            }
        }
    }
}

/// Does the image depend on a node with an error?
fn affects_output(errors: &serde_json::Map<String, Value>, output: Option<&str>) -> bool {
    let Some(output) = output else {
        return true;
    };
    errors.iter().any(|(node, described)| {
        let dependent = described["dependent_outputs"].as_array();
        node == output || dependent.is_none_or(|it| it.iter().any(|it| it == output))
    })
}
