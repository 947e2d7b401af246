//! The memory that bodies may take while they arrive, over all calls: pictures go to the object store in parts, and each body
//! needs a few of these at a time, however large it is.

use super::refusal::{Kind, Refusal};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What all of them may take, in MiB.
const ALL: usize = 384;
/// What one may take, in MiB: a part that fills and one on its way, with what lies between them and the connection.
const MOST: u64 = 12;
/// Bytes of a body that is not counted.
const SMALL: u64 = 1 << 20;
/// Seconds after which there may be room again.
const RETRY_AFTER: u32 = 5;

/// The memory that is left.
pub struct Room(Arc<Semaphore>);

/// Memory that a body may take. It is given back when this is dropped.
pub struct Place {
    room: Arc<Semaphore>,
    held: Option<OwnedSemaphorePermit>,
}

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ALL)))
    }
}

impl Room {
    /// A place for a body of this length, where that is declared.
    ///
    /// # Errors
    /// There is no room now.
    pub fn place(&self, declared: Option<u64>) -> Result<Place, Refusal> {
        let mut place = Place {
            room: Arc::clone(&self.0),
            held: None,
        };
        if let Some(length) = declared {
            place.grow(length, length)?;
        }
        Ok(place)
    }
}

impl Place {
    /// The body has turned out to have so many bytes so far.
    ///
    /// # Errors
    /// There is no room now.
    pub fn grown(&mut self, arrived: u64) -> Result<(), Refusal> {
        // How long it will become, nobody knows.
        self.grow(arrived, u64::MAX)
    }

    fn grow(&mut self, bytes: u64, expected: u64) -> Result<(), Refusal> {
        if bytes <= SMALL || self.held.is_some() {
            return Ok(());
        }
        let megabytes = expected.div_ceil(1 << 20).min(MOST) as u32;
        let room = Arc::clone(&self.room);
        let held = room
            .try_acquire_many_owned(megabytes)
            .map_err(|_| Refusal {
                retry_after: Some(RETRY_AFTER),
                ..Refusal::new(
                    Kind::Unavailable,
                    "too many large requests arrive at once; try again in a moment",
                )
            })?;
        self.held = Some(held);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: u64 = 150_000_000;

    #[test]
    fn so_many_large_bodies_have_a_place_and_small_ones_need_none() {
        let room = Room::default();
        let mut places: Vec<Place> = (0..32)
            .map(|_| room.place(Some(LARGE)).expect("room"))
            .collect();
        let refused = room.place(Some(LARGE)).map(drop).unwrap_err();
        assert_eq!(
            (refused.kind, refused.retry_after),
            (Kind::Unavailable, Some(5))
        );
        assert!(room.place(Some(SMALL)).is_ok());
        let mut undeclared = room.place(None).expect("nothing has come");
        assert!(undeclared.grown(SMALL).is_ok());
        assert!(undeclared.grown(SMALL + 1).is_err());
        places.pop();
        assert!(undeclared.grown(SMALL + 1).is_ok());
        assert!(undeclared.grown(LARGE).is_ok(), "a place is taken once");
        assert!(room.place(Some(LARGE)).is_err());
    }

    #[test]
    fn a_body_of_a_few_megabytes_takes_no_more_than_it_has() {
        let room = Room::default();
        let places: Result<Vec<Place>, Refusal> =
            (0..128).map(|_| room.place(Some(3 << 20))).collect();
        assert!(places.is_ok());
        assert!(room.place(Some(3 << 20)).is_err());
    }
}
