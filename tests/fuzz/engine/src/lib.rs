//! Empty: the build script of the dependency compiles the library that the target links.
