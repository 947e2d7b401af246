//! The introductions of the documents and of their tags.

use crate::application::settings::Settings;
use crate::web::submissions::batch_call::MAX_BODY_BYTES;
use serde_json::{Value, json};
use tintype_storage::domain::counted::counted;

/// The tags of the client document, in display order.
pub const NATIVE: &[(&str, &str)] = &[
    (
        "Images",
        "Six calls generate images: three models, each from a prompt alone or from a prompt and input images. Each returns `202` once the job, the reservation of its price and its idempotency key are durable.",
    ),
    (
        "Jobs",
        "A job is `queued`, then `processing`, and ends as `done` or `failed`. Its price is charged when it is done and released when it fails. Poll, long-poll or stream its events.",
    ),
    (
        "Batches",
        "Up to thousands of requests in one call: accepted whole or not at all, run after single jobs, and reported by one webhook delivery at the end.",
    ),
    (
        "Account",
        "The balance, the transactions, the daily usage and the limits of your key. All amounts are decimal strings.",
    ),
    (
        "Files",
        "Downloads of images. The URLs are signed and need no key. Each lookup of a job returns a fresh one.",
    ),
    ("Service", "Calls that need no key."),
];

pub const OPERATORS: &[(&str, &str)] = &[
    (
        "Accounts",
        "Accounts are prepaid. Jobs reserve their prices until they end.",
    ),
    (
        "Keys",
        "API keys of clients. A key's value is returned once, when the key is created or rotated.",
    ),
    (
        "People",
        "People who sign in to the panel for an account. Each has an email address and chooses a password through a link that you send them.",
    ),
    (
        "Webhooks",
        "URLs that receive the events of an account. Each webhook has its own secret.",
    ),
    (
        "Deliveries",
        "Deliveries to webhooks, with every attempt and its response, and redelivery.",
    ),
    ("Jobs", "Jobs of all accounts, with their full records."),
    ("Service", "Statistics, pauses and the audit log."),
];

pub fn groups(groups: &[(&str, &str)]) -> Value {
    let tag = |(name, text): &(&str, &str)| json!({"name": name, "description": text});
    groups.iter().map(tag).collect()
}

pub fn native(settings: &Settings) -> String {
    let lifetime = span(settings.config.results.url_lifetime_seconds);
    let remembered = settings.config.idempotency.retention_hours;
    let body = settings.config.server.max_body_bytes;
    let batch = MAX_BODY_BYTES;
    let currency = &settings.config.billing.currency;
    format!(
        "\
Tintype generates an image from a prompt and optional input images. A call creates a **job** and returns `202` within milliseconds. \
Once the job is `done`, download the image from `result.image_url`, a signed URL that is valid for {lifetime}.

## Keys

Send `Authorization: Bearer` and an API key with each call below `/api/v1`. Only this document, `/status`, the health checks, `/metrics` \
and the signed URLs of images need none.

## Safe retries

Send an `Idempotency-Key` with each call that creates a job, and retry the call as often as you like: the same key and request return \
the first `job_id` for {remembered} hours, without a second job or charge. Only a `202` uses up a key.

## Waiting

Poll every 2 seconds, long-poll with `?wait=60`, stream `/api/v1/jobs/{{job_id}}/events`, or register a webhook.

## Errors

Every error is `application/problem+json` (RFC 9457). Distinguish errors by `code`. Their descriptions say whether to repeat the \
same call: `yes`, after `Retry-After` if present; `later`, once the cause is fixed; `no`, because it would fail again. A `422` lists every faulty field at once. Unknown fields \
of a body are refused, so that you notice a misspelt one. An unsupported method returns `405` with `Allow`. An unknown path returns `404`, \
or `401` without a key. Malformed HTTP is refused earlier, with a bare `400`, `408` or `431`.

## Formats

Bodies are JSON in UTF-8, at most {body} bytes, and {batch} for a batch. Timestamps are RFC 3339 in UTC with milliseconds. Amounts are \
decimal strings in {currency}, never floats. \
A response always contains every field, `null` without a value, except fields that are described as optional: the limits of a key, and why a model is paused. Every `GET` also supports `HEAD`.

## Other interfaces

The same keys, prices and balances also work with programs written for other services. `/v1beta` (and `/v1`, `/v1alpha`) implements the Gemini API: [interactions](https://ai.google.dev/api/interactions-api), and \
`POST /v1beta/models/{{model}}:generateContent`, described in [Google's reference](https://ai.google.dev/api/generate-content). `/v1/images/generations` \
and `/v1/images/edits` implement [OpenAI's Images API](https://platform.openai.com/docs/api-reference/images), `/v1/responses` the image tool of its \
[Responses API](https://platform.openai.com/docs/api-reference/responses), `/v1/files` and `/v1/batches` its \
[Batch API](https://platform.openai.com/docs/api-reference/batch). Their responses and errors follow \
those references, so this document does not repeat them.
"
    )
}

/// An exact duration in words, in the largest unit that divides it.
pub fn span(seconds: u64) -> String {
    // Unit and minimum: one or two days are written in hours.
    let units = [
        (86_400, 259_200, "day"),
        (3_600, 3_600, "hour"),
        (60, 60, "minute"),
    ];
    let fits = |(unit, min, _): &(u64, u64, &str)| seconds >= *min && seconds.is_multiple_of(*unit);
    let (unit, _, name) = units.into_iter().find(fits).unwrap_or((1, 1, "second"));
    counted(seconds / unit, name)
}

pub const OPERATOR: &str = "\
The operator's calls: open accounts, add funds, create keys, register webhooks, pause models, and inspect deliveries, jobs and \
the audit log.

## The token

Every path below `/admin/v1` requires the operator token, `Authorization: Bearer`, this document included. Set it as `[admin] token` or \
`TINTYPE_ADMIN_TOKEN`, or read it from the file `admin-token` of the data directory, which the first start creates.

## Formats

Bodies are JSON; unknown fields are refused by name. Lists have `limit` and `cursor`, and end when `next_cursor` is `null`. Amounts are decimal \
strings. Errors are `application/problem+json` (RFC 9457), distinguished by `code`. Each change commits together with its audit entry. An unsupported method returns `405` with \
`Allow`; `HEAD` is not supported.
";

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn durations_are_exact() {
        for (seconds, text) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (90, "90 seconds"),
            (60, "1 minute"),
            (1_800, "30 minutes"),
            (3_600, "1 hour"),
            (86_400, "24 hours"),
            (172_800, "48 hours"),
            (604_800, "7 days"),
            (3_180, "53 minutes"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
