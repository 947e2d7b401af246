//! How operator commands find the server and its token.

use super::operator::{Operator, TOKEN_SOURCES};
use super::server_url;
use super::settings::Settings;
use crate::admin_token::token_file;
use crate::config::{Config, ConfigErrors, Secret, Sources};
use anyhow::{Context as _, bail};
use clap::Args;
use std::path::Path;
use url::{Host, Url};

/// Sources of the token in messages.
const TOKEN_OPTION: &str = "--token";
const TOKEN_VARIABLE: &str = "the environment variable TINTYPE_ADMIN_TOKEN";

/// Options of every command that calls a running server as its operator.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Server options")]
pub struct Access {
    /// URL of the running server [default: http:// and listen in [server] of the configuration].
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Operator token [default: the environment variable TINTYPE_ADMIN_TOKEN, or else token in [admin] of the configuration, or else the
    /// file admin-token in the data directory].
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    #[command(flatten)]
    settings: Settings,
}

impl Access {
    pub fn has_server(&self) -> bool {
        self.server.is_some()
    }

    /// Loads the configuration of the records on this machine.
    pub fn config(&self) -> anyhow::Result<Config> {
        Ok(self.settings.load_for_records()?)
    }

    /// The secret of the operator's webhook, if the local configuration can be read and has one.
    pub fn operator_secret(&self) -> Option<Secret> {
        self.settings.load_installed().ok()?.operator.webhook_secret
    }

    /// The token that the user gives, and its source: `--token`, or else the environment, read as the server reads it.
    fn given_token(&self) -> Result<Option<(Secret, &'static str)>, ConfigErrors> {
        if let Some(token) = self.token.as_deref().filter(|text| !text.is_empty()) {
            return Ok(Some((Secret::new(token), TOKEN_OPTION)));
        }
        let token = Config::admin_token_in(Sources::process_environment())?;
        Ok(token.map(|token| (token, TOKEN_VARIABLE)))
    }

    /// # Errors
    /// The URL is invalid, or there is no token.
    pub fn operator(&self) -> anyhow::Result<Operator> {
        let named = self
            .server
            .as_deref()
            .map(|text| server_url::parse(server_url::OPTION, text))
            .transpose()?;
        let given = self.given_token()?;
        // With a URL and a token, the local configuration is not read, so it may have errors.
        let (named, given) = match (named, given) {
            (Some(server), Some((token, source))) => return Operator::new(&server, token, source),
            incomplete => incomplete,
        };
        let config = self.settings.load_installed()?;
        let server = match named {
            Some(server) => server,
            None => server_url::of_config(&config)?,
        };
        if let Some((token, source)) = given {
            return Operator::new(&server, token, source);
        }
        if !is_local_server(&server, &config) {
            bail!(
                "{server} is not the server of the local configuration, so the local token is not sent to it; set --token or TINTYPE_ADMIN_TOKEN"
            );
        }
        let (token, from) = local_token(&config)?;
        Operator::new(&server, token, &from)
    }
}

#[cfg(test)]
impl Access {
    pub fn with_server(url: &str) -> Self {
        Self {
            server: Some(url.to_owned()),
            token: Some("token".to_owned()),
            ..Self::default()
        }
    }
}

/// Whether the local token may be sent to this server: it runs on this machine, or the configuration contains its address.
fn is_local_server(server: &str, config: &Config) -> bool {
    let Ok(url) = Url::parse(server) else {
        return false;
    };
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    let configured = [Ok(config.public_url()), server_url::of_config(config)];
    loopback
        || configured
            .into_iter()
            .flatten()
            .filter_map(|it| Url::parse(&it).ok())
            .any(|it| it.origin() == url.origin())
}

fn local_token(config: &Config) -> anyhow::Result<(Secret, String)> {
    if let Some(token) = &config.admin.token {
        return Ok((
            token.clone(),
            "token in [admin] of the configuration".into(),
        ));
    }
    let path = token_file(&config.storage.data_dir);
    let token = read_token(&path)?;
    Ok((token, path.display().to_string()))
}

fn read_token(path: &Path) -> anyhow::Result<Secret> {
    let text = std::fs::read_to_string(path).with_context(|| {
        format!(
            "no operator token found: {TOKEN_SOURCES}; cannot read {}",
            path.display()
        )
    })?;
    match text.trim() {
        "" => bail!(
            "{} is empty; delete it and restart the server",
            path.display()
        ),
        token => Ok(Secret::new(token)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(listen: &str) -> Config {
        let flags = [
            ("server.listen", listen),
            ("server.public_url", "https://pictures.example/x"),
        ];
        let flags = flags.map(|(key, value)| (key.to_owned(), toml::Value::String(value.into())));
        Config::load(&Sources {
            file: None,
            default_file: None,
            env: Vec::new(),
            flags: flags.into(),
        })
        .unwrap()
    }

    #[test]
    fn the_listening_address_is_the_default() {
        assert_eq!(
            server_url::of_config(&config("0.0.0.0:81")).unwrap(),
            "http://127.0.0.1:81"
        );
        let error = server_url::of_config(&config("127.0.0.1:0"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("--server"), "{error}");
    }

    #[test]
    fn the_local_token_is_sent_to_no_other_machine() {
        let config = config("10.0.0.1:81");
        for own in [
            "http://127.0.0.1:9",
            "http://localhost:9",
            "http://[::1]:9",
            "https://pictures.example",
            "http://10.0.0.1:81",
        ] {
            assert!(is_local_server(own, &config), "{own}");
        }
        for other in [
            "http://pictures.example",
            "https://evil.example",
            "http://localhost.evil.example",
            "http://10.0.0.1:82",
        ] {
            assert!(!is_local_server(other, &config), "{other}");
        }
    }

    #[test]
    fn a_missing_token_lists_its_sources() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("admin-token");
        let error = format!("{:#}", read_token(&path).unwrap_err());
        for part in [
            "--token",
            "TINTYPE_ADMIN_TOKEN",
            "[admin]",
            &path.display().to_string(),
        ] {
            assert!(error.contains(part), "{error}");
        }
        std::fs::write(&path, "\n").unwrap();
        assert!(read_token(&path).unwrap_err().to_string().contains("empty"));
        std::fs::write(&path, "abc\n").unwrap();
        assert_eq!(read_token(&path).unwrap().expose(), "abc");
    }
}
