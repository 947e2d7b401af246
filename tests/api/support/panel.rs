//! The panel as a browser calls it: with a session's cookie and the header that its pages send.

use super::http::{Answer, Request};
use super::options::ADMIN_TOKEN;
use super::server::Server;
use serde_json::{Value, json};

/// What every password of the tests is.
pub const PASSWORD: &str = "a few words to keep";

/// A browser that has signed in.
#[derive(Clone, Debug)]
pub struct Browser {
    cookie: String,
}

impl Browser {
    /// Takes the session's cookie from the answer that began it.
    #[track_caller]
    pub fn of(answer: &Answer) -> Self {
        let cookie = answer.header("set-cookie").expect("a cookie");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { cookie }
    }

    /// A call on a path below `/panel/api`, as a page makes it.
    pub fn call(&self, server: &Server, method: &str, path: &str) -> Request {
        server.panel(method, path).header("Cookie", &self.cookie)
    }
}

impl Server {
    /// A page's call without a session.
    pub fn panel(&self, method: &str, path: &str) -> Request {
        let call = self.call(method, &format!("/panel/api{path}"));
        let origin = format!("http://{}", call.to());
        call.header("X-Tintype-Panel", "1")
            .header("Sec-Fetch-Site", "same-origin")
            .header("Origin", &origin)
    }

    /// The operator, signed in.
    pub fn operators_browser(&self) -> Browser {
        let sign_in = self.panel("POST", "/session/operator");
        Browser::of(&sign_in.json(&json!({"token": ADMIN_TOKEN})).expect(201))
    }

    /// Invites somebody; returns the person with the token of the link.
    pub fn invite(&self, account: &str, email: &str, role: &str) -> (Value, String) {
        let path = format!("/accounts/{account}/people");
        let invite = self.operators_browser().call(self, "POST", &path);
        let body = json!({"email": email, "role": role});
        let person = invite.json(&body).expect(201).json();
        let url = person["invitation_url"].as_str().unwrap();
        let token = url.rsplit('/').next().unwrap().to_owned();
        (person, token)
    }

    /// A person of an account who has taken up an invitation.
    pub fn person(&self, account: &str, email: &str, role: &str) -> Browser {
        let (_, token) = self.invite(account, email, role);
        let body = json!({"token": token, "password": PASSWORD});
        let accept = self.panel("POST", "/invitation/accept");
        Browser::of(&accept.json(&body).expect(201))
    }

    /// Tries to sign in.
    pub fn sign_in(&self, email: &str, password: &str) -> Answer {
        let body = json!({"email": email, "password": password});
        self.panel("POST", "/session").json(&body).send()
    }
}
