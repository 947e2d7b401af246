//! The background of the image that a caller asks for.

use tintype_actors::ports::{GenerateError, GenerationTask};
use tintype_storage::domain::image_options::Background;

/// Refuses a transparent background, for a backend that has none. The tier's next backend may have one.
pub fn refuse_transparent(task: &GenerationTask) -> Result<(), GenerateError> {
    match task.background {
        Some(Background::Transparent) => Err(GenerateError::Unsupported(
            "the image generator has no transparent backgrounds".into(),
        )),
        Some(Background::Opaque) | None => Ok(()),
    }
}
