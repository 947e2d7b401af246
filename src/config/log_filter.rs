//! The check of log filters.

use tintype_api::fields::nearest;
use tracing_subscriber::EnvFilter;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Checks a filter such as `info` or `info,tintype::http=debug`.
pub(super) fn log_filter(text: &str) -> Result<String, String> {
    let expected = "a filter such as \"info\" or \"info,tintype=debug\"";
    EnvFilter::try_new(text).map_err(|_| expected.to_owned())?;
    // `EnvFilter` takes an unknown level for the name of a module: a wrong_type "inof" would silence everything else.
    for word in text.split(',').map(str::trim) {
        let level = LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
        if !level && let Some(meant) = nearest(word, LEVELS) {
            return Err(format!("{expected} (did you mean `{meant}`?)"));
        }
    }
    if text.trim().is_empty() {
        return Err(expected.to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_levels_and_directives() {
        for good in [
            "info",
            "OFF",
            "info,tintype=debug",
            "warn,tintype::http=trace,awc=error",
        ] {
            assert!(log_filter(good).is_ok(), "{good}");
        }
        for bad in ["", "inof", "info,debgu", "info,tintype=loud", "=,="] {
            assert!(log_filter(bad).is_err(), "{bad}");
        }
    }
}
