//! Calls the panel as a browser does: with the session cookie and the headers that its pages send.

use super::http::{Answer, Request};
use super::options::ADMIN_TOKEN;
use super::server::Server;
use serde_json::{Value, json};

/// The password of all test users.
pub const PASSWORD: &str = "a few words to keep";

/// A signed-in browser.
#[derive(Clone, Debug)]
pub struct Browser {
    cookie: String,
}

impl Browser {
    /// Takes the session cookie from the sign-in answer.
    #[track_caller]
    pub fn of(answer: &Answer) -> Self {
        let cookie = answer.header("set-cookie").expect("a cookie");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { cookie }
    }

    /// Builds a page's call on a path relative to `/panel/api`.
    pub fn call(&self, server: &Server, method: &str, path: &str) -> Request {
        server.panel(method, path).header("Cookie", &self.cookie)
    }
}

impl Server {
    /// Builds a page's call without a session.
    pub fn panel(&self, method: &str, path: &str) -> Request {
        let call = self.call(method, &format!("/panel/api{path}"));
        let origin = format!("http://{}", call.to());
        call.header("X-Tintype-Panel", "1")
            .header("Sec-Fetch-Site", "same-origin")
            .header("Origin", &origin)
    }

    pub fn operators_browser(&self) -> Browser {
        let sign_in = self.panel("POST", "/session/operator");
        Browser::of(&sign_in.json(&json!({"token": ADMIN_TOKEN})).expect(201))
    }

    /// Invites a person; returns the person and the token of the link.
    pub fn invite(&self, account: &str, email: &str, role: &str) -> (Value, String) {
        let path = format!("/accounts/{account}/people");
        let invite = self.operators_browser().call(self, "POST", &path);
        let body = json!({"email": email, "role": role});
        let person = invite.json(&body).expect(201).json();
        let url = person["invitation_url"].as_str().unwrap();
        let token = url.rsplit('/').next().unwrap().to_owned();
        (person, token)
    }

    /// A person of an account who has accepted an invitation.
    pub fn person(&self, account: &str, email: &str, role: &str) -> Browser {
        let (_, token) = self.invite(account, email, role);
        let body = json!({"token": token, "password": PASSWORD});
        let accept = self.panel("POST", "/invitation/accept");
        Browser::of(&accept.json(&body).expect(201))
    }

    pub fn sign_in(&self, email: &str, password: &str) -> Answer {
        let body = json!({"email": email, "password": password});
        self.panel("POST", "/session").json(&body).send()
    }
}
