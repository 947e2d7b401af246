//! Images of ended jobs: thumbnails, favourites, deletion.

pub mod deletion;
pub mod favourites;
pub(crate) mod interrupted_deletions;
pub(crate) mod stored_image;
pub(crate) mod thumbnails;
