//! Addresses in the configuration: listen addresses, base URLs, bucket URLs and IP ranges.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use serde::{Serialize, Serializer};
use tintype_egress::parse_url;
use url::{Host, Url};

/// `host:port` to listen on. The host is an IP address (IPv6 in brackets) or a name, which is resolved when the socket is bound.
/// Port 0 lets the system choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listen {
    host: String,
    port: u16,
}

impl Listen {
    /// The host without brackets, and the port, for `ToSocketAddrs`.
    pub fn host_and_port(&self) -> (&str, u16) {
        (self.host.trim_matches(['[', ']']), self.port)
    }

    /// `host:port` for a client on this machine: replaces the wildcard address by the loopback address.
    pub(crate) fn reachable(&self) -> String {
        let host = match self.host.as_str() {
            "0.0.0.0" => "127.0.0.1",
            "[::]" => "[::1]",
            host => host,
        };
        format!("{host}:{}", self.port)
    }

    /// Can only this machine connect? Names are not resolved: `localhost` counts as loopback, every other name does not.
    pub(crate) fn is_loopback(&self) -> bool {
        let address = self.host.trim_matches(['[', ']']).parse::<IpAddr>();
        address.map_or(self.host == "localhost", |it| it.is_loopback())
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let expected = || "host:port such as \"127.0.0.1:8080\"".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
        let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port = digits.then(|| port.parse().ok()).flatten();
        let host = match Host::parse(host) {
            Ok(host) if host.to_string().len() <= 255 => host.to_string(),
            _ => return Err(expected()),
        };
        Ok(Self {
            host,
            port: port.ok_or_else(expected)?,
        })
    }
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Self {
        let host = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        Self {
            host,
            port: address.port(),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Serialize for Listen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An `http` or `https` URL that paths are appended to. Removes the slash at its end. Refuses a user name or password, because
/// such URLs appear in logs and responses.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    let expected = "a URL that begins with http:// or https://";
    let url = Url::parse(text).map_err(|error| format!("{expected} ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") || !text.contains("://") {
        return Err(expected.to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{expected}, without a user name or password in it"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("{expected}, without `?` or `#`"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// The URL of the operator's webhook, under the rules for customers' webhooks. The operator may use any address.
pub(super) fn webhook_url(text: &str) -> Result<String, String> {
    let fault = |fault| format!("a URL that begins with http:// or https://; this one {fault}");
    parse_url(text).map(|_| text.to_owned()).map_err(fault)
}

/// A bucket: `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.
pub(super) fn bucket_url(text: &str) -> Result<Url, String> {
    let expected = "s3://bucket/prefix, gs://bucket/prefix or az://container/prefix; empty keeps objects in data_dir";
    let url = Url::parse(text).map_err(|_| expected.to_owned())?;
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    if !matches!(url.scheme(), "s3" | "gs" | "az") || url.host_str().is_none_or(str::is_empty) {
        return Err(expected.to_owned());
    }
    if has_credentials || url.port().is_some() || url.query().is_some() || url.fragment().is_some()
    {
        return Err(format!(
            "{expected}; only a bucket and a prefix, since credentials come from the environment"
        ));
    }
    Ok(url)
}

/// A range of addresses (`127.0.0.0/8`), or a single address.
pub(super) fn range(text: &str) -> Result<IpNet, String> {
    text.parse::<IpNet>()
        .map(|net| net.trunc())
        .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
        .map_err(|_| "a range of addresses such as \"10.0.0.0/8\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_takes_addresses_and_names_with_a_port() {
        for good in [
            "127.0.0.1:8080",
            "localhost:0",
            "[::1]:65535",
            "0.0.0.0:80",
            "my-host.example:1",
        ] {
            assert_eq!(Listen::parse(good).unwrap().to_string(), good);
        }
        let bad = [
            "",
            ":",
            ":8080",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:65536",
            "127.0.0.1:+80",
            "::1:80",
            "http://127.0.0.1:80",
            "a b:80",
            "127.0.0.1:80/",
            "[::1:80",
            "127.0.0.1:8 ",
            "\u{0}:80",
        ];
        for bad in bad {
            assert!(Listen::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_wildcard_address_is_reached_over_loopback() {
        assert_eq!(
            Listen::parse("0.0.0.0:81").unwrap().reachable(),
            "127.0.0.1:81"
        );
        assert_eq!(Listen::parse("[::]:81").unwrap().reachable(), "[::1]:81");
        assert_eq!(
            Listen::parse("localhost:81").unwrap().reachable(),
            "localhost:81"
        );
        let bound: SocketAddr = "0.0.0.0:4242".parse().unwrap();
        assert_eq!(Listen::from(bound).reachable(), "127.0.0.1:4242");
        assert_eq!(
            Listen::parse("[::1]:81").unwrap().host_and_port(),
            ("::1", 81)
        );
    }

    #[test]
    fn base_urls_lose_their_trailing_slash_and_may_not_contain_credentials() {
        assert_eq!(
            base_url("https://pictures.example/").unwrap(),
            "https://pictures.example"
        );
        assert_eq!(
            base_url("http://127.0.0.1:8000/v1/").unwrap(),
            "http://127.0.0.1:8000/v1"
        );
        for bad in [
            "",
            "pictures.example",
            "ftp://a",
            "http:a",
            "http://",
            "http://u:pw@a",
            "http://a?b",
            "http://a#b",
        ] {
            let error = base_url(bad).unwrap_err();
            assert!(!error.contains("pw"), "{error}");
        }
    }

    #[test]
    fn object_store_urls_name_a_bucket_of_a_known_kind() {
        for good in [
            "s3://bucket",
            "s3://bucket/a/b",
            "gs://b/p",
            "az://container/p",
        ] {
            assert_eq!(bucket_url(good).unwrap().as_str(), good);
        }
        for bad in [
            "/var/objects",
            "s3://",
            "s3:bucket",
            "http://bucket/",
            "s3://k:s@bucket/p",
            "s3://b/p?region=x",
        ] {
            assert!(bucket_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_are_networks_or_single_addresses() {
        assert_eq!(range("10.1.2.3/8").unwrap().to_string(), "10.0.0.0/8");
        assert_eq!(range("::1").unwrap().to_string(), "::1/128");
        for bad in ["", "10.0.0.0/33", "localhost", "*"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
