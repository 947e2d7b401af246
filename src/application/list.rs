//! Which part of a list is asked for.

/// A page of a list.
#[derive(Clone, Copy)]
pub struct Window {
    /// Entries at the most.
    pub limit: usize,
    /// The last id of the page before.
    pub after: Option<[u8; 16]>,
}
