//! The workflows of one backend: the operator's files or the built-in workflows.

use super::builtin_workflows;
use super::workflow::{Purpose, Workflow, WorkflowFault};
use crate::config::ComfyUiSettings;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tintype_actors::ports::GenerateError;
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::request::MAX_INPUTS;

/// Of a workflow file; usual graphs have some kilobytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Why a workflow cannot be used. `key` is the configuration key that names the file.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error("`{key}` names the workflow {}, which cannot be read: {source}", .path.display())]
    File {
        key: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("`{key}` names the workflow {}, which cannot be used: {source}", .path.display())]
    Fault {
        key: &'static str,
        path: PathBuf,
        source: WorkflowFault,
    },
    /// The tests rule this out.
    #[error("a built-in workflow cannot be used: {0}")]
    Builtin(#[from] WorkflowFault),
}

pub struct Templates {
    text: Arc<Workflow>,
    image: Image,
}

enum Image {
    /// One file for all jobs.
    Custom(Arc<Workflow>),
    /// The workflow at index `n` is for `n + 1` input images.
    Builtin(Vec<Arc<Workflow>>),
}

impl Templates {
    /// Reads and checks the workflow files that the settings name.
    pub fn read(settings: &ComfyUiSettings) -> Result<Self, TemplateError> {
        let text = match &settings.workflow_text {
            Some(path) => read_workflow(path, "workflow_text", Purpose::Text)?,
            None => builtin_workflows::text()?,
        };
        let image = match &settings.workflow_image {
            Some(path) => Image::Custom(Arc::new(read_workflow(
                path,
                "workflow_image",
                Purpose::Image,
            )?)),
            None => {
                let built =
                    (1..=MAX_INPUTS).map(|inputs| Ok(Arc::new(builtin_workflows::image(inputs)?)));
                Image::Builtin(built.collect::<Result<_, WorkflowFault>>()?)
            }
        };
        Ok(Self {
            text: Arc::new(text),
            image,
        })
    }

    pub fn all(&self) -> Vec<&Workflow> {
        let images = match &self.image {
            Image::Custom(workflow) => std::slice::from_ref(workflow),
            Image::Builtin(built) => built,
        };
        let all = std::iter::once(&self.text).chain(images);
        all.map(AsRef::as_ref).collect()
    }

    /// The workflow for a job with this number of input images.
    ///
    /// # Errors
    /// `Unsupported` when it takes fewer: another backend may take more.
    pub fn for_inputs(&self, inputs: usize) -> Result<Arc<Workflow>, GenerateError> {
        let (workflow, most) = match (&self.image, inputs.checked_sub(1)) {
            (_, None) => (Some(&self.text), 0),
            (Image::Custom(workflow), Some(_)) => {
                let most = workflow.images();
                (Some(workflow).filter(|_| inputs <= most), most)
            }
            (Image::Builtin(built), Some(at)) => (built.get(at), built.len()),
        };
        workflow.cloned().ok_or_else(|| {
            GenerateError::Unsupported(format!(
                "the image generator takes at most {}, not {inputs}",
                counted(most, "input image")
            ))
        })
    }
}

fn read_workflow(
    path: &Path,
    key: &'static str,
    purpose: Purpose,
) -> Result<Workflow, TemplateError> {
    let file = |source| TemplateError::File {
        key,
        path: path.to_owned(),
        source,
    };
    let size = fs::metadata(path).map_err(file)?.len();
    if size > MAX_BYTES {
        let what = format!("it has {size} bytes; the limit is {MAX_BYTES}");
        return Err(file(io::Error::other(what)));
    }
    let text = fs::read_to_string(path).map_err(file)?;
    Workflow::parse(&text, purpose).map_err(|source| TemplateError::Fault {
        key,
        path: path.to_owned(),
        source,
    })
}
