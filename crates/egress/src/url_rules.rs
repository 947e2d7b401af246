//! The rules for URLs from callers, applied before any lookup.

use url::{Host, Url};

pub const MAX_URL_CHARS: usize = 2_048;

/// Why a URL is refused. The texts complete a sentence that begins with the name of the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("must be 1 to {MAX_URL_CHARS} characters long")]
    Length,
    /// Case matters.
    #[error("must start with http:// or https://")]
    Scheme,
    /// URL parsers drop, fold or trim these characters in different ways.
    #[error("must not contain spaces, control characters or backslashes (percent-encode them)")]
    Character,
    /// `user:password@` before the host.
    #[error("must not contain a user name or password")]
    Credentials,
    /// No host, or one that is neither a name nor an address.
    #[error("has no valid host: {0}")]
    Host(String),
    #[error("must not name port 0")]
    Port,
    /// Another rule of the URL standard.
    #[error("is not a valid URL: {0}")]
    Syntax(url::ParseError),
}

/// Parses a URL from a caller.
///
/// Checks the raw text before the parser sees it, because the URL standard silently repairs text that parsers read differently: it
/// drops tabs and newlines, turns backslashes into slashes and trims spaces. Returns legacy spellings of addresses (`127.1`,
/// `0x7f.1`, `2130706433`, full-width digits) as the address that they mean.
///
/// # Errors
/// The first fault found, in the order of [`UrlError`]'s variants.
pub fn parse_url(text: &str) -> Result<Url, UrlError> {
    if text.is_empty() || text.chars().nth(MAX_URL_CHARS).is_some() {
        return Err(UrlError::Length);
    }
    let after_scheme = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))
        .ok_or(UrlError::Scheme)?;
    refuse_ambiguous(text)?;
    let authority = after_scheme
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    if authority.contains('@') {
        return Err(UrlError::Credentials);
    }
    if authority.is_empty() {
        // The parser skips the extra slashes of `http:///path` and takes `path` for the host.
        return Err(UrlError::Host("it is empty".to_owned()));
    }
    if authority.contains('%') && authority.starts_with('[') {
        return Err(UrlError::Host(
            "zone identifiers are valid on one machine only".to_owned(),
        ));
    }
    check_parsed(Url::parse(text).map_err(syntax)?)
}

/// Resolves the `Location` of a redirect against the redirecting URL, under the rules of [`parse_url`]. Relative references are
/// valid, and the case of the scheme does not matter.
pub fn resolve_location(base: &Url, location: &str) -> Result<Url, UrlError> {
    if location.chars().nth(MAX_URL_CHARS).is_some() {
        return Err(UrlError::Length);
    }
    refuse_ambiguous(location)?;
    let url = base.join(location).map_err(syntax)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlError::Scheme);
    }
    check_parsed(url)
}

fn refuse_ambiguous(text: &str) -> Result<(), UrlError> {
    let ambiguous = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if text.chars().any(ambiguous) {
        Err(UrlError::Character)
    } else {
        Ok(())
    }
}

fn check_parsed(url: Url) -> Result<Url, UrlError> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlError::Credentials);
    }
    match url.host() {
        None => return Err(UrlError::Host("it is empty".to_owned())),
        Some(Host::Domain(name)) if !is_name(name) => {
            return Err(UrlError::Host("it is not a valid DNS name".to_owned()));
        }
        Some(_) => {}
    }
    if url.port() == Some(0) {
        return Err(UrlError::Port);
    }
    Ok(url)
}

/// Accepts labels of 1 to 63 letters, digits, hyphens and underscores, 253 characters in all (RFC 1035 section 2.3.4), and one
/// trailing dot. The URL standard allows more, but no name server answers it.
fn is_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    name.len() <= 253
        && name
            .split('.')
            .all(|label| (1..=63).contains(&label.len()) && label.bytes().all(letter))
}

fn syntax(error: url::ParseError) -> UrlError {
    use url::ParseError::*;
    match error {
        EmptyHost
        | IdnaError
        | InvalidIpv4Address
        | InvalidIpv6Address
        | InvalidDomainCharacter => UrlError::Host(error.to_string()),
        other => UrlError::Syntax(other),
    }
}
