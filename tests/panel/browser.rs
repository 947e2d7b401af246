//! A browser with an empty profile, and a person's actions in it.

use crate::service::TOKEN;
use base64::Engine as _;
use fantoccini::elements::Element;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use url::Url;

/// The timeout of every wait.
pub const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// A headless Chromium. Tests must end it with [`Browser::leave`], which reports its console errors.
pub struct Browser {
    pub client: Client,
    base: String,
    // Declared before the profile, so that it is dropped first: the browser writes to the profile until it ends.
    _driver: Driver,
    _profile: TempDir,
}

/// The chromedriver process. Dropping it ends the browser, also when a test fails.
struct Driver {
    process: Child,
    port: u16,
    session: Option<String>,
}

impl Driver {
    fn start() -> Self {
        let port = tintype_postgres::testing::free_port();
        let process = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver: install chromium-driver");
        Self {
            process,
            port,
            session: None,
        }
    }

    /// Ends the browser, which a killed driver leaves running. Does not use the client, whose runtime may be gone.
    fn end_session(&self) -> std::io::Result<()> {
        let Some(session) = &self.session else {
            return Ok(());
        };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let call = format!(
            "DELETE /session/{session} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
            self.port
        );
        stream.write_all(call.as_bytes())?;
        // The driver answers once the browser has ended, but keeps the connection open.
        stream.read(&mut [0; 1]).map(|_| ())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The browser or the driver may have exited already.
        let _ = self.end_session();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A Chromium command that WebDriver does not define.
#[derive(Debug)]
struct Extra(&'static str, Value);

impl WebDriverCompatibleCommand for Extra {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, url::ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.0
        ))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.1.to_string()))
    }
}

fn capabilities(profile: &TempDir) -> Map<String, Value> {
    let profile = format!("--user-data-dir={}", profile.path().display());
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1360,900",
        &profile,
    ];
    let wanted = json!({
        // Chromium's renderer without its window, menus and extensions: it starts in a quarter of the time.
        "browserName": "chrome-headless-shell",
        "timeouts": {"script": PATIENCE.as_millis() as u64},
        "goog:loggingPrefs": {"browser": "ALL"},
        "goog:chromeOptions": {"args": arguments, "binary": "/usr/bin/chromium-headless-shell"},
    });
    wanted.as_object().cloned().unwrap_or_default()
}

impl Browser {
    /// Starts a browser on an empty profile.
    pub async fn start(base: &str) -> Self {
        let profile = tempfile::tempdir().expect("a directory");
        let mut driver = Driver::start();
        let deadline = Instant::now() + PATIENCE;
        let address = format!("http://127.0.0.1:{}", driver.port);
        let client = loop {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            builder.capabilities(capabilities(&profile));
            match builder.connect(&address).await {
                Ok(client) => break client,
                Err(error) => assert!(Instant::now() < deadline, "no browser: {error}"),
            }
            tokio::time::sleep(POLL).await;
        };
        driver.session = client.session_id().await.expect("a session");
        Self {
            client,
            base: base.to_owned(),
            _driver: driver,
            _profile: profile,
        }
    }

    /// Opens a page of the panel; `place` is the fragment of its URL.
    pub async fn open(&self, place: &str) {
        let url = format!("{}/panel{place}", self.base);
        self.client.goto(&url).await.expect("a page");
    }

    /// Navigates to a page as a link would, and waits for it.
    pub async fn go(&self, place: &str, title: &str) {
        let script = "location.hash = arguments[0];";
        self.run(script, vec![json!(place)]).await;
        self.see("h1", title).await;
    }

    /// Waits for an element with this tag whose text contains these words; the title of a page that still loads does not count.
    pub async fn see(&self, tag: &str, words: &str) -> Element {
        let words = quoted(words);
        let path = format!(
            "//{tag}[contains(normalize-space(.), {words}) and not(ancestor::*[@class='loading'])]"
        );
        self.find(&path).await
    }

    /// Waits for the element at an XPath.
    pub async fn find(&self, path: &str) -> Element {
        let waiting = self.client.wait().at_most(PATIENCE).every(POLL);
        match waiting.for_element(Locator::XPath(path)).await {
            Ok(element) => element,
            Err(error) => {
                let (text, said) = (self.text().await, self.complaints().await);
                panic!("{path}: {error}; the browser says {said:?}, the page:\n{text}")
            }
        }
    }

    /// The visible text of the page.
    pub async fn text(&self) -> String {
        let text = self.run("return document.body.innerText;", vec![]).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks the button or link with exactly this text, in the topmost dialog if one is open.
    pub async fn press(&self, words: &str) {
        let words = quoted(words);
        let named = format!("[normalize-space(.)={words} or @aria-label={words}]");
        let path = format!("//button{named} | //a{named}");
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Pages redraw themselves, so an element may be gone a moment after the search.
            let found = self.client.find_all(Locator::XPath(&path)).await;
            for element in found.unwrap_or_default().into_iter().rev() {
                if element.click().await.is_ok() {
                    return;
                }
                self.scroll_to(&element).await;
            }
            if Instant::now() >= deadline {
                panic!("no {words} to press:\n{}", self.text().await);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Chooses an action from the menu of this row.
    pub async fn choose(&self, row: &str, action: &str) {
        self.press(&format!("More actions for {row}")).await;
        let open = "const shown = [...document.querySelectorAll('[popover]')].find((it) => it.matches(':popover-open'));
            const it = [...shown?.querySelectorAll('button') ?? []].find((it) => it.textContent === arguments[0]);
            it?.click();
            return Boolean(it);";
        let deadline = Instant::now() + PATIENCE;
        while self.run(open, vec![json!(action)]).await != json!(true) {
            assert!(
                Instant::now() < deadline,
                "no {action} in the menu of {row}"
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// Clicks the element at an XPath once it is clickable.
    pub async fn press_in(&self, path: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let element = self.find(path).await;
            if element.clone().click().await.is_ok() {
                return;
            }
            assert!(Instant::now() < deadline, "{path} cannot be pressed");
            self.scroll_to(&element).await;
            tokio::time::sleep(POLL).await;
        }
    }

    /// Scrolls the element to the middle: a sticky row may cover a visible element and intercept the click.
    async fn scroll_to(&self, element: &Element) {
        let script =
            "if (arguments[0].checkVisibility()) arguments[0].scrollIntoView({ block: 'center' });";
        let element = serde_json::to_value(element).expect("a reference");
        // The element may be gone.
        let _ = self.client.execute(script, vec![element]).await;
    }

    /// Replaces the text of the field with this name, in the topmost dialog if one is open.
    pub async fn fill(&self, name: &str, text: &str) {
        let path = format!("(//*[@name={}])[last()]", quoted(name));
        let element = self.find(&path).await;
        element.clear().await.expect("an empty field");
        element.send_keys(text).await.expect("a field to type into");
    }

    /// Runs a script in the page.
    pub async fn run(&self, script: &str, arguments: Vec<Value>) -> Value {
        let ran = self.client.execute(script, arguments).await;
        ran.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a script returns this value.
    pub async fn comes_to(&self, script: &str, expected: Value) {
        let began = Instant::now();
        loop {
            let found = self.run(script, vec![]).await;
            if found == expected {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{script}: {found}");
            tokio::time::sleep(POLL).await;
        }
    }

    /// Sends a command of the DevTools protocol.
    pub async fn tools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        let answer = self.client.issue_cmd(Extra("goog/cdp/execute", body)).await;
        answer.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// A screenshot of the viewport.
    pub async fn screen(&self) -> Vec<u8> {
        self.capture(json!({"format": "png"})).await
    }

    /// A screenshot of the whole page.
    pub async fn screenshot(&self) -> Vec<u8> {
        let size = self.tools("Page.getLayoutMetrics", json!({})).await["cssContentSize"].take();
        let clip =
            json!({"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1});
        self.capture(json!({"format": "png", "optimizeForSpeed": true, "captureBeyondViewport": true, "clip": clip}))
            .await
    }

    async fn capture(&self, how: Value) -> Vec<u8> {
        let taken = self.tools("Page.captureScreenshot", how).await;
        let text = taken["data"].as_str().expect("a screenshot");
        let bytes = base64::engine::general_purpose::STANDARD.decode(text);
        bytes.expect("base64")
    }

    /// Signs in as the operator from the sign-in page.
    pub async fn sign_in_as_operator(&self) {
        self.open("").await;
        self.see("h1", "Sign in").await;
        // The form of the operator is first while the service has no people.
        let other = "if (!document.querySelector('[name=token]')) document.querySelector('.door .quiet').click();";
        self.run(other, vec![]).await;
        self.fill("token", TOKEN).await;
        self.press("Sign in").await;
        self.see("h1", "Overview").await;
    }

    /// Creates the link of the open dialog of an invitation, and returns the path in it.
    pub async fn create_invitation(&self) -> String {
        self.press("Create link").await;
        let link = self.find("//dialog//div[@class='secret']/code").await;
        let link = link.text().await.unwrap();
        self.press("Done").await;
        let (_, path) = link.split_once('#').unwrap();
        path.to_owned()
    }

    /// Signs out, and opens the link of an invitation.
    pub async fn follow_invitation(&self, path: &str) {
        self.press("Sign out").await;
        self.see("h1", "Sign in").await;
        self.open(&format!("#{path}")).await;
        self.client.refresh().await.unwrap();
        self.see("h1", "Welcome").await;
    }

    /// The console errors since the last call: violations of the content security policy, and failed scripts.
    pub async fn complaints(&self) -> Vec<String> {
        let said = self
            .client
            .issue_cmd(Extra("se/log", json!({"type": "browser"})))
            .await
            .expect("the browser's log");
        let said = said.as_array().cloned().unwrap_or_default();
        said.iter()
            .filter(|it| it["level"] == "SEVERE")
            .map(|it| it["message"].to_string())
            // The console also logs failed calls, which some tests provoke.
            .filter(|it| !it.contains("Failed to load resource"))
            .collect()
    }

    /// Ends the browser. Panics if a page violated the policy or a script failed.
    pub async fn leave(self) {
        let complaints = self.complaints().await;
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
        self.client.clone().close().await.expect("an orderly end");
    }
}

/// Quotes a text for XPath.
fn quoted(text: &str) -> String {
    assert!(!text.contains('\''), "{text}");
    format!("'{text}'")
}

#[cfg(target_os = "linux")]
#[test]
fn a_browser_that_is_not_closed_is_ended_with_its_test() {
    if !crate::is_enabled() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let browser = runtime.block_on(Browser::start("http://127.0.0.1:9"));
    let profile = browser._profile.path().display().to_string();
    assert!(
        is_process_running(&profile),
        "the browser is not found by {profile}"
    );
    drop(browser);
    let deadline = Instant::now() + PATIENCE;
    while is_process_running(&profile) {
        assert!(Instant::now() < deadline, "a browser runs with {profile}");
        std::thread::sleep(POLL);
    }
}

/// Whether a process with these words among its arguments is running.
#[cfg(target_os = "linux")]
fn is_process_running(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("the processes");
    processes.flatten().any(|it| {
        let arguments = std::fs::read(it.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(words)
    })
}
