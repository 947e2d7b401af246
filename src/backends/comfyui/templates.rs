//! The workflows of one back end: the operator's own, read from their files, or the shipped ones.

use super::builtin_workflows;
use super::workflow::{Purpose, Workflow, WorkflowFault};
use crate::config::ComfyUiSettings;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tintype_actors::ports::GenerateError;
use tintype_storage::domain::request::MAX_INPUTS;

/// Bytes of a workflow's file: graphs have some kilobytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Why a workflow cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The file.
    #[error("`{key}` names the workflow {}, which cannot be read: {source}", .path.display())]
    File {
        /// The key of the configuration.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What stands in it.
    #[error("`{key}` names the workflow {}, which cannot be used: {source}", .path.display())]
    Fault {
        /// The key of the configuration.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: WorkflowFault,
    },
    /// A shipped workflow is damaged, which the tests rule out.
    #[error("a shipped workflow cannot be used: {0}")]
    Shipped(#[from] WorkflowFault),
}

/// The workflows.
pub struct Templates {
    text: Arc<Workflow>,
    image: Image,
}

enum Image {
    /// One for all jobs.
    Own(Arc<Workflow>),
    /// One for each number of input images, from 1.
    Shipped(Vec<Arc<Workflow>>),
}

impl Templates {
    /// Reads and checks what the settings name.
    ///
    /// # Errors
    /// See [`TemplateError`].
    pub fn read(settings: &ComfyUiSettings) -> Result<Self, TemplateError> {
        let text = match &settings.workflow_text {
            Some(path) => own(path, "workflow_text", Purpose::Text)?,
            None => builtin_workflows::text()?,
        };
        let image = match &settings.workflow_image {
            Some(path) => Image::Own(Arc::new(own(path, "workflow_image", Purpose::Image)?)),
            None => {
                let built =
                    (1..=MAX_INPUTS).map(|inputs| Ok(Arc::new(builtin_workflows::image(inputs)?)));
                Image::Shipped(built.collect::<Result<_, WorkflowFault>>()?)
            }
        };
        Ok(Self {
            text: Arc::new(text),
            image,
        })
    }

    /// Every one of them.
    pub fn all(&self) -> Vec<&Workflow> {
        let images = match &self.image {
            Image::Own(workflow) => std::slice::from_ref(workflow),
            Image::Shipped(built) => built,
        };
        let all = std::iter::once(&self.text).chain(images);
        all.map(AsRef::as_ref).collect()
    }

    /// The workflow for a job with so many input images.
    ///
    /// # Errors
    /// `NotAsked` when it has no place for so many: another back end may have.
    pub fn of(&self, inputs: usize) -> Result<Arc<Workflow>, GenerateError> {
        let (workflow, most) = match (&self.image, inputs.checked_sub(1)) {
            (_, None) => (Some(&self.text), 0),
            (Image::Own(workflow), Some(_)) => {
                let most = workflow.images();
                (Some(workflow).filter(|_| inputs <= most), most)
            }
            (Image::Shipped(built), Some(at)) => (built.get(at), built.len()),
        };
        workflow.cloned().ok_or_else(|| {
            GenerateError::NotAsked(format!(
                "the image generator takes at most {most} input image{}, not {inputs}",
                if most == 1 { "" } else { "s" }
            ))
        })
    }
}

fn own(path: &Path, key: &'static str, purpose: Purpose) -> Result<Workflow, TemplateError> {
    let file = |source| TemplateError::File {
        key,
        path: path.to_owned(),
        source,
    };
    let size = fs::metadata(path).map_err(file)?.len();
    if size > MAX_BYTES {
        let what = format!("it has {size} bytes, and no workflow has more than {MAX_BYTES}");
        return Err(file(io::Error::other(what)));
    }
    let text = fs::read_to_string(path).map_err(file)?;
    Workflow::parse(&text, purpose).map_err(|source| TemplateError::Fault {
        key,
        path: path.to_owned(),
        source,
    })
}
