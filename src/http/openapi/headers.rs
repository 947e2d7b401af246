//! Response headers, each described once.

use serde_json::{Map, Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Key in the document's components.
    key: &'static str,
    name: &'static str,
    text: &'static str,
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
    REQUEST_ID = "RequestId", "X-Request-Id", true, Kind::Text, "80a496c0-53a5-4b0e-8f9d-0c7f2a6d1e3b",
        "The id of the request: the caller's own `X-Request-Id` if it is 1 to 128 of `A-Z a-z 0-9 . _ -`, otherwise a generated one. The service's log contains it.";
    RATE_LIMIT = "RateLimit", "RateLimit", false, Kind::Text, "\"key\";r=7;t=1",
        "Only for a key or an account with a rate limit, with a member for each (`key`, `account`): remaining calls (`r`) and seconds until all are available again (`t`), as in the IETF draft. On a `429`, `t` equals `Retry-After`, when the next call is admitted.";
    RATE_LIMIT_POLICY = "RateLimitPolicy", "RateLimit-Policy", false, Kind::Text, "\"key\";q=10;w=2",
        "Only for a key or an account with a rate limit, with a member for each (`key`, `account`): burst size (`q`) and the seconds in which it refills (`w`).";
    CACHE_CONTROL = "NoStore", "Cache-Control", true, Kind::Word("no-store"), "no-store",
        "Do not store the response.";
    REVALIDATE = "Revalidate", "Cache-Control", true, Kind::Word("no-cache"), "no-cache",
        "Revalidate a stored copy before each use.";
    CACHE_FILE = "CacheWhileValid", "Cache-Control", true, Kind::Text, "private, max-age=86400",
        "The caller may store the file for as long as the URL is valid.";
    LOCATION = "Location", "Location", true, Kind::Text, "https://pictures.example/api/v1/jobs/01a1fa95-2c1f-7c3a-9d5e-3f6b8a4c2d10",
        "The absolute form of `status_url`.";
    BATCH_LOCATION = "BatchLocation", "Location", true, Kind::Text, "https://pictures.example/api/v1/batches/01a1fa95-2b0e-7f10-8a3c-4d5e6f708192",
        "The absolute URL of the batch.";
    RETRY_AFTER = "RetryAfter", "Retry-After", true, Kind::Number, "2",
        "Seconds to wait before the next request.";
    REPLAYED = "IdempotentReplayed", "Idempotent-Replayed", false, Kind::Word("true"), "true",
        "Only for a repeated idempotency key: this is the response to the first call, and nothing new was created or charged.";
    CHALLENGE = "WwwAuthenticate", "WWW-Authenticate", true, Kind::Word("Bearer"), "Bearer",
        "How to authenticate: `Authorization: Bearer ...`.";
    PREFERENCE_APPLIED = "PreferenceApplied", "Preference-Applied", false, Kind::Text, "wait=30",
        "Only if `Prefer: wait=N` was honoured, with the granted seconds.";
    UNBUFFERED = "AccelBuffering", "X-Accel-Buffering", true, Kind::Word("no"), "no",
        "Tells nginx not to buffer events.";
    ETAG = "ETag", "ETag", true, Kind::Text, "\"64f1c2a9e0b40-1f3a2\"",
        "Changes with the content. Send it as `If-None-Match`.";
    ACCEPT_RANGES = "AcceptRanges", "Accept-Ranges", false, Kind::Word("bytes"), "bytes",
        "The file supports `Range`. Thumbnails do not.";
    CONTENT_RANGE = "ContentRange", "Content-Range", true, Kind::Text, "bytes 0-1023/1048576",
        "The range of bytes and the size of the file.";
    WHOLE_RANGE = "WholeRange", "Content-Range", true, Kind::Text, "bytes */1048576",
        "The size of the file.";
    DISPOSITION = "ContentDisposition", "Content-Disposition", true, Kind::Text, "inline; filename=\"01a1fa95-2c1f-7c3a-9d5e-3f6b8a4c2d10.png\"",
        "Displays the file, and suggests a name for saving it.";
    NOSNIFF = "ContentTypeOptions", "X-Content-Type-Options", true, Kind::Word("nosniff"), "nosniff",
        "Disables media type sniffing.";
    POLICY = "ContentSecurityPolicy", "Content-Security-Policy", true, Kind::Text, "default-src 'none'; sandbox",
        "Prevents a file from running scripts in a browser.";
);

impl Header {
    /// The name with a reference to the description.
    pub fn reference(self) -> (String, Value) {
        (
            self.name.to_owned(),
            component_reference("headers", self.key),
        )
    }

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

/// A reference to a component of the document.
pub fn component_reference(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}
