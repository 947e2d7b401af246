//! The session's cookie: out of reach of scripts and of other sites.

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderValue};

const SECURE: &str = "__Host-tintype";
const PLAIN: &str = "tintype_panel";

/// The name: with the prefix that browsers hold to `Secure` and to this very host, where the service is reached by https.
fn name(public_url: &str) -> &'static str {
    if is_secure(public_url) { SECURE } else { PLAIN }
}

fn is_secure(public_url: &str) -> bool {
    public_url.starts_with("https://")
}

/// The value that the browser sends, where it sends exactly one.
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
    // Two of them mean that somebody has planted one.
    found.next().is_none().then_some(first)
}

/// `Set-Cookie` for a session, or, with an empty value, for none.
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
    fn is_bound_to_the_host_where_the_service_has_https() {
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
    fn a_second_one_of_the_name_is_no_session() {
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
