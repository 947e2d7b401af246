//! How often somebody may try to sign in: per address and per e-mail address, so that neither one guesser nor many wear a
//! password down.

use crate::application::state::AppState;
use crate::web::client_address::client_address;
use crate::web::problem::{Code, Problem};
use actix_web::HttpRequest;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

/// The span over which attempts count.
const WINDOW: Duration = Duration::from_secs(900);
/// Failed attempts from one address in that time.
const PER_ADDRESS: u32 = 30;
/// Failed attempts for one e-mail address in that time.
const PER_EMAIL: u32 = 10;
/// Names that are remembered; past this the ones whose time is over are dropped, and then all.
const CAPACITY: usize = 50_000;

/// Who tries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Trier {
    Address([u8; 16]),
    Email(String),
}

/// Attempts that have failed, or are on their way.
#[derive(Default)]
pub struct Attempts {
    counts: Mutex<HashMap<Trier, (Timestamp, u32)>>,
}

/// One attempt on its way. It counts as failed unless it is told otherwise.
pub struct Attempt<'a> {
    attempts: &'a Attempts,
    triers: Vec<Trier>,
}

impl Attempts {
    /// Begins an attempt. Counted before it is decided, so that attempts at the same time do not pass the bound.
    ///
    /// Behind proxies that the operator trusts it is the client's address that counts; where those say nothing that is one,
    /// the proxy's own: somebody who is unknown is still one of few.
    ///
    /// # Errors
    /// 429 when there were too many.
    pub fn begin(
        &self,
        request: &HttpRequest,
        state: &AppState,
        email: Option<&str>,
    ) -> Result<Attempt<'_>, Problem> {
        let peer = || request.peer_addr().map(|it| it.ip());
        let address = client_address(request, &state.config.server.trusted_proxies);
        self.count(address.or_else(peer), email, state.now())
    }

    fn count(
        &self,
        address: Option<IpAddr>,
        email: Option<&str>,
        now: Timestamp,
    ) -> Result<Attempt<'_>, Problem> {
        let triers: Vec<Trier> = address
            .map(|it| Trier::Address(network(it)))
            .into_iter()
            .chain(email.map(|it| Trier::Email(it.to_owned())))
            .collect();
        let mut counts = self.counts.lock();
        for trier in &triers {
            let most = match trier {
                Trier::Address(_) => PER_ADDRESS,
                Trier::Email(_) => PER_EMAIL,
            };
            if let Some((since, count)) = counts.get(trier)
                && now < since.plus(WINDOW)
                && *count >= most
            {
                let wait = since.plus(WINDOW).millis() - now.millis();
                let seconds = u32::try_from(wait / 1_000 + 1).unwrap_or(u32::MAX);
                let minutes = seconds.div_ceil(60);
                let detail =
                    format!("too many attempts to sign in; try again in {minutes} minutes");
                return Err(Problem::new(Code::RateLimited, detail).retry_after(seconds));
            }
        }
        if counts.len() >= CAPACITY {
            counts.retain(|_, (since, _)| now < since.plus(WINDOW));
            if counts.len() >= CAPACITY {
                counts.clear();
            }
        }
        for trier in &triers {
            let entry = counts.entry(trier.clone()).or_insert((now, 0));
            if now >= entry.0.plus(WINDOW) {
                *entry = (now, 0);
            }
            entry.1 += 1;
        }
        Ok(Attempt {
            attempts: self,
            triers,
        })
    }
}

impl Attempt<'_> {
    /// It was the right person: it does not count.
    pub fn succeeded(self) {
        let mut counts = self.attempts.counts.lock();
        for trier in &self.triers {
            if let Some((_, count)) = counts.get_mut(trier) {
                *count = count.saturating_sub(1);
            }
        }
    }
}

/// An address as one guesser has it: of IPv6 the /64 that a host is given whole.
fn network(address: IpAddr) -> [u8; 16] {
    let v6 = match address {
        IpAddr::V4(it) => return it.to_ipv6_mapped().octets(),
        IpAddr::V6(it) => it,
    };
    if v6.to_ipv4_mapped().is_some() {
        return v6.octets();
    }
    let mut octets = v6.octets();
    octets[8..].fill(0);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn failures_for_one_email_are_limited_wherever_they_come_from() {
        let attempts = Attempts::default();
        for host in 0..PER_EMAIL {
            let from = IpAddr::from([10, 0, 0, host as u8]);
            assert!(attempts.count(Some(from), Some("a@b"), at(0)).is_ok());
        }
        let from = Some(IpAddr::from([10, 0, 1, 1]));
        let refused = attempts.count(from, Some("a@b"), at(60_000)).err().unwrap();
        assert_eq!(refused.code, Code::RateLimited);
        assert_eq!(refused.retry_after_seconds(), Some(841));
        assert!(attempts.count(from, Some("c@d"), at(60_000)).is_ok());
        assert!(attempts.count(from, Some("a@b"), at(900_000)).is_ok());
    }

    #[test]
    fn failures_from_one_network_are_limited_and_successes_are_not() {
        let attempts = Attempts::default();
        let host = |last: u16| Some(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, last]));
        for _ in 0..1_000 {
            attempts.count(host(1), None, at(0)).unwrap().succeeded();
        }
        for last in 0..PER_ADDRESS {
            assert!(attempts.count(host(last as u16), None, at(0)).is_ok());
        }
        assert!(attempts.count(host(9_999), None, at(0)).is_err());
    }
}
