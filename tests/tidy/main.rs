//! The rules of the house that the compiler does not know: which package may name what, and what no file may hold.

mod conformance;
mod files;
mod hostile;
mod imports;
mod layers;
mod links;
mod modules;
mod pin_images;
mod reached;
mod reference;
mod sources;
