//! Tintype: a self-hosted server that turns prompts into pictures asynchronously.

pub mod config;
pub mod images;
