//! What a back end says when it is asked whether it works, without making a picture.

use futures_util::future::LocalBoxFuture;

/// What was found out. No line holds a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What works.
    pub works: Vec<String>,
    /// What does not, and why.
    pub fails: Vec<String>,
}

impl Findings {
    /// Notes what works.
    pub fn works(&mut self, what: impl Into<String>) {
        self.works.push(what.into());
    }

    /// Notes what does not, and why.
    pub fn fails(&mut self, what: impl Into<String>) {
        self.fails.push(what.into());
    }
}

/// Asks a back end by a call that is cheap and makes nothing.
pub trait Probe {
    /// Asks for the models that the tiers will ask it for; they may be none.
    fn probe(&self, models: Vec<String>) -> LocalBoxFuture<'static, Findings>;
}
