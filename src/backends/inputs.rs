//! Input images for backends: read from the store, and re-encoded only when the backend would refuse the original.

use super::upstream::decoding;
use crate::decode_permits::INPUT_DECODING;
use crate::objects::ObjectStorage;
use bytes::Bytes;
use tintype_actors::ports::{GenerateError, GenerationTask};
use tintype_imaging::ImageKind;
use tintype_imaging::fit::{self, FittedImage, Unfit, fit};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::InputImage;

/// The input images that a backend accepts.
#[derive(Clone, Copy, Debug)]
pub struct Accepts {
    pub kinds: &'static [ImageKind],
    /// Of one file.
    pub max_bytes: usize,
    /// Of all files together. Above it, each file larger than its equal share is shrunk.
    pub max_total_bytes: usize,
    /// A job with more input images is refused. Its mask does not count.
    pub max_count: usize,
}

/// The file name in a multipart form; `number` counts from 1.
pub fn file_name(input: &FittedImage, number: usize) -> String {
    format!("{number}.{}", input.kind.extension())
}

/// Loads the input images of a task, in the task's order.
///
/// # Errors
/// `Storage`, which may recover; `Unsupported` for images that this backend does not accept; `InvalidRequest` for a damaged one.
pub async fn load(
    objects: &ObjectStorage,
    task: &GenerationTask,
    accepts: Accepts,
) -> Result<Vec<FittedImage>, GenerateError> {
    let count = task.inputs.len() - usize::from(task.has_mask);
    if count > accepts.max_count {
        let most = match accepts.max_count {
            0 => "no input images".to_owned(),
            1 => "at most one input image".to_owned(),
            most => format!("at most {most} input images"),
        };
        return Err(GenerateError::Unsupported(format!(
            "the image generator takes {most}"
        )));
    }
    let mut inputs = Vec::with_capacity(task.inputs.len());
    for (index, input) in task.inputs.iter().enumerate() {
        let bytes = read_back(objects, task, input).await?;
        inputs.push(fit_one(task.account, bytes, index + 1, accepts).await?);
    }
    // The sum counts the files as sent: a small GIF may have become a large PNG.
    let total: usize = inputs.iter().map(|it| it.bytes.len()).sum();
    if total <= accepts.max_total_bytes {
        return Ok(inputs);
    }
    let share = accepts.max_total_bytes / inputs.len().max(1);
    let less = Accepts {
        max_bytes: accepts.max_bytes.min(share),
        ..accepts
    };
    for (index, input) in inputs.iter_mut().enumerate() {
        if input.bytes.len() > share {
            *input = fit_one(task.account, input.bytes.clone(), index + 1, less).await?;
        }
    }
    Ok(inputs)
}

/// Refuses a mask, for a backend that has no use for one. The tier's next backend may take it.
pub fn refuse_mask(task: &GenerationTask) -> Result<(), GenerateError> {
    match task.has_mask {
        true => Err(GenerateError::Unsupported(
            "the image generator takes no mask".into(),
        )),
        false => Ok(()),
    }
}

/// Separates the mask from the other input images of a task.
pub fn take_mask(task: &GenerationTask, inputs: &mut Vec<FittedImage>) -> Option<FittedImage> {
    task.has_mask.then(|| inputs.pop()).flatten()
}

/// Gives a mask the size of its image, which [`load`] may have shrunk.
///
/// # Errors
/// `InvalidRequest` for a damaged image.
pub async fn fit_mask(
    account: AccountId,
    mask: FittedImage,
    image: &FittedImage,
) -> Result<FittedImage, GenerateError> {
    let image = image.bytes.clone();
    let fitted = decoding(&INPUT_DECODING, account, move |permit| {
        fit::fit_mask(permit, mask, &image)
    });
    fitted.await.map_err(|_| {
        GenerateError::InvalidRequest(
            "the mask or its image is damaged and cannot be decoded".into(),
        )
    })
}

/// Reads the stored bytes of an input image.
///
/// # Errors
/// `Storage`, which may recover.
pub async fn read_back(
    objects: &ObjectStorage,
    task: &GenerationTask,
    input: &InputImage,
) -> Result<Bytes, GenerateError> {
    objects.get(&input.key).await.map_err(|error| {
        tracing::error!(job = %task.job, %error, "could not read an input image");
        GenerateError::Storage("an input image could not be read back; try again".into())
    })
}

async fn fit_one(
    account: AccountId,
    bytes: Bytes,
    number: usize,
    accepts: Accepts,
) -> Result<FittedImage, GenerateError> {
    let kind = ImageKind::from_bytes(&bytes);
    let of_file = fit::Accepts {
        kinds: accepts.kinds,
        max_bytes: accepts.max_bytes,
    };
    let fitted = decoding(&INPUT_DECODING, account, move |permit| {
        fit(permit, bytes, kind, of_file)
    })
    .await;
    fitted.map_err(|unfit| match unfit {
        Unfit::Format(name) => GenerateError::Unsupported(format!(
            "input image {number} is {name}, which the image generator cannot read; send PNG or JPEG"
        )),
        Unfit::Unshrinkable(name) => GenerateError::Unsupported(format!(
            "input image {number} is {name} and too large for the image generator; send a smaller one, or PNG or JPEG"
        )),
        Unfit::Damaged => GenerateError::InvalidRequest(format!(
            "input image {number} is damaged and cannot be decoded"
        )),
        Unfit::TooLarge => GenerateError::Unsupported(format!(
            "input image {number} is too large for the image generator; send a smaller one"
        )),
    })
}
