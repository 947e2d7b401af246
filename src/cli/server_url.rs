//! The URL of the server that a command calls.

use super::settings::Settings;
use crate::config::Config;
use anyhow::{Context as _, anyhow, bail, ensure};
use url::Url;

/// Where the user may set the URL.
pub const OPTION: &str = "--server";
/// The client packages read this variable too.
pub const VARIABLE: &str = "TINTYPE_URL";
/// The commands add these themselves.
const API_PATHS: [&str; 2] = ["/api/v1", "/admin/v1"];

/// Returns the URL without a trailing slash. Messages name `source`, the option or variable that contains it.
///
/// # Errors
/// The text is not the URL of a server.
pub fn parse(source: &str, text: &str) -> anyhow::Result<String> {
    let expected = "expected a URL such as http://127.0.0.1:8080";
    let url = Url::parse(text).map_err(|_| anyhow!("{source} `{text}`: {expected}"))?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    ensure!(
        !has_user && url.query().is_none() && url.fragment().is_none(),
        "{source}: {expected}, without user, query and fragment"
    );
    ensure!(
        matches!(url.scheme(), "http" | "https"),
        "{source} `{text}`: {expected}"
    );
    let base = url.as_str().trim_end_matches('/');
    for path in API_PATHS {
        if let Some(server) = base.strip_suffix(path) {
            bail!("{source} `{text}`: give the URL without {path}: {server}");
        }
    }
    Ok(base.to_owned())
}

/// The URL that the user gives: `--server`, or else `TINTYPE_URL`.
///
/// # Errors
/// The text is not the URL of a server.
pub fn named(option: Option<&str>) -> anyhow::Result<Option<String>> {
    if let Some(text) = option {
        return parse(OPTION, text).map(Some);
    }
    let variable = std::env::var(VARIABLE).ok();
    let text = variable.filter(|text| !text.is_empty());
    text.map(|text| parse(VARIABLE, &text)).transpose()
}

/// For commands that use an API key: `--server`, or else `TINTYPE_URL`, or else the server of the configuration on this machine.
///
/// # Errors
/// The URL or the configuration is invalid.
pub fn of_caller(option: Option<&str>) -> anyhow::Result<String> {
    if let Some(url) = named(option)? {
        return Ok(url);
    }
    let config = Settings::default().load_installed();
    let config = config.with_context(|| {
        format!("the configuration has no URL of the server; give it with {OPTION} or {VARIABLE}")
    })?;
    of_config(&config)
}

/// # Errors
/// The configuration does not contain the port.
pub fn of_config(config: &Config) -> anyhow::Result<String> {
    let (_, port) = config.server.listen.host_and_port();
    ensure!(
        port != 0,
        "listen in [server] of the configuration has port 0, so the system chooses the port; give the URL with {OPTION}"
    );
    Ok(format!("http://{}", config.server.listen.reachable()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_bare_http_url() {
        assert_eq!(parse(OPTION, "http://x:1/").unwrap(), "http://x:1");
        assert_eq!(
            parse(OPTION, "https://x/under/").unwrap(),
            "https://x/under"
        );
        for bad in [
            "x",
            "127.0.0.1:8080",
            "localhost:8080",
            "ftp://x",
            "http://a:b@x",
            "http://x?y",
            "http://x#y",
        ] {
            let error = parse(OPTION, bad).unwrap_err().to_string();
            assert!(error.starts_with("--server"), "{error}");
            assert!(error.contains("http://127.0.0.1:8080"), "{error}");
        }
    }

    #[test]
    fn the_paths_of_the_api_are_not_part_of_the_url() {
        for (given, server) in [
            ("http://x:1/api/v1", "http://x:1"),
            ("http://x/under/admin/v1/", "http://x/under"),
        ] {
            let error = parse(VARIABLE, given).unwrap_err().to_string();
            assert!(error.starts_with("TINTYPE_URL"), "{error}");
            assert!(error.ends_with(&format!(": {server}")), "{error}");
        }
    }
}
