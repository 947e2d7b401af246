//! Places of back ends that nodes share. They are taken in the rounds that take jobs, and given back there once the runs have ended; see
//! [`SharedSlots`].

use super::living_nodes::{all_nodes, living_nodes};
use crate::backends::PlaceNeeds;
use crate::round::value_of;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::shared_slots::{SharedSlots, SlotGrant, SlotRequest};
use tintype_storage::engine::{Ask, Key, Seen};
use tintype_storage::store::tables::SHARED_SLOTS;
use tintype_storage::store::{StoreError, Writes};

/// What a node has and needs of the shared back ends of a tier.
pub struct PlaceAsks(pub Vec<PlaceNeeds>);

/// What a round has found of them, and takes.
pub struct FoundPlaces<'a> {
    asks: &'a [PlaceNeeds],
    node: NodeId,
    before: SharedSlots,
    places: SharedSlots,
    grants: Vec<SlotGrant>,
}

impl PlaceAsks {
    /// Could a round change anything? `takes`: the node takes jobs.
    pub fn are_worth_a_round(&self, takes: bool) -> bool {
        self.0.iter().any(|it| {
            let may_take = takes && it.may_begin && it.keeps < it.slots;
            it.gave_back || it.needs > 0 || may_take
        })
    }

    pub fn holds(&self) -> Option<Key> {
        (!self.0.is_empty()).then(|| SHARED_SLOTS.key(&()))
    }

    pub fn needs(&self) -> Vec<Ask> {
        match self.holds() {
            Some(key) => vec![Ask::Get(key), all_nodes()],
            None => Vec::new(),
        }
    }

    /// Gives places back, and takes those that the node's own runs wait for.
    ///
    /// # Errors
    /// A record is damaged, or was not read.
    pub fn settle(&self, node: NodeId, seen: &Seen) -> Result<FoundPlaces<'_>, StoreError> {
        let mut found = FoundPlaces {
            asks: &self.0,
            node,
            before: SharedSlots::default(),
            places: SharedSlots::default(),
            grants: Vec::new(),
        };
        let Some(key) = self.holds() else {
            return Ok(found);
        };
        let living = living_nodes(seen)?;
        let places = value_of(seen, &key, |it| SHARED_SLOTS.decode(it))?;
        found.before = places.unwrap_or_default();
        found.places = found.before.clone();
        for ask in &self.0 {
            let request = SlotRequest {
                backend: &ask.name,
                slots: ask.slots as u32,
                node,
                keeps: ask.keeps as u32,
                needs: ask.needs as u32,
            };
            let grant = found.places.settle(request, |it| living.contains(&it));
            found.grants.push(grant);
        }
        Ok(found)
    }
}

impl FoundPlaces<'_> {
    /// Jobs that could begin in the places that are free.
    pub fn free(&self) -> usize {
        let grants = self.asks.iter().zip(&self.grants);
        let free = grants.filter(|(ask, _)| ask.may_begin);
        free.map(|(_, grant)| grant.free as usize).sum()
    }

    /// Takes places for so many jobs, as far as there are free ones.
    pub fn take(&mut self, jobs: usize) {
        let mut left = jobs as u32;
        let grants = self.asks.iter().zip(&mut self.grants);
        for (ask, grant) in grants.filter(|(ask, _)| ask.may_begin) {
            let taken = left.min(grant.free);
            self.places.take(&ask.name, self.node, taken);
            grant.granted += taken;
            grant.free -= taken;
            left -= taken;
        }
    }

    /// How many places the node gets, by the index of the back end.
    pub fn granted(&self) -> Vec<(usize, usize)> {
        let grants = self.asks.iter().zip(&self.grants);
        let granted = grants.map(|(ask, grant)| (ask.backend, grant.granted as usize));
        granted.collect()
    }

    pub fn writes(&self) -> Writes {
        match self.places == self.before {
            true => Writes::new(),
            false => vec![SHARED_SLOTS.put(&(), &self.places)],
        }
    }
}
