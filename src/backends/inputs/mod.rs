//! Input images for back ends: read from the store, and made over only where a back end would refuse them as they are.

use super::upstream::decoding;
use crate::image_decoding::INPUTS;
use crate::images::Images;
use bytes::Bytes;
use tintype_actors::ports::{GenerateError, GenerationTask};
use tintype_imaging::ImageKind;
use tintype_imaging::fit::{self, Fitted, Unfit, fit};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::InputImage;

/// What a back end takes.
#[derive(Clone, Copy, Debug)]
pub struct Accepts {
    /// The formats that it reads.
    pub kinds: &'static [ImageKind],
    /// Largest file, in bytes.
    pub max_bytes: usize,
    /// All files together, in bytes; where they are more, those above their share are made smaller.
    pub max_total_bytes: usize,
    /// How many; more are refused.
    pub max_count: usize,
    /// Does it heed the orientation that a file's Exif block tells? Else files that lie on their side are turned.
    pub heeds_orientation: bool,
}

impl Accepts {
    /// What one file must be.
    fn of_one(&self) -> fit::Accepts {
        fit::Accepts {
            kinds: self.kinds,
            max_bytes: self.max_bytes,
            heeds_orientation: self.heeds_orientation,
        }
    }
}

/// A name in forms for the input image of this number.
pub fn file_name(input: &Fitted, number: usize) -> String {
    format!("{number}.{}", input.kind.extension())
}

/// The input images of an order, in its order.
///
/// # Errors
/// The store, which may recover; or an image that this back end cannot be given.
pub async fn load(
    images: &Images,
    order: &GenerationTask,
    accepts: Accepts,
) -> Result<Vec<Fitted>, GenerateError> {
    if order.inputs.len() > accepts.max_count {
        let most = match accepts.max_count {
            1 => "one input image".to_owned(),
            count => format!("{count} input images"),
        };
        return Err(GenerateError::NotAsked(format!(
            "the image generator takes at most {most}"
        )));
    }
    let mut inputs = Vec::with_capacity(order.inputs.len());
    for (index, input) in order.inputs.iter().enumerate() {
        let bytes = read_back(images, order, input).await?;
        inputs.push(one(order.account, bytes, index + 1, accepts).await?);
    }
    // What counts is what is sent: a small GIF may have become a large PNG.
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
            *input = one(order.account, input.bytes.clone(), index + 1, less).await?;
        }
    }
    Ok(inputs)
}

/// An input image as it lies in the store.
///
/// # Errors
/// The store's, which may recover.
pub async fn read_back(
    images: &Images,
    order: &GenerationTask,
    input: &InputImage,
) -> Result<Bytes, GenerateError> {
    images.get(&input.key).await.map_err(|error| {
        tracing::error!(job = %order.job, %error, "an input image cannot be read");
        GenerateError::Storage("an input image could not be read back; try again".into())
    })
}

async fn one(
    account: AccountId,
    bytes: Bytes,
    number: usize,
    accepts: Accepts,
) -> Result<Fitted, GenerateError> {
    let kind = ImageKind::from_bytes(&bytes);
    let fitted = decoding(&INPUTS, account, move |permit| {
        fit(permit, bytes, kind, accepts.of_one())
    })
    .await;
    fitted.map_err(|unfit| match unfit {
        Unfit::Format(name) => GenerateError::NotAsked(format!(
            "input image {number} is {name}, which the image generator cannot read; send PNG or JPEG"
        )),
        Unfit::Unshrinkable(name) => GenerateError::NotAsked(format!(
            "input image {number} is {name} and too large for the image generator; send a smaller one, or PNG or JPEG"
        )),
        Unfit::Damaged => GenerateError::Unsound(format!(
            "input image {number} is damaged and cannot be decoded"
        )),
        Unfit::TooLarge => GenerateError::NotAsked(format!(
            "input image {number} is too large for the image generator; send a smaller one"
        )),
    })
}
