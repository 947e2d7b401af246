//! A parsed and validated batch.

use super::generation_request::{GenerationRequest, Input, Shape};
use crate::application::fingerprint::FingerprintBuilder;
use crate::inputs::Reservation;
use rust_decimal::Decimal;
use tintype_storage::domain::amount::{Amount, AmountError};
use tintype_storage::domain::catalog::Offer;
use tintype_storage::domain::file_batch::FileBatchTerms;
use tintype_storage::domain::image_options::ImageOptions;
use tintype_storage::domain::job::PromptText;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::json::Json;
use tintype_storage::store::IdempotencyUse;

/// A valid batch with unique custom ids.
pub struct BatchRequest {
    /// Not empty.
    pub entries: Vec<BatchEntry>,
    /// The caller's object, echoed in responses.
    pub metadata: Option<Json>,
    /// The registered webhook that receives the batch's event.
    pub callback_url: Option<String>,
    pub idempotency_key: Option<String>,
    /// Set if the batch was submitted as a file.
    pub file: Option<FileBatchTerms>,
    /// The reservation of the memory that the requests occupy.
    pub memory: Option<Reservation>,
}

/// A request in the parts of its record.
pub struct BatchEntry {
    /// The caller's name for the request; `None`: its position.
    pub custom_id: Option<String>,
    pub offer: Offer,
    pub shape: Shape,
    pub mode: Mode,
    pub text: PromptText,
    pub urls: Vec<String>,
    pub options: ImageOptions,
    fingerprint: Fingerprint,
}

impl BatchEntry {
    /// Keeps the metadata as text: parsed, it takes many times that memory, and a batch has many requests.
    pub fn new(custom_id: Option<String>, mut request: GenerationRequest) -> Self {
        let url = |input| match input {
            Input::Url { url, .. } => Some(url),
            Input::Stored(_) | Input::Earlier { .. } => None,
        };
        Self {
            custom_id,
            fingerprint: request.fingerprint(),
            offer: request.offer,
            shape: request.shape,
            mode: request.mode(),
            text: request.take_text(),
            options: request.options,
            urls: request.inputs.into_iter().filter_map(url).collect(),
        }
    }
}

impl BatchRequest {
    /// The distinct models of the requests.
    pub fn models(&self) -> Vec<Tier> {
        let mut models = Tier::ALL.to_vec();
        let has = |tier: Tier| self.entries.iter().any(|it| it.offer.tier() == tier);
        models.retain(|tier| has(*tier));
        models
    }

    /// The sum of the prices.
    ///
    /// # Errors
    /// The sum exceeds what an account can hold.
    pub fn price(&self, factor: Decimal) -> Result<Amount, AmountError> {
        let mut offers = self.entries.iter().map(|it| it.offer);
        offers.try_fold(Amount::ZERO, |sum, it| sum.plus(price(it, factor)?))
    }

    /// The idempotency key with the fingerprint of the batch.
    pub fn idempotency(&self) -> Option<IdempotencyUse> {
        Some(IdempotencyUse {
            name: self.idempotency_key.clone()?,
            fingerprint: self.fingerprint(),
        })
    }

    /// SHA-256 of the meaning of the batch. Idempotency records store it, so its input must never change.
    fn fingerprint(&self) -> Fingerprint {
        let mut parts = FingerprintBuilder::default();
        parts.add("batch");
        for entry in &self.entries {
            parts.add(entry.custom_id.as_deref().unwrap_or_default());
            parts.add(entry.fingerprint.0);
        }
        parts.add(self.callback_url.as_deref().unwrap_or_default());
        parts.add_metadata(self.metadata.as_ref());
        if let Some(file) = &self.file {
            // The same requests in another file count as the same batch.
            parts.add("file");
            parts.add([u8::from(file.as_urls)]);
            // Recorded fingerprints have no part for `None`.
            if let Some(seconds) = file.results_lifetime_seconds {
                parts.add("results lifetime");
                parts.add(seconds.to_be_bytes());
            }
        }
        parts.finish()
    }
}

/// The price of one image of a batch.
///
/// # Errors
/// The price exceeds what an account can hold.
pub fn price(offer: Offer, factor: Decimal) -> Result<Amount, AmountError> {
    offer.price().times_rounded_up(factor)
}
