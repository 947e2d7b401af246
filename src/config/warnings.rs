//! What is allowed, and hardly meant.

use std::time::Duration;

use super::tier::Tier;
use super::{Backend, Config};

/// One try of a back end that has no time-out of its own.
const BUILTIN_TIMEOUT: Duration = Duration::from_secs(300);

impl Backend {
    /// The bound of one try.
    pub fn timeout(&self) -> Duration {
        self.remote().map_or(BUILTIN_TIMEOUT, |it| it.timeout())
    }

    /// How many more tries follow a transient fault.
    pub fn retries(&self) -> u32 {
        self.remote().map_or(0, |it| it.retries)
    }
}

impl Config {
    /// Sentences for the operator, one for each thing that will not do what it looks like.
    pub fn warnings(&self) -> Vec<String> {
        let tiers = self.tiers.iter().into_iter();
        let unreached = tiers.filter_map(|(name, tier)| self.unreached(name, tier));
        self.in_the_clear().into_iter().chain(unreached).collect()
    }

    /// A listener that other machines reach, without a word of https.
    fn in_the_clear(&self) -> Option<String> {
        let listen = &self.server.listen;
        let url = self.server.public_url.as_deref();
        let is_https = url.is_some_and(|it| it.starts_with("https://"));
        (!listen.is_loopback() && !is_https).then(|| {
            format!(
                "other machines reach `{listen}`, and `[server] public_url` does not begin with https://: keys and passwords cross \
                 the network unencrypted, and the panel's cookies lack `Secure`. Put a proxy with TLS in front, and set public_url"
            )
        })
    }

    /// A tier whose last back end is never reached when those before it hang.
    fn unreached(&self, name: &str, tier: &Tier) -> Option<String> {
        let entries = tier.backends.iter();
        let all = entries.filter_map(|it| self.backends.get(&it.name));
        let needed: Duration = all.map(|it| it.timeout() * (it.retries() + 1)).sum();
        let bound = self.jobs.timeout();
        (needed > bound).then(|| {
            format!(
                "the tier {name} may try for {} s (`timeout_seconds` times `retries` + 1, over its back ends), and \
                 `[jobs] timeout_seconds` ends a run after {} s: behind back ends that hang the last are not reached",
                needed.as_secs(),
                bound.as_secs()
            )
        })
    }
}
