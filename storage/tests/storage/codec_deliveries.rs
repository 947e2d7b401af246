//! The stored bytes of delivery records.

use crate::support::{at, uuid};
use tintype_storage::domain::delivery::{Attempt, DeliveryId};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::tables::{ATTEMPTS, DUE_DELIVERIES};
use tintype_storage::store::{DueEntry, StoreError};

fn id(last: u8) -> Vec<u8> {
    [vec![16], vec![0; 15], vec![last]].concat()
}

#[test]
fn the_encoding_of_an_attempt_is_unchanged() {
    let attempt = Attempt {
        round: 3,
        at: at(1_000),
        status_code: Some(500),
        error: Some("no".into()),
        duration_ms: 7,
        response_body: "oh".into(),
        url: Some("http://a/".into()),
        sent: None,
    };
    let both = [
        3, 0xd0, 0x0f, 1, 0xf4, 0x03, 1, 2, b'n', b'o', 7, 2, b'o', b'h',
    ];
    let later = [
        1, 9, b'h', b't', b't', b'p', b':', b'/', b'/', b'a', b'/', 0,
    ];
    assert_eq!(
        ATTEMPTS.encode(&attempt),
        [&[1], &both[..], &later].concat()
    );
}

#[test]
fn the_encoding_of_a_due_index_entry_is_unchanged() {
    let entry = DueEntry {
        due: at(1_000),
        id: DeliveryId(uuid(0x11)),
        account: AccountId(uuid(0x22)),
        webhook: WebhookId(uuid(0x44)),
        failures: 3,
    };
    let ids = [id(0x11), id(0x22), id(0x44)].concat();
    let written = [&[1, 0xd0, 0x0f], ids.as_slice(), &[3]].concat();
    assert_eq!(DUE_DELIVERIES.encode(&entry), written);
    for wrong in [&written[..30], &[written.as_slice(), &[0]].concat()] {
        let read = DUE_DELIVERIES.decode(wrong);
        assert!(matches!(read, Err(StoreError::Damaged { .. })));
    }
}
