//! Nodes killed under load: the time until another node has requeued their jobs.

use super::Effort;
use super::audit::{audit, jobs};
use super::findings::Findings;
use super::site::Machines;
use crate::client::{self, Caller};
use crate::server::Generator;
use crate::wire::{self, Wire};
use anyhow::{anyhow, ensure};
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const ACCOUNTS: usize = 50;
const CONNECTIONS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(30);
const MEDIAN: f64 = 3.5;
const MOST: f64 = 5.0;

/// Creates jobs until its node is killed or the run ends.
struct Creator {
    request: Vec<u8>,
    accepted: Arc<Mutex<Vec<String>>>,
}

impl Caller<1> for Creator {
    async fn call(&mut self, wire: &mut Wire, _: usize) -> anyhow::Result<usize> {
        let answer = wire.exchange(&self.request).await?;
        answer.expect("202")?;
        self.accepted.lock().push(answer.job_id()?.to_owned());
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(0)
    }
}

pub fn run(effort: &Effort, findings: &mut Findings) -> anyhow::Result<()> {
    let machines = Machines::start()?;
    let site = machines.site();
    let witness = site.node(ACCOUNTS, Generator::Instant, None)?;
    let other = site.node(0, Generator::Instant, None)?;
    let keys = witness.server.keys.clone();
    let token = witness.token()?;
    let accepted = Arc::new(Mutex::new(Vec::new()));
    let mut times = Vec::new();
    for _ in 0..effort.kills {
        let node = site.node(0, Generator::Instant, None)?;
        let (address, id) = (node.address(), node.server.id());
        let is_listed = || -> anyhow::Result<bool> {
            let request = wire::get_as_operator(&token, "nodes");
            let (_, text) = wire::call(witness.address(), &request)?;
            Ok(text.contains(&format!("\"pid\":{id},"))
                || text.contains(&format!("\"pid\":{id}}}")))
        };
        until(&|| is_listed())?;
        let load = thread::spawn({
            let (accepted, keys) = (Arc::clone(&accepted), keys.clone());
            move || {
                client::run::<1, _>(address, CONNECTIONS, PATIENCE, |connection| Creator {
                    request: wire::post(&keys[connection % keys.len()], None),
                    accepted: Arc::clone(&accepted),
                })
            }
        });
        let before = accepted.lock().len();
        until(&|| Ok(accepted.lock().len() > before + 100))?;
        let began = Instant::now();
        node.kill()?;
        until(&|| Ok(!is_listed()?))?;
        times.push(began.elapsed().as_secs_f64());
        // The callers of a node end with it.
        ensure!(
            load.join().is_ok_and(|it| it.is_err()),
            "the node survived the kill"
        );
    }
    until(&|| {
        let request = wire::get_as_operator(&token, "stats");
        let (_, text) = wire::call(witness.address(), &request)?;
        Ok(text.contains("\"live_jobs\":0,"))
    })?;
    witness.end()?;
    other.end()?;
    let report = audit(&site)?;
    ensure!(
        report.live_jobs == 0,
        "{} jobs have not ended",
        report.live_jobs
    );
    let (accepted, stored) = (std::mem::take(&mut *accepted.lock()), jobs(&site)?);
    let lost = accepted.iter().filter(|it| !stored.contains(*it)).count();
    times.sort_by(f64::total_cmp);
    findings.note(
        "nodes killed under load; jobs accepted by them",
        format!("{}; {}", effort.kills, accepted.len()),
    );
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let most = times.last().copied().unwrap_or_default();
    findings.at_most("takeover: s, median", median, MEDIAN);
    findings.at_most("takeover: s, most", most, MOST);
    findings.at_most("takeover: accepted jobs lost", lost as f64, 0.0);
    Ok(())
}

fn until(holds: &dyn Fn() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let began = Instant::now();
    while !holds()? {
        if began.elapsed() > PATIENCE {
            return Err(anyhow!("waited in vain"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
