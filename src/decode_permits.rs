//! The permits for decoding images in this process. Inputs, results and thumbnails have separate permits, so that none of them waits
//! for the others. Accounts take turns.

use std::sync::LazyLock;
use tintype_imaging::DecodePermits;
use tintype_storage::domain::ids::AccountId;

/// Per use.
const CONCURRENCY: u64 = 2;

/// For input images.
pub static INPUT_DECODING: LazyLock<DecodePermits<AccountId>> =
    LazyLock::new(|| DecodePermits::new(CONCURRENCY));

/// For thumbnails.
pub static THUMBNAIL_DECODING: LazyLock<DecodePermits<AccountId>> =
    LazyLock::new(|| DecodePermits::new(CONCURRENCY));

/// For images from backends.
pub static RESULT_DECODING: LazyLock<DecodePermits<AccountId>> =
    LazyLock::new(|| DecodePermits::new(CONCURRENCY));
