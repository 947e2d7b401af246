//! What a caller asks for in one call with many requests, once an interface has parsed it and found it valid.

use super::generation_request::{GenerationRequest, Parts};
use rust_decimal::Decimal;
use tintype_storage::domain::amount::{Amount, AmountError};
use tintype_storage::domain::catalog::Offer;
use tintype_storage::domain::file_batch::FileBatchTerms;
use tintype_storage::domain::json::Json;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::IdempotencyUse;

/// A valid batch. Its custom ids are unique.
pub struct BatchRequest {
    /// At least one.
    pub entries: Vec<BatchEntry>,
    /// The caller's own object, to be echoed.
    pub metadata: Option<Json>,
    /// The registered webhook that its end is for.
    pub callback_url: Option<String>,
    /// The caller's name for the batch.
    pub idempotency_key: Option<String>,
    /// How it was submitted as a file, where it was.
    pub file: Option<FileBatchTerms>,
}

/// One of its requests.
pub struct BatchEntry {
    /// The caller's name for it; `None` where that is its position.
    pub custom_id: Option<String>,
    pub request: GenerationRequest,
}

impl BatchRequest {
    /// The models of its requests, each once.
    pub fn models(&self) -> Vec<Tier> {
        let mut models = Tier::ALL.to_vec();
        let has = |tier: Tier| {
            self.entries
                .iter()
                .any(|it| it.request.offer.tier() == tier)
        };
        models.retain(|tier| has(*tier));
        models
    }

    /// The sum of the prices.
    ///
    /// # Errors
    /// It is more than any account can hold.
    pub fn price(&self, factor: Decimal) -> Result<Amount, AmountError> {
        let mut offers = self.entries.iter().map(|it| it.request.offer);
        offers.try_fold(Amount::ZERO, |sum, it| sum.plus(price(it, factor)?))
    }

    /// The idempotency key with what it stands for.
    pub fn idempotency(&self) -> Option<IdempotencyUse> {
        Some(IdempotencyUse {
            name: self.idempotency_key.clone()?,
            fingerprint: self.fingerprint(),
        })
    }

    /// SHA-256 of what the batch means. Records hold it for as long as an idempotency key is remembered, so its bytes do not
    /// change.
    fn fingerprint(&self) -> Fingerprint {
        let mut parts = Parts::default();
        parts.add("batch");
        for entry in &self.entries {
            parts.add(entry.custom_id.as_deref().unwrap_or_default());
            parts.add(entry.request.fingerprint().0);
        }
        parts.add(self.callback_url.as_deref().unwrap_or_default());
        let metadata = self.metadata.as_ref().map(Json::to_sorted);
        parts.add(metadata.unwrap_or_default());
        if let Some(file) = &self.file {
            // The same requests in another file are the same batch.
            parts.add("file");
            parts.add([u8::from(file.as_urls)]);
        }
        parts.finish()
    }
}

/// What a picture of a batch costs.
///
/// # Errors
/// It is more than any account can hold.
pub fn price(offer: Offer, factor: Decimal) -> Result<Amount, AmountError> {
    offer.price().times_rounded_up(factor)
}
