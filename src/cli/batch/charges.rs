//! What a batch was charged. The response of a batch has only what was reserved.

use crate::cli::native_client::NativeClient;
use tintype_api::Batch;
use tintype_storage::domain::amount::Amount;

/// Jobs whose prices are read for one batch: their pages count against the rate limit of the key.
const MAX_JOBS: u32 = 1_000;

/// The sum of the prices of the done jobs. `None` while jobs are live, and if the prices cannot be read.
pub async fn charged(client: &NativeClient, batch: &Batch) -> Option<String> {
    let counts = batch.counts;
    if &*batch.status != "ended" {
        return None;
    }
    let reserved: Amount = batch.price.parse().ok()?;
    let (status, jobs) = match counts.done < counts.failed {
        true => ("done", counts.done),
        false => ("failed", counts.failed),
    };
    if jobs > MAX_JOBS {
        return None;
    }
    let sum = match jobs {
        0 => Amount::ZERO,
        _ => client.sum_of_prices(&batch.batch_id, status).await.ok()?,
    };
    let charged = match status {
        "done" => sum,
        _ => reserved.minus(sum).ok()?,
    };
    Some(charged.to_string())
}
