//! The pages behind a proxy that serves them under a path prefix.

use crate::browse_at;
use crate::browser::Browser;
use crate::service::Service;
use serde_json::json;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

const PREFIX: &str = "/pictures/tintype";

/// Starts a proxy that removes the prefix, and returns the URL of the service behind it.
fn serve_under_prefix(service: &str) -> String {
    let target = service.trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for browser in listener.incoming().flatten() {
            let target = target.clone();
            // A browser may leave at any time.
            thread::spawn(move || forward(browser, &target).ok());
        }
    });
    format!("http://{address}{PREFIX}")
}

/// Forwards one request. `Connection: close` makes it the only one of its connection.
fn forward(mut browser: TcpStream, target: &str) -> io::Result<()> {
    let mut request = BufReader::new(browser.try_clone()?);
    let mut line = String::new();
    request.read_line(&mut line)?;
    let Some((method, rest)) = line.split_once(PREFIX) else {
        let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return browser.write_all(missing.as_bytes());
    };
    let mut head = format!("{method}{rest}Connection: close\r\n");
    loop {
        line.clear();
        request.read_line(&mut line)?;
        if !line.to_ascii_lowercase().starts_with("connection:") {
            head += &line;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut service = TcpStream::connect(target)?;
    service.write_all(head.as_bytes())?;
    let mut body = service.try_clone()?;
    thread::spawn(move || {
        let sent = io::copy(&mut request, &mut body);
        // The service learns that the browser has left.
        sent.and_then(|_| body.shutdown(Shutdown::Write)).ok()
    });
    io::copy(&mut service, &mut browser)?;
    browser.shutdown(Shutdown::Both)
}

/// Asserts that the page has requested nothing outside the prefix.
async fn assert_under_prefix(browser: &Browser) {
    let outside = "return performance.getEntriesByType('resource').map((it) => new URL(it.name))
        .filter((it) => it.protocol === 'http:' && !it.pathname.startsWith(arguments[0])).map((it) => it.href);";
    let prefix = format!("{PREFIX}/");
    let outside = browser.run(outside, vec![json!(prefix)]).await;
    assert_eq!(outside, json!([]));
}

#[test]
fn all_pages_work_under_a_path_prefix() {
    if !crate::is_enabled() {
        return;
    }
    let mut service = Service::start(&[]);
    service.url = serve_under_prefix(&service.url);
    browse_at(service, |service, browser| async move {
        browser.open("/").await;
        browser.see("h1", "Sign in").await;
        browser.sign_in_as_operator().await;
        browser.go("#/playground", "Playground").await;
        browser.fill("prompt", "a fox").await;
        browser.press("Generate").await;
        browser.see("p", "generated in").await;
        let shown =
            "return document.querySelector('img[alt=\"Image of: a fox\"]')?.naturalWidth > 0;";
        browser.comes_to(shown, json!(true)).await;
        assert_under_prefix(&browser).await;

        browser.press("API reference").await;
        let call = "//article[@id='createFastFromText']";
        browser
            .press_in(&format!("{call}//summary[.='Try it']"))
            .await;
        browser.press_in(&format!("{call}//button[.='Send']")).await;
        browser
            .find(&format!("{call}//p[@class='came']/span[.='401']"))
            .await;
        let sample = "return document.querySelector('#createFastFromText .sample').textContent;";
        let sample = browser.run(sample, vec![]).await.to_string();
        let url = format!("{}/api/v1/", service.url);
        assert!(sample.contains(&url), "{sample}");
        assert_under_prefix(&browser).await;

        browser.press("Open the panel").await;
        browser.see("h1", "Overview").await;
        let status = format!("{}/status", service.url);
        browser.client.goto(&status).await.expect("a page");
        browser.see("p", "All models accept jobs.").await;
        assert_under_prefix(&browser).await;
        browser.press("Panel").await;
        browser.see("h1", "Overview").await;
        browser.leave().await;
        drop(service);
    });
}
