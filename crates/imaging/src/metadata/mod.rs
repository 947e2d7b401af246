//! Removes the texts that say how a picture was made, without touching a pixel.

pub mod jpeg;
pub mod png;
pub mod webp;
mod xmp;
