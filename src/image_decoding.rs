//! The permits to decode pictures in this process: apart for what callers send, for what back ends make, and for what is looked
//! at, so that none waits for the others, and taken in turn by accounts.

use std::sync::LazyLock;
use tintype_imaging::DecodePermits;
use tintype_storage::domain::ids::AccountId;

/// Pictures of one kind that are decoded at a time.
const AT_A_TIME: u64 = 2;

/// For input images.
pub static INPUTS: LazyLock<DecodePermits<AccountId>> =
    LazyLock::new(|| DecodePermits::new(AT_A_TIME));

/// For the small forms of pictures.
pub static VIEWS: LazyLock<DecodePermits<AccountId>> =
    LazyLock::new(|| DecodePermits::new(AT_A_TIME));

/// For pictures that back ends have made.
pub static RESULTS: LazyLock<DecodePermits<AccountId>> =
    LazyLock::new(|| DecodePermits::new(AT_A_TIME));
