//! The codes of errors: one table with their statuses and words, and with what the documents say about them.
//!
//! `TINTYPE_WRITE_DOCS=1 cargo test --test tidy reference` writes the table of `docs/errors.md` from it.

use actix_web::http::StatusCode;

/// A row of the table.
pub struct CodeRow {
    pub status: u16,
    pub word: &'static str,
    /// The same for every error of this code.
    pub title: &'static str,
    /// When the code is returned.
    pub meaning: &'static str,
    /// What the caller can do.
    pub action: &'static str,
    /// Whether to repeat the same call: `yes`, `later` (once the cause is fixed) or `no`.
    pub retry: &'static str,
    /// An example `detail`.
    pub example: &'static str,
}

macro_rules! codes {
    ($($code:ident = $status:literal, $word:literal, $title:literal, $meaning:literal, $action:literal, $retry:literal, $example:literal;)+) => {
        /// Clients distinguish errors by the word of the code, which never changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $($code),+
        }

        impl Code {
            /// In the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$code),+];

            pub fn row(self) -> CodeRow {
                match self {
                    $(Self::$code => CodeRow {
                        status: $status,
                        word: $word,
                        title: $title,
                        meaning: $meaning,
                        action: $action,
                        retry: $retry,
                        example: $example,
                    }),+
                }
            }
        }
    };
}

codes!(
    Unauthorized = 401, "unauthorized", "Not authenticated",
        "the credentials are missing, mistyped, expired, deactivated or sent twice, or the account of the API key is deactivated",
        "send valid credentials as `Authorization: Bearer`; ask the operator whether the API key is active", "later",
        "send the header `Authorization: Bearer <API_KEY>`";
    InsufficientBalance = 402, "insufficient_balance", "Insufficient balance",
        "the available balance of the account does not cover the price. Amounts reserved for live jobs are not available",
        "ask the operator to add funds, or wait until jobs have ended", "later",
        "the available balance of 0.01 USD does not cover the price of 0.134 USD; add funds to the account";
    KeyLimitReached = 402, "key_limit_reached", "Spend limit of the API key reached",
        "a spend limit of the key (daily, monthly or total) does not cover the price",
        "see `GET /key`; raise the limit, or wait until the next UTC day or month", "later",
        "the API key has a spend limit of 5.00 USD in total, of which 4.958 USD is spent or reserved; the price is 0.134 USD; raise the limit, or use another key";
    AccountLimitReached = 402, "account_limit_reached", "Spend limit of the account reached",
        "a spend limit that the operator has set for the account (daily or monthly) does not cover the price; another key does not help",
        "ask the operator; or wait until reserved jobs have ended, or until the next UTC day or month", "later",
        "the account has a spend limit of 50.00 USD a day (UTC), of which 49.90 USD is spent or reserved; the price is 0.134 USD; wait until the next UTC day, or ask the operator to raise the limit";
    ModelNotAllowed = 403, "model_not_allowed", "Model not allowed for this API key",
        "the key is not scoped for this model",
        "see `allowed` in `GET /models`; widen the scope of the key", "later",
        "this API key is not scoped for the pro model";
    AddressNotAllowed = 403, "address_not_allowed", "Address not allowed for this API key",
        "the key is restricted to other IP addresses",
        "call from an allowed address, or change the list", "later",
        "the API key may not be used from 198.51.100.7";
    Forbidden = 403, "forbidden", "Not allowed",
        "in the panel: your role in the account does not permit this, or the account is deactivated",
        "ask an owner or the operator", "no",
        "this is not allowed";
    InvalidSignature = 403, "invalid_signature", "Invalid signature",
        "the download URL was changed, or belongs to another service",
        "use `result.image_url` unchanged", "no",
        "this server did not sign this URL, or it was changed";
    UrlExpired = 403, "url_expired", "URL expired",
        "the download URL is too old (24 hours by default)",
        "look up the job again: each lookup signs a new URL", "no",
        "the URL has expired; get the job again for a new one";
    NotFound = 404, "not_found", "Not found",
        "the path or the record does not exist, or the record belongs to another account",
        "check the path, the id and the account of the key", "no",
        "there is no such job";
    MethodNotAllowed = 405, "method_not_allowed", "Method not allowed",
        "the path does not support this method",
        "see the header `Allow`", "no",
        "this path supports GET and HEAD";
    RequestTimeout = 408, "request_timeout", "Request timeout",
        "the body did not arrive in time (30 seconds by default)",
        "send it again", "yes",
        "the body did not arrive within 30 s";
    Conflict = 409, "conflict", "Conflict",
        "the current state does not permit the call: for example, the job has started or ended, it has no image to delete, or the record exists already",
        "see `detail`, and look up the job or the record", "no",
        "the job is already done";
    Gone = 410, "gone", "Gone",
        "the image was deleted, on demand or after its retention (30 days by default). In a bucket, the store responds instead, usually with 404",
        "generate the image again; keep a copy next time, or make the job a favourite in the panel", "no",
        "the image was deleted";
    PayloadTooLarge = 413, "payload_too_large", "Request body too large",
        "the body is larger than the call accepts: by default 1 MiB of JSON, 16 MiB for a batch",
        "send less; pass images as URLs", "no",
        "the body may have at most 1048576 bytes";
    UnsupportedMediaType = 415, "unsupported_media_type", "Unsupported media type",
        "the call does not accept the media type of the body, or the body has a `Content-Encoding`",
        "send plain JSON, or another type that the call accepts", "no",
        "send the body as `Content-Type: application/json`";
    RangeNotSatisfiable = 416, "range_not_satisfiable", "Range not satisfiable",
        "the requested range lies outside the file",
        "see `Content-Range` for its size", "no",
        "the range lies outside the file, which has 1048576 bytes";
    ValidationFailed = 422, "validation_failed", "Validation failed",
        "fields are missing, unknown, of the wrong type or invalid, or an input image cannot be used",
        "see `errors`, which names all of them", "no",
        "prompt: must have at least 1 character";
    IdempotencyKeyReused = 422, "idempotency_key_reused", "Idempotency key reused",
        "the idempotency key belongs to another request (of the last 24 hours by default; for deposits and new accounts, of the last 400 days)",
        "use a new key for a new request", "no",
        "the Idempotency-Key was used before with a different request";
    RateLimited = 429, "rate_limited", "Too many requests",
        "too many calls with this key or from its account, too many calls that fetch input images or wait for a job, too many live jobs of the key or the account, or a second test delivery within a minute",
        "wait for `Retry-After` seconds; `RateLimit` shows the state. If the request alone has more jobs than the limit, split it", "yes",
        "this API key may make 5 requests per second, and up to 10 at once after a pause; try again in 1 second";
    Internal = 500, "internal", "Internal error",
        "the service failed",
        "give the operator the `request_id`", "yes",
        "the service failed to process the call; report the request id to its operator";
    StorageUnavailable = 502, "storage_unavailable", "Object storage unavailable",
        "the object store failed while an image or a long text was stored, read or deleted",
        "repeat the call, with the same `Idempotency-Key` if it has one", "yes",
        "the request could not be stored; try again";
    Paused = 503, "paused", "Paused",
        "the operator has paused the service or the model; `detail` has the reason, if there is one",
        "repeat the call with the same `Idempotency-Key`; `GET /models` shows when the pause has ended", "yes",
        "the pro model is paused (new weights until 14:00); try again later with the same Idempotency-Key";
    Overloaded = 503, "overloaded", "Overloaded",
        "the queue is full, more calls arrive than can be answered in time, the memory for input images is in use, the database does not respond, or the service is about to restart",
        "repeat the call with the same `Idempotency-Key`", "yes",
        "the queue of the service is full; try again later with the same Idempotency-Key";
);

impl Code {
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn as_str(self) -> &'static str {
        self.row().word
    }
}
