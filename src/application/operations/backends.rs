//! Tests a backend on demand, without generating an image.

use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::settings::Settings;
use crate::backends::probe::Findings;
use crate::backends::readiness;
use tintype_actors::backends::BackendError;
use tintype_api::fields::shown;

/// Checks that a backend responds and has the configured models. A pass closes the circuit breaker, so the backend gets the next
/// job; a failure becomes its last error.
pub async fn test(core: &Core, settings: &Settings, name: &str) -> Result<Findings, Error> {
    let backends = &settings.config.backends;
    let index = backends.keys().position(|it| it == name);
    let (Some(index), Some(backend)) = (index, backends.get(name)) else {
        let defined: Vec<&str> = backends.keys().map(String::as_str).collect();
        let (name, defined) = (shown(name), defined.join(", "));
        let detail = format!("backend `{name}` is not defined; defined: {defined}");
        return Err(Error::not_found(detail));
    };
    let findings = readiness::test(&settings.config, name, backend).await;
    let outcome = match findings.fails.is_empty() {
        true => Ok(core.now()),
        false => Err(BackendError {
            at: core.now(),
            cause: findings.fails.join("; "),
        }),
    };
    core.system.backend_tested(index, outcome);
    Ok(findings)
}
