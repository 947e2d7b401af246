//! Downloads of images and other files.

pub(crate) mod entity_tag;
pub(crate) mod file_chunks;
pub mod file_download;
pub(crate) mod image_headers;
pub(crate) mod job_image;
pub(crate) mod thumbnail_query;
