//! The results of testing a backend with cheap calls that generate no image.

/// The results of a probe, for the operator. No line holds a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub works: Vec<String>,
    /// Each line names the failure and its reason.
    pub fails: Vec<String>,
}

impl Findings {
    pub fn works(&mut self, what: impl Into<String>) {
        self.works.push(what.into());
    }

    pub fn fails(&mut self, what: impl Into<String>) {
        self.fails.push(what.into());
    }

    /// Reports whether the server lists something that the configuration names.
    pub fn listed(&mut self, what: &str, name: &str, is_listed: bool) {
        match is_listed {
            true => self.works(format!("{what} {name}")),
            false => self.fails(format!("{what} {name}: the server does not list it")),
        }
    }
}
