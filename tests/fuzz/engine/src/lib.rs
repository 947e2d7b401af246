//! Nothing: what counts is the library that the dependency's build script compiles.
