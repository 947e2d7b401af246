//! Which models take no new work at the moment.

use super::tier::Tier;
use serde::{Deserialize, Serialize};

/// The operator's switches. They survive a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pause {
    /// Everything is paused.
    pub project: bool,
    /// One switch per tier, in the order of [`Tier::ALL`].
    pub tiers: [bool; 3],
}

impl Pause {
    /// Does this tier take no new jobs, and start none?
    pub fn covers(&self, tier: Tier) -> bool {
        self.project || self.tiers[tier.index()]
    }
}
