//! Calls of OpenAI's SDKs: they retry automatically, without an idempotency key, and number their attempts.

use crate::compat::auth;
use crate::compat::deadline;
use crate::compat::jobs::submission::Call;
use crate::compat::preflight;
use crate::compat::refusal::Refusal;
use crate::compat::request_body::drain::drain_if_refused;
use crate::compat::state::CompatState;
use crate::web::submissions::idempotency_key;
use actix_web::HttpRequest;
use actix_web::web::{Data, Payload};
use tintype_storage::domain::request::Fingerprint;

const RETRY_COUNT: &str = "x-stainless-retry-count";

/// Attempts at the same call before this one; 0 for clients that do not count.
pub fn attempt_of(request: &HttpRequest) -> u32 {
    let count = request.headers().get(RETRY_COUNT);
    let count = count.and_then(|it| it.to_str().ok()?.parse().ok());
    count.unwrap_or_default()
}

impl<'a> Call<'a> {
    /// The call of a caller with a valid key.
    ///
    /// # Errors
    /// The key is missing or invalid.
    pub async fn of_sdk(
        request: &HttpRequest,
        state: &'a Data<CompatState>,
    ) -> Result<Self, Refusal> {
        Ok(Self {
            state,
            deadline: deadline::of_request(request, &state.settings),
            caller: auth::authenticate(request, &state.accounts).await?,
            attempt: Some(attempt_of(request)),
        })
    }

    /// Runs the checks that need no body, and returns the idempotency key.
    ///
    /// # Errors
    /// The first check that fails. The body is then discarded.
    pub async fn check_headers(
        &self,
        request: &HttpRequest,
        payload: &mut Payload,
    ) -> Result<Option<String>, Refusal> {
        let checked = async {
            let key = idempotency_key::key(request.headers())?;
            let attempt = attempt_of(request);
            preflight::check_any(self.state, &self.caller, key.as_deref(), attempt).await?;
            Ok(key)
        };
        drain_if_refused(payload, checked.await).await
    }

    /// Ends the call before the read timeout of its caller, unless it responds with a stream.
    pub fn heed_read_timeout(&mut self, request: &HttpRequest, is_stream: bool) {
        if !is_stream {
            self.deadline = deadline::before_read_timeout(request, self.deadline);
        }
    }

    /// Records the refusal of a first attempt, and returns the outcome. The retry of a refused call must not get the images of an
    /// earlier call with the same content. `content` is `None` if the content is not known. A retry of an invalid request is refused
    /// too, so its refusal is not recorded.
    pub fn recorded<T>(
        &self,
        content: Option<Fingerprint>,
        outcome: Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let (calls, now) = (&self.state.recent_calls, self.state.core.now());
        let attempt = self.attempt.unwrap_or_default();
        calls.record_if_refused(attempt, (self.caller.key.id, content), outcome, now)
    }
}
