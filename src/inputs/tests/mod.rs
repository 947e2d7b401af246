//! Ingestion against servers and stores that misbehave in every way we could think of.

mod answers;
mod bounds;
mod handed;
mod leftovers;
mod outlines;
mod pictures;
mod redirects;
mod server;
mod stores;
mod support;
