//! The codes of errors: one table with their statuses and words, and with what the documents say about them.

use actix_web::http::StatusCode;

/// A row of the table.
pub struct CodeRow {
    pub status: u16,
    pub word: &'static str,
    /// The same for every error of this code.
    pub title: &'static str,
    /// When the code is returned, and what to do.
    pub meaning: &'static str,
    /// An example `detail`.
    pub example: &'static str,
}

macro_rules! codes {
    ($($code:ident = $status:literal, $word:literal, $title:literal, $meaning:literal, $example:literal;)+) => {
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
                        example: $example,
                    }),+
                }
            }
        }
    };
}

codes!(
    Unauthorized = 401, "unauthorized", "Not authenticated",
        "credentials are missing, malformed, unknown, inactive or expired.",
        "send the header `Authorization: Bearer <API_KEY>`";
    InsufficientBalance = 402, "insufficient_balance", "Insufficient balance",
        "`available` does not cover the price. Ask the operator to add funds.",
        "the available balance of 0.01 USD does not cover the price of 0.134 USD; add funds to the account";
    KeyLimitReached = 402, "key_limit_reached", "Spend limit of the API key reached",
        "a spend limit of the key does not cover the price.",
        "the API key has a spend limit of 5.00 USD in total, of which 4.958 USD is spent or reserved; the price is 0.134 USD; raise it, or use another key";
    AccountLimitReached = 402, "account_limit_reached", "Spend limit of the account reached",
        "the operator's spend limit of the account does not cover the price. Another key does not help; ask the operator, or wait for the next day or month (UTC).",
        "the account has a spend limit of 50.00 USD a day (UTC), of which 49.90 USD is spent or reserved; the price is 0.134 USD; wait for the next day, or ask the operator to raise it";
    ModelNotAllowed = 403, "model_not_allowed", "Model not allowed for this API key",
        "the key does not allow this model.",
        "this API key is not scoped for the pro model";
    AddressNotAllowed = 403, "address_not_allowed", "Address not allowed for this API key",
        "the key may not be used from this address.",
        "the API key may not be used from 198.51.100.7";
    Forbidden = 403, "forbidden", "Not allowed",
        "this is not allowed.",
        "this is not allowed";
    InvalidSignature = 403, "invalid_signature", "Invalid signature",
        "this server did not sign the URL, or the URL was changed.",
        "this server did not sign this URL, or it was changed";
    UrlExpired = 403, "url_expired", "URL expired",
        "the URL has expired. Get the job again for a new one.",
        "the URL has expired; get the job again for a new one";
    NotFound = 404, "not_found", "Not found",
        "it does not exist or belongs to another account.",
        "there is no such job";
    MethodNotAllowed = 405, "method_not_allowed", "Method not allowed",
        "the path does not support the method; see `Allow`.",
        "this path takes GET, HEAD";
    RequestTimeout = 408, "request_timeout", "Request timeout",
        "the body arrived too slowly.",
        "the body did not arrive within 30 s";
    Conflict = 409, "conflict", "Conflict",
        "the current state does not allow the request.",
        "the job is already done";
    Gone = 410, "gone", "Gone",
        "the image was deleted, on demand or when its retention ended.",
        "the image was deleted";
    PayloadTooLarge = 413, "payload_too_large", "Request body too large",
        "the body is too large.",
        "the body may have at most 1048576 bytes";
    UnsupportedMediaType = 415, "unsupported_media_type", "Unsupported media type",
        "the call does not accept the media type of the body, or the body has a `Content-Encoding`.",
        "send the body as `Content-Type: application/json`";
    RangeNotSatisfiable = 416, "range_not_satisfiable", "Range not satisfiable",
        "the range is outside the file.",
        "the range lies outside the file, which has 1048576 bytes";
    ValidationFailed = 422, "validation_failed", "Validation failed",
        "the request is invalid; `errors` lists every faulty field.",
        "prompt: must have at least 1 character";
    IdempotencyKeyReused = 422, "idempotency_key_reused", "Idempotency key reused",
        "the idempotency key belongs to another request.",
        "the Idempotency-Key was used before with a different request";
    RateLimited = 429, "rate_limited", "Too many requests",
        "too many calls or unfinished jobs of this key or account, or a second test delivery within a minute. Wait for `Retry-After` seconds.",
        "this API key may make 5 requests per second, and up to 10 at once after a pause; try again in 1 second";
    Internal = 500, "internal", "Internal error",
        "an internal error. Report the `request_id` to the operator.",
        "the service failed to process the call; report the request id to its operator";
    StorageUnavailable = 502, "storage_unavailable", "Object storage unavailable",
        "the object store failed. Retry the call, with the same `Idempotency-Key` if it has one.",
        "the request could not be stored; try again";
    Paused = 503, "paused", "Paused",
        "no new jobs are accepted for now. Retry the call after `Retry-After` with the same `Idempotency-Key`.",
        "the pro model is paused (new weights until 14:00); try again later with the same Idempotency-Key";
    Overloaded = 503, "overloaded", "Overloaded",
        "the service is overloaded or about to restart. Retry the call after `Retry-After`.",
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
