//! Images of ended jobs: thumbnails, favourites, deletion, retention.

pub mod deletion;
pub mod favourites;
pub(crate) mod interrupted_deletions;
pub(crate) mod retention;
pub(crate) mod stored_image;
pub(crate) mod thumbnails;
