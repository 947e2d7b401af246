//! Rotations of keys and of webhook secrets: what was replaced is valid until its end, and then forgotten.

use crate::support::*;
use tintype_storage::domain::api_key::{ApiKey, KeyHash, RetiredHash};
use tintype_storage::domain::webhook::SealedSecret;

#[test]
fn a_replaced_text_of_a_key_is_valid_until_its_end_or_until_a_rotation_without_overlap() {
    let [first, second, third] = [1, 2, 3].map(|byte| KeyHash([byte; 32]));
    let key = ApiKey::with_all_rights(key(1), ACCOUNT, at(0));
    assert_eq!(key.overlap_ends(at(0)), None);
    let (once, ended) = key.rotate(first, Some(at(100)), at(0));
    assert_eq!(ended, []);
    assert_eq!(once.overlap_ends(at(99)), Some(at(100)));
    assert_eq!(once.overlap_ends(at(100)), None);

    let retired = |hash, until| RetiredHash {
        hash,
        until: at(until),
    };
    let (twice, ended) = once.rotate(second, Some(at(200)), at(99));
    assert_eq!(ended, []);
    assert_eq!(twice.retired, [retired(first, 100), retired(second, 200)]);
    assert_eq!(twice.overlap_ends(at(50)), Some(at(200)), "the last end");
    let (later, ended) = once.rotate(second, Some(at(200)), at(100));
    assert_eq!(ended, [first]);
    assert_eq!(later.retired, [retired(second, 200)]);

    let (leaked, ended) = twice.rotate(third, None, at(50));
    assert_eq!(ended, [first, second]);
    assert_eq!(leaked.retired, []);
}

#[test]
fn a_rotation_forgets_the_webhook_secrets_that_sign_nothing_any_more() {
    let sealed = |byte| SealedSecret(vec![byte]);
    let once = webhook().rotate(sealed(2), at(0));
    let day = DAY.as_millis() as i64;
    assert_eq!(once.rotate(sealed(3), at(day - 1)).retired.len(), 2);
    assert_eq!(once.rotate(sealed(3), at(day)).retired.len(), 1);
}
