//! A database crash under load: the answers that callers get meanwhile, lost jobs, and the time until the node is ready again.

use super::Effort;
use super::audit::{audit, jobs};
use super::findings::Findings;
use super::site::Machines;
use crate::bench::CONNECTIONS;
use crate::client::{self, Caller};
use crate::creations::kind;
use crate::server::Generator;
use crate::wire::{self, Wire};
use anyhow::{anyhow, ensure};
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const ACCOUNTS: usize = 100;
/// Load before the crash, and after the node is ready again.
const CALM: Duration = Duration::from_secs(2);
/// Duration of all calls.
const TIME: Duration = Duration::from_secs(12);
const PATIENCE: Duration = Duration::from_secs(60);
const READY_SECONDS: f64 = 2.0;

/// Creates jobs and records the accepted ones.
struct Creator {
    address: SocketAddr,
    request: Vec<u8>,
    accepted: Arc<Mutex<Vec<String>>>,
}

/// Accepted, rejected, or disconnected.
const KINDS: usize = 3;
const REFUSED: usize = 1;
const CUT_OFF: usize = 2;

impl Caller<KINDS> for Creator {
    async fn call(&mut self, wire: &mut Wire, _: usize) -> anyhow::Result<usize> {
        let Ok(answer) = wire.exchange(&self.request).await else {
            // A rejection before the body was read may close the connection.
            *wire = Wire::open(self.address).await?;
            return Ok(CUT_OFF);
        };
        let kind = kind(&answer)?;
        if kind == 0 {
            self.accepted.lock().push(answer.job_id()?.to_owned());
        }
        Ok(kind)
    }
}

pub fn run(_: &Effort, findings: &mut Findings) -> anyhow::Result<()> {
    let machines = Machines::start()?;
    let site = machines.site();
    let node = site.node(ACCOUNTS, Generator::Never, None)?;
    let accepted = Arc::new(Mutex::new(Vec::new()));
    let (keys, address) = (node.server.keys.clone(), node.address());
    let load = thread::spawn({
        let accepted = Arc::clone(&accepted);
        move || {
            client::run::<KINDS, _>(address, CONNECTIONS, TIME, |connection| Creator {
                address,
                request: wire::post(&keys[connection % keys.len()], None),
                accepted: Arc::clone(&accepted),
            })
        }
    });
    thread::sleep(CALM);
    let began = Instant::now();
    machines.server.crash();
    let away = began.elapsed();
    let before = accepted.lock().len();
    until_ready(address)?;
    let ready = began.elapsed() - away;
    let outcome = load.join().map_err(|_| anyhow!("a client panicked"))??;
    node.end()?;
    let accepted = std::mem::take(&mut *accepted.lock());
    let stored = jobs(&site)?;
    audit(&site)?;
    let lost = accepted.iter().filter(|it| !stored.contains(*it)).count();
    ensure!(accepted.len() > before, "nothing was accepted afterwards");
    findings.note(
        "restart of PostgreSQL: away for s; accepted before and after; 503 with Retry-After; connections closed without an answer",
        format!(
            "{:.2}; {before}, {}; {}; {}",
            away.as_secs_f64(),
            accepted.len() - before,
            outcome.kinds[REFUSED].count(),
            outcome.kinds[CUT_OFF].count()
        ),
    );
    findings.at_most(
        "restart of PostgreSQL: accepted jobs lost",
        lost as f64,
        0.0,
    );
    findings.at_most(
        "restart of PostgreSQL: s until the node is ready after it",
        ready.as_secs_f64(),
        READY_SECONDS,
    );
    Ok(())
}

fn until_ready(address: SocketAddr) -> anyhow::Result<()> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let (status, _) = wire::call(address, &wire::get_ready())?;
        if status == "200" {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(anyhow!("the node does not become ready"))
}
