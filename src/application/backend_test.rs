//! Testing a back end on demand, without making an image.

use super::error::Error;
use super::state::AppState;
use crate::backends::probe::Findings;
use crate::backends::readiness;
use tintype_actors::backends::BackendError;

/// Asks a back end whether it works, and for the models that the configuration names. One that is not used after failures gets
/// the next job at once if it does; what fails is its last error.
///
/// # Errors
/// There is no back end of this name.
pub async fn test(state: &AppState, name: &str) -> Result<Findings, Error> {
    let backends = &state.config.backends;
    let place = backends.keys().position(|it| it == name);
    let (Some(place), Some(backend)) = (place, backends.get(name)) else {
        return Err(Error::not_found("there is no such back end"));
    };
    let findings = readiness::test(&state.config, name, backend).await;
    let outcome = match findings.fails.is_empty() {
        true => Ok(state.now()),
        false => Err(BackendError {
            at: state.now(),
            cause: findings.fails.join("; "),
        }),
    };
    state.system.backend_tested(place, outcome);
    Ok(findings)
}
