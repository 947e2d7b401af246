//! Tests a backend on demand, without generating an image.

use super::error::Error;
use super::state::AppState;
use crate::backends::probe::Findings;
use crate::backends::readiness;
use tintype_actors::backends::BackendError;

/// Checks that a backend responds and has the configured models. A pass closes the circuit breaker, so the backend gets the next
/// job; a failure becomes its last error.
///
/// # Errors
/// `NotFound`
pub async fn test(state: &AppState, name: &str) -> Result<Findings, Error> {
    let backends = &state.config.backends;
    let index = backends.keys().position(|it| it == name);
    let (Some(index), Some(backend)) = (index, backends.get(name)) else {
        return Err(Error::not_found("there is no such backend"));
    };
    let findings = readiness::test(&state.config, name, backend).await;
    let outcome = match findings.fails.is_empty() {
        true => Ok(state.now()),
        false => Err(BackendError {
            at: state.now(),
            cause: findings.fails.join("; "),
        }),
    };
    state.system.backend_tested(index, outcome);
    Ok(findings)
}
