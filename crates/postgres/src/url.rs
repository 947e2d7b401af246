//! The URL of a database: the driver's parameters and this engine's own.

use percent_encoding::percent_decode_str;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Which connections are encrypted, and what is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsMode {
    Disable,
    /// Encrypted if the server supports it; nothing is verified.
    Prefer,
    /// Encrypted; nothing is verified.
    Require,
    /// Encrypted; the certificate is verified with these roots (`None`: the system's) and must name the host.
    VerifyFull(Option<PathBuf>),
}

/// A valid URL. Its text forms omit the password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    pub(crate) config: Config,
    pub(crate) tls: TlsMode,
    /// There is a pooler, which may run each transaction on any of its connections.
    pub(crate) is_pooled: bool,
    shown: String,
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Why a text is not a database URL. Quotes nothing of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("a URL that begins with postgres:// or postgresql://")]
    Scheme,
    #[error("postgres://USER@HOST:PORT/DATABASE, with special characters percent-encoded")]
    Form,
    #[error("the name of a database after the host, as in postgres://USER@HOST/DATABASE")]
    NoDatabase,
    #[error("sslmode disable, prefer, require or verify-full")]
    SslMode,
    #[error(
        "sslrootcert beside sslmode=verify-full alone, because no other mode verifies the certificate"
    )]
    RootsUnused,
    #[error("pooler=1 or pooler=0")]
    Pooler,
    #[error(
        "no other parameters than sslmode, sslrootcert, pooler, host, port, user, connect_timeout, application_name, channel_binding and target_session_attrs"
    )]
    Parameter,
}

/// A setting of each connection that poolers refuse or drop, so that a pooler can be detected.
pub(crate) const DIRECT: &str = "tintype.direct";

/// The server notices within 25 s that a node has vanished from the network, and frees its connections. Its own default is two hours.
const KEEPALIVES: &str = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=25000";

/// Parameters passed to the driver unchanged.
const PASSED_ON: [&str; 8] = [
    "host",
    "port",
    "user",
    "password",
    "connect_timeout",
    "application_name",
    "channel_binding",
    "target_session_attrs",
];

impl DatabaseUrl {
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if !["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
        {
            return Err(UrlError::Scheme);
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let mut parameters = Vec::new();
        let (mut mode, mut roots, mut is_pooled) = (None, None, false);
        for parameter in query.split('&').filter(|it| !it.is_empty()) {
            let (name, value) = parameter.split_once('=').ok_or(UrlError::Form)?;
            match name {
                "sslmode" => mode = Some(value),
                "pooler" => {
                    is_pooled = match value {
                        "1" => true,
                        "0" => false,
                        _ => return Err(UrlError::Pooler),
                    }
                }
                "sslrootcert" => {
                    let path = percent_decode_str(value).decode_utf8();
                    roots = Some(PathBuf::from(path.map_err(|_| UrlError::Form)?.as_ref()));
                }
                name if PASSED_ON.contains(&name) => parameters.push(parameter),
                _ => return Err(UrlError::Parameter),
            }
        }
        let tls = tls_mode(mode, roots)?;
        let config = format!("{address}?{}", parameters.join("&"));
        let mut config: Config = config.parse().map_err(|_| UrlError::Form)?;
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(UrlError::NoDatabase);
        }
        let (hosts, ports) = (config.get_hosts().len(), config.get_ports().len());
        if hosts == 0 || ports > 1 && ports != hosts {
            return Err(UrlError::Form);
        }
        complete(&mut config, &tls);
        if !is_pooled {
            config.options(format!("-c {DIRECT}=on {KEEPALIVES}"));
        }
        Ok(Self {
            config,
            tls,
            is_pooled,
            shown: mask_password(text),
        })
    }

    /// Sets the password if the URL has none.
    pub fn with_default_password(mut self, password: &str) -> Self {
        if self.config.get_password().is_none() {
            self.config.password(password);
        }
        self
    }

    /// A configuration for each host, in the order of the URL.
    pub(crate) fn of_hosts(&self) -> Vec<Config> {
        let hosts = self.config.get_hosts().iter().enumerate();
        hosts.map(|(at, host)| self.of_host(at, host)).collect()
    }

    fn of_host(&self, at: usize, host: &Host) -> Config {
        let mut one = Config::new();
        match host {
            Host::Tcp(name) => one.host(name),
            Host::Unix(path) => one.host_path(path),
        };
        let all = &self.config;
        let ports = all.get_ports();
        ports.get(at).or(ports.first()).map(|it| one.port(*it));
        all.get_user().map(|it| one.user(it));
        all.get_password().map(|it| one.password(it));
        all.get_dbname().map(|it| one.dbname(it));
        all.get_options().map(|it| one.options(it));
        all.get_application_name()
            .map(|it| one.application_name(it));
        all.get_connect_timeout().map(|it| one.connect_timeout(*it));
        one.channel_binding(all.get_channel_binding())
            .target_session_attrs(all.get_target_session_attrs());
        complete(&mut one, &self.tls);
        one
    }

    /// Empty for the name of the system's user.
    pub(crate) fn role(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    pub(crate) fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_default()
    }
}

fn tls_mode(mode: Option<&str>, roots: Option<PathBuf>) -> Result<TlsMode, UrlError> {
    match (mode, roots) {
        (Some("verify-full"), roots) => Ok(TlsMode::VerifyFull(roots)),
        (Some("disable"), None) => Ok(TlsMode::Disable),
        (Some("prefer") | None, None) => Ok(TlsMode::Prefer),
        (Some("require"), None) => Ok(TlsMode::Require),
        (Some("disable" | "prefer" | "require") | None, Some(_)) => Err(UrlError::RootsUnused),
        (Some(_), _) => Err(UrlError::SslMode),
    }
}

/// Fills in defaults. A vanished host must be noticed within seconds, and sooner if another host can replace it.
fn complete(config: &mut Config, tls: &TlsMode) {
    config.ssl_mode(match tls {
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyFull(_) => SslMode::Require,
    });
    if config.get_application_name().is_none() {
        config.application_name("tintype");
    }
    if config.get_connect_timeout().is_none() {
        let seconds = match config.get_hosts().len() {
            1 => 5,
            _ => 1,
        };
        config.connect_timeout(Duration::from_secs(seconds));
    }
    config
        .keepalives_idle(Duration::from_secs(5))
        .keepalives_interval(Duration::from_secs(2))
        .keepalives_retries(3)
        .tcp_user_timeout(Duration::from_secs(10));
}

/// A URL, even a malformed one, with `***` for its password.
fn mask_password(text: &str) -> String {
    let (address, query) = text
        .split_once('?')
        .map_or((text, None), |(a, q)| (a, Some(q)));
    let begin = address.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = address.split_at(begin);
    // An unencoded password may contain any of these characters: the last one ends it.
    let address = match rest.rsplit_once('@') {
        Some((credentials, host)) => {
            let masked = match credentials.split_once(':') {
                Some((user, _)) => format!("{user}:***"),
                None => credentials.to_owned(),
            };
            format!("{scheme}{masked}@{host}")
        }
        None => address.to_owned(),
    };
    let Some(query) = query else { return address };
    let parameters = query.split('&').map(|parameter| {
        let is_password = parameter.starts_with("password=");
        if is_password {
            "password=***"
        } else {
            parameter
        }
    });
    // A `?` in an unencoded password puts the rest of the password here.
    if query.contains('@') {
        return format!("{scheme}***");
    }
    format!("{address}?{}", parameters.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_postgres::config::TargetSessionAttrs;

    fn fault(text: &str) -> UrlError {
        DatabaseUrl::parse(text).expect_err("a fault")
    }

    #[test]
    fn a_url_is_shown_without_its_password() {
        let url = DatabaseUrl::parse("postgres://me:secret@db:5433/tintype?sslmode=require");
        let url = url.expect("a URL");
        assert_eq!(
            url.to_string(),
            "postgres://me:***@db:5433/tintype?sslmode=require"
        );
        assert!(!format!("{url:?}").contains("secret"));
        assert_eq!(url.tls, TlsMode::Require);
        assert_eq!(url.config.get_password(), Some(&b"secret"[..]));
    }

    #[test]
    fn every_form_of_a_password_is_masked() {
        for text in [
            "postgres://me:sec@ret@db/x",
            "postgres://me:sec:ret@db/x",
            "postgres://me:sec/ret@db/x",
            "postgres://me:sec?ret@db/x",
            "postgres://me:sec#ret@db/x",
            "postgres://db/x?password=secret&user=me",
            "me:secret@db/x",
        ] {
            let shown = mask_password(text);
            assert!(!shown.contains("sec") && !shown.contains("ret"), "{shown}");
            assert!(shown.contains("***"), "{shown}");
        }
        assert_eq!(mask_password("postgres://me@db/x"), "postgres://me@db/x");
    }

    #[test]
    fn the_environment_password_is_used_only_if_the_url_has_none() {
        let password = |text| {
            let url = DatabaseUrl::parse(text)
                .expect("a URL")
                .with_default_password("outside");
            String::from_utf8(url.config.get_password().expect("one").to_vec()).expect("text")
        };
        assert_eq!(password("postgres://me@db/x"), "outside");
        assert_eq!(password("postgres://me:inside@db/x"), "inside");
    }

    #[test]
    fn faults_of_a_url_are_named() {
        assert_eq!(fault("mysql://db/x"), UrlError::Scheme);
        assert_eq!(fault("postgres://me@db"), UrlError::NoDatabase);
        assert_eq!(fault("postgres://me@db:port/x"), UrlError::Form);
        assert_eq!(fault("postgres:///x"), UrlError::Form);
        assert_eq!(fault("postgres://db/x?sslmode=verify"), UrlError::SslMode);
        assert_eq!(
            fault("postgres://db/x?sslrootcert=/a"),
            UrlError::RootsUnused
        );
        assert_eq!(fault("postgres://db/x?pooler=yes"), UrlError::Pooler);
        assert_eq!(fault("postgres://db/x?options=-c"), UrlError::Parameter);
    }

    #[test]
    fn the_pooler_parameter_is_read() {
        let is_pooled = |text| DatabaseUrl::parse(text).expect("a URL").is_pooled;
        assert!(is_pooled("postgres://db/x?sslmode=disable&pooler=1"));
        assert!(!is_pooled("postgres://db/x?pooler=0"));
        assert!(!is_pooled("postgres://db/x"));
    }

    #[test]
    fn each_host_has_its_port_and_the_other_parameters() {
        let text = "postgres://me:secret@db1,db2:5433/x?target_session_attrs=read-write";
        let hosts = DatabaseUrl::parse(text).expect("a URL").of_hosts();
        let second = DatabaseUrl::parse("postgres://me:secret@db2:5433/x").expect("a URL");
        let mut expected = second.config;
        expected
            .connect_timeout(Duration::from_secs(1))
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        assert_eq!(hosts[1], expected);
        assert_eq!(hosts[0].get_hosts(), [Host::Tcp("db1".into())]);
        assert_eq!(hosts[0].get_ports(), [5432]);
        assert_eq!(fault("postgres:///x?host=a,b,c&port=1,2"), UrlError::Form);
    }

    #[test]
    fn a_host_that_others_can_replace_is_given_up_sooner() {
        let timeouts = |text| {
            let hosts = DatabaseUrl::parse(text).expect("a URL").of_hosts();
            let timeout = |it: &Config| it.get_connect_timeout().map(Duration::as_secs);
            hosts.iter().map(timeout).collect::<Vec<_>>()
        };
        assert_eq!(timeouts("postgres://db/x"), [Some(5)]);
        assert_eq!(timeouts("postgres://db1,db2/x"), [Some(1); 2]);
        let given = "postgres://db1,db2/x?connect_timeout=3";
        assert_eq!(timeouts(given), [Some(3); 2]);
    }

    #[test]
    fn a_url_can_name_a_socket_and_root_certificates() {
        let url =
            "postgresql:///x?host=/run/postgresql&sslmode=verify-full&sslrootcert=/etc/a%20b.pem";
        let url = DatabaseUrl::parse(url).expect("a URL");
        assert_eq!(url.tls, TlsMode::VerifyFull(Some("/etc/a b.pem".into())));
        assert_eq!(url.config.get_hosts().len(), 1);
    }
}
