//! The session cookie: hidden from scripts and from other sites.

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderValue};

const SECURE: &str = "__Host-tintype";
const PLAIN: &str = "tintype_panel";

/// Over https the name has the `__Host-` prefix: browsers then require `Secure` and bind the cookie to this host.
fn name(public_url: &str) -> &'static str {
    if is_secure(public_url) { SECURE } else { PLAIN }
}

fn is_secure(public_url: &str) -> bool {
    public_url.starts_with("https://")
}

/// The value of the cookie, if the browser sends exactly one.
pub fn read(request: &HttpRequest, public_url: &str) -> Option<String> {
    let name = name(public_url);
    let headers = request.headers().get_all(header::COOKIE);
    let mut found = headers
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(it, _)| *it == name)
        .map(|(_, value)| value.to_owned());
    let first = found.next()?;
    // With two cookies of this name, an attacker may have set one.
    found.next().is_none().then_some(first)
}

/// A `Set-Cookie` header; an empty value deletes the cookie. `max_age` is in seconds.
pub fn write(public_url: &str, value: &str, max_age: u64) -> HeaderValue {
    let secure = if is_secure(public_url) {
        "; Secure"
    } else {
        ""
    };
    let text = format!(
        "{}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Strict{secure}",
        name(public_url)
    );
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    #[test]
    fn the_cookie_is_bound_to_the_host_over_https() {
        let written = write("https://pictures.example", "v", 60);
        assert_eq!(
            written.to_str().unwrap(),
            "__Host-tintype=v; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure"
        );
        let written = write("http://127.0.0.1:8080", "", 0);
        assert_eq!(
            written.to_str().unwrap(),
            "tintype_panel=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
        );
    }

    #[test]
    fn two_cookies_of_the_same_name_are_rejected() {
        let url = "http://a";
        let request = |cookie: &str| {
            TestRequest::default()
                .insert_header((header::COOKIE, cookie))
                .to_http_request()
        };
        let one = request("x=1; tintype_panel=v; y=2");
        assert_eq!(read(&one, url).as_deref(), Some("v"));
        assert_eq!(read(&one, "https://a"), None);
        let two = request("tintype_panel=v; tintype_panel=w");
        assert_eq!(read(&two, url), None);
    }
}
