//! Tintype: a self-hosted server that turns prompts into pictures asynchronously.

pub mod config;
pub mod egress;
pub mod images;
pub mod inputs;
