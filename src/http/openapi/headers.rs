//! Headers of answers, each described once.

use super::sketch::reference;
use serde_json::{Map, Value, json};

/// A header of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name in the document's list.
    key: &'static str,
    /// Its name on the wire.
    name: &'static str,
    text: &'static str,
    /// Does the answer always have it?
    required: bool,
    schema: Kind,
    example: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Word(&'static str),
}

macro_rules! headers {
    ($($(#[$doc:meta])* $constant:ident = $key:literal, $name:literal, $required:literal, $schema:expr, $example:literal, $text:literal;)+) => {
        impl Header {
            $(
                $(#[$doc])*
                pub const $constant: Self = Self {
                    key: $key,
                    name: $name,
                    text: $text,
                    required: $required,
                    schema: $schema,
                    example: $example,
                };
            )+

            const ALL: &'static [Self] = &[$(Self::$constant),+];
        }
    };
}

headers!(
    /// On every answer.
    REQUEST_ID = "RequestId", "X-Request-Id", true, Kind::Text, "80a496c0-53a5-4b0e-8f9d-0c7f2a6d1e3b",
        "The id of the request: the caller's own `X-Request-Id` if it is 1 to 128 of `A-Z a-z 0-9 . _ -`, otherwise a fresh one. It stands in the service's log.";
    /// How a limited key stands.
    RATE_LIMIT = "RateLimit", "RateLimit", false, Kind::Text, "\"key\";r=7;t=1",
        "Only for a key or an account with a rate, with a member for each (`key`, `account`): calls left (`r`), and seconds until all are back (`t`), as in the IETF's draft. On a `429` `t` is the moment of `Retry-After`, when the next call is admitted.";
    /// The rate of a limited key.
    RATE_LIMIT_POLICY = "RateLimitPolicy", "RateLimit-Policy", false, Kind::Text, "\"key\";q=10;w=2",
        "Only for a key or an account with a rate, with a member for each (`key`, `account`): calls at once (`q`), and the seconds in which they come back (`w`).";
    /// Nothing is to be kept.
    CACHE_CONTROL = "NoStore", "Cache-Control", true, Kind::Word("no-store"), "no-store",
        "The answer is not to be kept.";
    /// May be kept, if it is asked about each time.
    REVALIDATE = "Revalidate", "Cache-Control", true, Kind::Word("no-cache"), "no-cache",
        "May be kept, if the service is asked each time whether it has changed.";
    /// For as long as the address is valid.
    CACHE_FILE = "CacheWhileValid", "Cache-Control", true, Kind::Text, "private, max-age=86400",
        "May be kept by the caller for as long as the address is valid.";
    /// Where the job is.
    LOCATION = "Location", "Location", true, Kind::Text, "https://pictures.example/api/v1/jobs/01a1fa95-2c1f-7c3a-9d5e-3f6b8a4c2d10",
        "The absolute form of `status_url`.";
    /// Where the batch is.
    BATCH_LOCATION = "BatchLocation", "Location", true, Kind::Text, "https://pictures.example/api/v1/batches/01a1fa95-2b0e-7f10-8a3c-4d5e6f708192",
        "Where the batch is looked up.";
    /// When to come back.
    RETRY_AFTER = "RetryAfter", "Retry-After", true, Kind::Number, "2",
        "Seconds after which it makes sense to ask again.";
    /// A replayed call.
    REPLAYED = "IdempotentReplayed", "Idempotent-Replayed", false, Kind::Word("true"), "true",
        "Only where the idempotency key has been used before: this is the answer to the first call, and nothing was made or charged.";
    /// How to authenticate.
    CHALLENGE = "WwwAuthenticate", "WWW-Authenticate", true, Kind::Word("Bearer"), "Bearer",
        "How to authenticate: `Authorization: Bearer ...`.";
    /// A preference was honoured.
    PREFERENCE_APPLIED = "PreferenceApplied", "Preference-Applied", false, Kind::Text, "wait=30",
        "Only where `Prefer: wait=N` was honoured, with the seconds that were granted.";
    /// Keeps proxies from collecting events.
    UNBUFFERED = "AccelBuffering", "X-Accel-Buffering", true, Kind::Word("no"), "no",
        "Asks nginx to pass events on one by one.";
    /// A validator.
    ETAG = "ETag", "ETag", true, Kind::Text, "\"64f1c2a9e0b40-1f3a2\"",
        "Changes whenever the content does. Send it as `If-None-Match`.";
    /// Parts can be had.
    ACCEPT_RANGES = "AcceptRanges", "Accept-Ranges", false, Kind::Word("bytes"), "bytes",
        "Parts of the file can be asked for with `Range`. Not with a small form.";
    /// Which part.
    CONTENT_RANGE = "ContentRange", "Content-Range", true, Kind::Text, "bytes 0-1023/1048576",
        "Which bytes these are, of how many.";
    /// How large the file is.
    WHOLE_RANGE = "WholeRange", "Content-Range", true, Kind::Text, "bytes */1048576",
        "How large the file is.";
    /// The name to save under.
    DISPOSITION = "ContentDisposition", "Content-Disposition", true, Kind::Text, "inline; filename=\"01a1fa95-2c1f-7c3a-9d5e-3f6b8a4c2d10.png\"",
        "Shown, not saved; and under which name, if it is saved.";
    /// The type is what it says.
    NOSNIFF = "ContentTypeOptions", "X-Content-Type-Options", true, Kind::Word("nosniff"), "nosniff",
        "The media type is the one stated.";
    /// A picture runs nothing.
    POLICY = "ContentSecurityPolicy", "Content-Security-Policy", true, Kind::Text, "default-src 'none'; sandbox",
        "A file can run nothing in a browser.";
);

impl Header {
    /// Its name with a reference to its description, as an answer lists it.
    pub fn written(self) -> (String, Value) {
        (self.name.to_owned(), reference("headers", self.key))
    }

    /// Every one, by its name in the document's list.
    pub fn components() -> Map<String, Value> {
        let component = |it: &Self| {
            let (schema, example) = match it.schema {
                Kind::Text => (json!({"type": "string"}), it.example.into()),
                Kind::Number => (
                    json!({"type": "integer", "minimum": 1}),
                    it.example.parse::<u32>().unwrap_or_default().into(),
                ),
                Kind::Word(word) => (
                    json!({"type": "string", "enum": [word]}),
                    Value::from(it.example),
                ),
            };
            let described = json!({
                "description": it.text,
                "required": it.required,
                "schema": schema,
                "example": example,
            });
            (it.key.to_owned(), described)
        };
        Self::ALL.iter().map(component).collect()
    }
}
