//! What the documents say at their beginning, and of their groups of calls.

use crate::application::state::AppState;
use serde_json::{Value, json};

/// The groups of the client document, in the order in which they are read.
pub const NATIVE: &[(&str, &str)] = &[
    (
        "Pictures",
        "Six calls make pictures: three models, each from a prompt alone or from a prompt and input images. Each answers `202` as soon as the job, the hold on its price and its idempotency key are on the disk.",
    ),
    (
        "Jobs",
        "A job is `queued`, then `processing`, and ends as `done` or `failed`. Its price is charged when it is done, and free again when it fails. Ask again, ask and wait, or listen.",
    ),
    (
        "Batches",
        "Up to thousands of requests in one call: accepted whole or not at all, made behind the single jobs, and told of by one delivery at the end.",
    ),
    (
        "Account",
        "Money, and what the key in hand may do. All amounts are decimal strings.",
    ),
    (
        "Files",
        "Where pictures are fetched from. The addresses are signed, need no key, and are made anew by each lookup.",
    ),
    ("Service", "What needs no key."),
];

/// The groups of the operator's document.
pub const OPERATORS: &[(&str, &str)] = &[
    (
        "Accounts",
        "Who pays. An account is paid into beforehand; its jobs hold their prices until they end.",
    ),
    (
        "Keys",
        "What clients call with. A key's text is told once, when it is made or rotated.",
    ),
    (
        "People",
        "Who signs in to the panel for an account. Each has an e-mail address, and chooses a password by a link that you hand on.",
    ),
    (
        "Webhooks",
        "Where an account hears of its jobs. Each has its own URL and its own secret.",
    ),
    (
        "Deliveries",
        "What was sent to webhooks, each attempt with what came back, and sending again.",
    ),
    (
        "Jobs",
        "Jobs of every account, with all that is on record of them.",
    ),
    (
        "Service",
        "How the service is, its switches, and who changed what.",
    ),
];

/// The tags of a document.
pub fn groups(groups: &[(&str, &str)]) -> Value {
    let tag = |(name, text): &(&str, &str)| json!({"name": name, "description": text});
    groups.iter().map(tag).collect()
}

/// The beginning of the client document.
pub fn native(state: &AppState) -> String {
    let lifetime = span(state.config.results.url_lifetime_seconds);
    let remembered = state.config.idempotency.retention_hours;
    let body = state.config.server.max_body_bytes;
    format!(
        "\
Tintype turns a prompt, and input images if you have them, into a picture. A call makes a **job** and answers `202` within milliseconds; \
the picture is fetched from `result.image_url` once the job is `done`, at a signed address that is valid for {lifetime}.

## Keys

Send `Authorization: Bearer` and an API key with each call below `/api/v1`. Only this document, the health checks, `/metrics` and the \
signed addresses of pictures need none.

## Safe repeats

Send an `Idempotency-Key` with each call that makes a picture, and repeat the call as often as you like: the same key and request give \
the first `job_id` for {remembered} hours, without a second job or charge. Only a `202` uses a key up.

## Waiting

Ask again every 2 seconds; or ask and wait, with `?wait=60`; or listen to `/api/v1/jobs/{{job_id}}/events`; or have a webhook called.

## Errors

Every error is `application/problem+json` (RFC 9457). Tell errors apart by `code`. A `422` names every faulty field at once. Unknown fields \
of a body are refused, so that a misspelt one is seen. A method that a path does not have is `405` with `Allow`; a path that is not there is `404`, \
or `401` without a key. A request that is no well-formed HTTP is refused before any of this, with a bare `400`, `408` or `431`.

## Forms

Bodies are JSON in UTF-8, at most {body} bytes. Moments are RFC 3339 in UTC with milliseconds. Money is a decimal string, never a float. In \
answers every field is always there, `null` where it has no value, but for what is described as being there only of some: the limits of a key, and why a model is paused. Where there is `GET` there is `HEAD`.

## Other interfaces

The same keys, prices and books serve programs that were written for other services. At `/v1beta` (and `/v1`, `/v1alpha`) the Gemini API is spoken: \
`POST /v1beta/models/{{model}}:generateContent`, described in [Google's reference](https://ai.google.dev/api/generate-content). At `/v1/images/generations` \
and `/v1/images/edits` it is [OpenAI's Images API](https://platform.openai.com/docs/api-reference/images). Their answers and errors are \
those of their makers, so they are not described here a second time.
"
    )
}

/// A span of time in words, exactly: the largest unit that it is a whole number of.
pub fn span(seconds: u64) -> String {
    // A unit, and the least that is told in it: of a day or two people speak in hours.
    let units = [
        (86_400, 259_200, "day"),
        (3_600, 3_600, "hour"),
        (60, 60, "minute"),
    ];
    let fits =
        |(unit, least, _): &(u64, u64, &str)| seconds >= *least && seconds.is_multiple_of(*unit);
    let (unit, _, name) = units.into_iter().find(fits).unwrap_or((1, 1, "second"));
    let count = seconds / unit;
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {name}{plural}")
}

/// The beginning of the operator's document.
pub const OPERATOR: &str = "\
What the operator of this service does: open accounts, book deposits, make keys, register webhooks, pause models, and see what was \
sent, made and changed.

## The token

Every path below `/admin/v1` asks for the operator's token, `Authorization: Bearer`, this document included. It stands in `[admin] token`, in \
`TINTYPE_ADMIN_TOKEN`, or in the file `admin-token` of the data directory, which the first start makes.

## Forms

Bodies are JSON; unknown fields are refused by name. Lists have `limit` and `cursor`, and are at their end when `next_cursor` is `null`. Money is a decimal \
string. Errors are `application/problem+json` (RFC 9457), told apart by `code`. A change is written together with its line in the audit log. A method that a path does not have is `405` with \
`Allow`; there is no `HEAD` here.
";

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn spans_are_told_exactly() {
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
