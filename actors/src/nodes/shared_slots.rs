//! Slots of backends that nodes share. The rounds that take jobs also take the slots, and release them once the runs have ended; see
//! [`SharedSlots`], the record of these slots.

use super::heartbeat::living_nodes;
use crate::backends::SlotDemand;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::shared_slots::{SharedSlots, SlotGrant};
use tintype_storage::engine::{Key, ReadRequest};
use tintype_storage::store::tables::{NODES, SHARED_SLOTS};
use tintype_storage::store::{RoundReads, StoreError, Writes};

/// A node's demand for slots of a tier's shared backends.
pub struct SlotDemands(pub Vec<SlotDemand>);

/// The slots that a round gives to the node.
pub struct SlotAllocation<'a> {
    demands: &'a [SlotDemand],
    node: NodeId,
    before: SharedSlots,
    after: SharedSlots,
    /// One per demand.
    grants: Vec<SlotGrant>,
}

impl SlotDemands {
    /// Could a round change anything?
    pub fn may_change_slots(&self, takes_jobs: bool) -> bool {
        self.0.iter().any(|it| {
            let request = &it.request;
            let may_take = takes_jobs && it.may_begin && request.keeps < request.slots;
            it.has_released || request.needs > 0 || may_take
        })
    }

    pub fn locked_keys(&self) -> Option<Key> {
        (!self.0.is_empty()).then(|| SHARED_SLOTS.key(&()))
    }

    pub fn initial_reads(&self) -> Vec<ReadRequest> {
        match self.0.is_empty() {
            true => Vec::new(),
            false => vec![SHARED_SLOTS.request(&()), NODES.request_all()],
        }
    }

    /// Releases slots, and takes slots for the node's waiting runs.
    ///
    /// # Errors
    /// A record is damaged, or was not read.
    pub fn settle(
        &self,
        node: NodeId,
        reads: &RoundReads<'_>,
    ) -> Result<SlotAllocation<'_>, StoreError> {
        let mut slots = SlotAllocation {
            demands: &self.0,
            node,
            before: SharedSlots::default(),
            after: SharedSlots::default(),
            grants: Vec::new(),
        };
        if self.0.is_empty() {
            return Ok(slots);
        }
        let living = living_nodes(reads)?;
        slots.before = reads.get(&SHARED_SLOTS, &())?.unwrap_or_default();
        slots.after = slots.before.clone();
        for demand in &self.0 {
            let is_living = |it| living.contains(&it);
            let grant = slots.after.settle(node, &demand.request, is_living);
            slots.grants.push(grant);
        }
        Ok(slots)
    }
}

impl SlotAllocation<'_> {
    /// The number of jobs that can begin in free slots.
    pub fn free(&self) -> usize {
        let grants = self.demands.iter().zip(&self.grants);
        let free = grants.filter(|(demand, _)| demand.may_begin);
        free.map(|(_, grant)| grant.free as usize).sum()
    }

    /// Takes free slots for up to this number of jobs.
    pub fn take(&mut self, jobs: usize) {
        let mut left = jobs as u32;
        let grants = self.demands.iter().zip(&mut self.grants);
        for (demand, grant) in grants.filter(|(demand, _)| demand.may_begin) {
            let taken = left.min(grant.free);
            let backend = &demand.request.backend;
            self.after.take(backend, self.node, taken);
            grant.granted += taken;
            grant.free -= taken;
            left -= taken;
        }
    }

    /// The number of slots that the node gets, by the index of the backend.
    pub fn granted_slots(&self) -> Vec<(usize, usize)> {
        let grants = self.demands.iter().zip(&self.grants);
        let granted = grants.map(|(demand, grant)| (demand.backend, grant.granted as usize));
        granted.collect()
    }

    pub fn writes(&self) -> Writes {
        match self.after == self.before {
            true => Writes::new(),
            false => vec![SHARED_SLOTS.put(&(), &self.after)],
        }
    }
}
