//! Strips texts about the generation of an image from its file, without touching a pixel. Servers write the prompt, the whole graph
//! and paths of their models there.
//!
//! Provenance marks (in XMP, or signed by C2PA) stay: they say what generated the image, but not how. The signature of C2PA covers all
//! other bytes of the file, so it no longer verifies if a text was stripped: privacy has precedence. A file that does not follow its
//! format is copied unchanged from there on, because a decoder has already accepted it. Callers that need the Exif orientation apply
//! it before.

pub mod jpeg;
pub mod png;
pub mod webp;
mod xmp;
