//! Rules that the compiler does not check: allowed dependencies, and limits and forbidden contents of files.

mod blocking;
mod commands;
mod conformance;
mod files;
mod hostile;
mod imports;
mod layers;
mod links;
mod modules;
mod pin_images;
mod reference;
mod sources;
mod unused_files;
