//! The latency of an operator's change at one of four nodes. The answer comes once the change holds at all of them.

use super::Effort;
use super::findings::Findings;
use super::site::{Machines, Node};
use crate::client::{self, Caller, Outcome};
use crate::server::Generator;
use crate::wire::{self, Wire};

const NODES: usize = 4;
const LONGEST_MS: f64 = 50.0;

/// Pauses and resumes a tier.
struct Operator {
    token: String,
}

impl Caller<1> for Operator {
    async fn call(&mut self, wire: &mut Wire, number: usize) -> anyhow::Result<usize> {
        let is_paused = number.is_multiple_of(2);
        let body = format!(r#"{{"tiers":{{"fast":{is_paused}}}}}"#);
        let request = wire::put_as_operator(&self.token, "pause", &body);
        wire.exchange(&request).await?.expect("200")?;
        Ok(0)
    }
}

pub fn run(effort: &Effort, findings: &mut Findings) -> anyhow::Result<()> {
    let machines = Machines::start()?;
    let site = machines.site();
    let nodes = (0..NODES).map(|_| site.node(0, Generator::Never, None));
    let nodes = nodes.collect::<anyhow::Result<Vec<Node>>>()?;
    let token = nodes[0].token()?;
    let mut outcome: Outcome<1> = client::run(nodes[0].address(), 1, effort.time, |_| Operator {
        token: token.clone(),
    })?;
    nodes.into_iter().try_for_each(Node::end)?;
    let [latencies] = &mut outcome.kinds;
    findings.note(
        format!("operator's change at one of {NODES} nodes: how many; p50 in ms"),
        format!("{}; {:.1}", latencies.count(), latencies.percentile(0.5)),
    );
    findings.at_most(
        format!("operator's change until answered, {NODES} nodes, p99 in ms"),
        latencies.percentile(0.99),
        LONGEST_MS,
    );
    Ok(())
}
