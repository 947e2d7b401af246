//! Panel sign-in: passwords, invitations, the cookie, and the end of a session.

use crate::support::panel::PASSWORD;
use crate::support::{Browser, Options, Server, until};
use serde_json::json;
use std::time::Duration;
use tintype_storage::domain::person::Session;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::All;
use tintype_storage::store::tables::SESSIONS;

const HOUR: Duration = Duration::from_secs(3_600);

fn status_of(server: &Server, browser: &Browser) -> u16 {
    browser.call(server, "GET", "/session").send().status
}

#[test]
fn the_cookie_is_inaccessible_to_scripts_and_other_sites() {
    let server = Server::start();
    let body = json!({"token": crate::support::options::ADMIN_TOKEN});
    let answer = server
        .panel("POST", "/session/operator")
        .json(&body)
        .expect(201);
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("tintype_panel="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Max-Age=1209600; HttpOnly; SameSite=Strict"));
    let server = Server::with(Options::new().set("server.public_url", "https://pictures.example"));
    let answer = server
        .panel("POST", "/session/operator")
        .json(&body)
        .expect(201);
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-tintype="), "{cookie}");
    assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Secure"));
}

#[test]
fn an_invitation_is_valid_once_and_for_a_week() {
    let server = Server::start();
    let account = server.customer("1").account;
    let people = || server.panel("GET", "/sign-in").expect(200).json();
    assert_eq!(people(), json!({"has_people": false}));
    let (person, token) = server.invite(&account, "Ada@Example.com", "owner");
    assert_eq!(people(), json!({"has_people": true}));
    assert_eq!(person["email"], "ada@example.com");
    assert_eq!(person["status"], "invited");
    let look = |token: &str| {
        server
            .panel("POST", "/invitation")
            .json(&json!({"token": token}))
    };
    assert_eq!(look(&token).expect(200).json()["email"], "ada@example.com");
    let accept = |token: &str, password: &str| {
        let body = json!({"token": token, "password": password});
        server.panel("POST", "/invitation/accept").json(&body)
    };
    accept(&token, "short").invalid(&["password"]);
    accept(&token, PASSWORD).expect(201);
    accept(&token, PASSWORD).refused(410, "gone");
    look(&token).refused(410, "gone");
    look("nonsense").refused(410, "gone");
    let (_, late) = server.invite(&account, "late@example.com", "viewer");
    server.clock.advance(HOUR * 24 * 7);
    accept(&late, PASSWORD).refused(410, "gone");
    let twice = format!("/accounts/{account}/people");
    let twice = server.operators_browser().call(&server, "POST", &twice);
    let body = json!({"email": "ada@example.com", "role": "owner"});
    twice.json(&body).refused(409, "conflict");
}

#[test]
fn a_wrong_password_and_an_unknown_person_get_the_same_error() {
    let server = Server::start();
    let account = server.customer("1").account;
    server.person(&account, "ada@example.com", "owner");
    assert_eq!(server.sign_in("ADA@example.com ", PASSWORD).status, 201);
    let wrong = server.sign_in("ada@example.com", "wrong");
    wrong.assert_problem(401, "unauthorized");
    let unknown = server.sign_in("nobody@example.com", "wrong");
    assert_eq!(wrong.json()["detail"], unknown.json()["detail"]);
}

#[test]
fn use_prolongs_a_session_up_to_its_age() {
    let server = Server::start();
    let browser = server.operators_browser();
    let last_use = || {
        let mut last = None;
        let note = |_, session: Session| {
            last = last.max(Some(session.seen_at));
            Ok(())
        };
        let read = SESSIONS.each(&server.inside().store, &All, note);
        read.wait().expect("readable");
        last
    };
    // Two weeks, in steps shorter than the idle timeout of a session.
    for _ in 0..30 {
        server.clock.advance(HOUR * 11);
        assert_eq!(status_of(&server, &browser), 200);
        let now = Some(server.inside().now());
        until("the use is written down", || last_use() == now);
    }
    server.clock.advance(HOUR * 6);
    assert_eq!(status_of(&server, &browser), 401);
}

#[test]
fn a_session_ends_by_signing_out_and_by_idleness() {
    let server = Server::start();
    let [first, second] = [server.operators_browser(), server.operators_browser()];
    assert_eq!(
        first.call(&server, "DELETE", "/session").expect(204).status,
        204
    );
    assert_eq!(status_of(&server, &first), 401);
    assert_eq!(status_of(&server, &second), 200);
    server.clock.advance(HOUR * 12);
    assert_eq!(status_of(&server, &second), 401);
}

#[test]
fn signing_out_everywhere_ends_only_the_sessions_of_that_person() {
    let server = Server::start();
    let account = server.customer("1").account;
    let first = server.person(&account, "ada@example.com", "owner");
    let second = Browser::of(&server.sign_in("ada@example.com", PASSWORD));
    let other = server.person(&account, "bob@example.com", "owner");
    let operator = server.operators_browser();
    first.call(&server, "DELETE", "/sessions").expect(204);
    assert_eq!(status_of(&server, &first), 401);
    assert_eq!(status_of(&server, &second), 401);
    assert_eq!(status_of(&server, &other), 200);
    assert_eq!(status_of(&server, &operator), 200);
    operator.call(&server, "DELETE", "/sessions").expect(204);
    assert_eq!(status_of(&server, &operator), 401);
    assert_eq!(status_of(&server, &other), 200);
}

#[test]
fn a_new_password_ends_the_other_sessions() {
    let server = Server::start();
    let account = server.customer("1").account;
    let old = server.person(&account, "ada@example.com", "viewer");
    let change = |current: &str| {
        let body = json!({"current_password": current, "password": "other words to keep"});
        old.call(&server, "POST", "/session/password").json(&body)
    };
    change("wrong").invalid(&["current_password"]);
    let new = Browser::of(&change(PASSWORD).expect(201));
    assert_eq!(status_of(&server, &old), 401);
    assert_eq!(status_of(&server, &new), 200);
    assert_eq!(server.sign_in("ada@example.com", PASSWORD).status, 401);
    let signed_in = server.sign_in("ada@example.com", "other words to keep");
    assert_eq!(signed_in.status, 201);
}

#[test]
fn a_removed_person_is_signed_out_at_once_and_sessions_survive_a_restart() {
    let server = Server::with(Options::new().on_disk());
    let account = server.customer("1").account;
    let (person, token) = server.invite(&account, "ada@example.com", "owner");
    let body = json!({"token": token, "password": PASSWORD});
    let accept = server.panel("POST", "/invitation/accept").json(&body);
    let ada = Browser::of(&accept.expect(201));
    let server = server.restart();
    assert_eq!(status_of(&server, &ada), 200);
    let path = format!(
        "/accounts/{account}/people/{}",
        person["person_id"].as_str().unwrap()
    );
    let remove = server.operators_browser().call(&server, "DELETE", &path);
    remove.expect(204);
    assert_eq!(status_of(&server, &ada), 401);
    assert_eq!(server.sign_in("ada@example.com", PASSWORD).status, 401);
    server.assert_settled();
}

#[test]
fn another_operator_token_ends_the_sessions_of_the_earlier_one() {
    let server = Server::with(Options::new().on_disk());
    let browser = server.operators_browser();
    let server = server.restart();
    assert_eq!(status_of(&server, &browser), 200);
    let other = "another-admin-token-of-the-tests-0123456";
    let server = Server::with(server.stop().set("admin.token", other));
    assert_eq!(status_of(&server, &browser), 401);
}

#[test]
fn a_call_with_another_method_is_405_and_names_the_methods() {
    let server = Server::start();
    for (path, allow) in [
        ("/session", "DELETE, GET, POST"),
        ("/session/operator", "POST"),
        ("/accounts/x/keys", "GET, POST"),
    ] {
        for method in ["HEAD", "PUT", "OPTIONS"] {
            let answer = server.panel(method, path).expect(405);
            assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
        }
    }
}

/// A load balancer may send the calls of one page to nodes with different versions.
#[test]
fn the_panel_names_its_assets_below_their_tag_and_no_other_tag_is_served() {
    let server = Server::start();
    let page = server.get("/panel").expect(200);
    let tag = page.header("etag").unwrap().trim_matches('"').to_owned();
    let html = page.text();
    let named: Vec<&str> = html
        .split(['"'])
        .filter(|it| it.starts_with("panel/"))
        .collect();
    let (tagged, rest): (Vec<&str>, Vec<&str>) = named
        .into_iter()
        .partition(|it| it.starts_with(&format!("panel/{tag}/")));
    // Every version serves this one: it reloads the page if the others are missing.
    assert_eq!(rest, ["panel/assets/startup.js"]);
    assert!(tagged.len() > 5, "{html}");
    for path in tagged.into_iter().chain(rest) {
        let file = server.get(&format!("/{path}")).expect(200);
        assert_eq!(file.header("cache-control"), Some("no-cache"), "{path}");
    }
    let foreign = "0".repeat(tag.len());
    let missing = server.get(&format!("/panel/{foreign}/app.js")).expect(404);
    assert_eq!(missing.header("cache-control"), Some("no-store"));
    let missing = server.get(&format!("/panel/{tag}/no.js")).expect(404);
    assert_eq!(missing.header("cache-control"), Some("no-store"));
}

#[test]
fn the_pages_have_a_strict_content_security_policy() {
    let server = Server::start();
    for path in ["/panel", "/panel/assets/app.js"] {
        let answer = server.get(path).send();
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    for path in ["/panel/assets/no.js", "/docs/assets/no.js"] {
        server.get(path).refused(404, "not_found");
    }
    let first = server.get("/panel/assets/app.js").expect(200);
    let tag = first.header("etag").unwrap();
    let again = server
        .get("/panel/assets/app.js")
        .header("If-None-Match", tag);
    assert_eq!(again.expect(304).body, b"");
}
