//! Records of deliveries on the disk: what is written, and that what earlier versions wrote is read as ever.

use crate::support::{at, uuid};
use tintype_storage::domain::delivery::Attempt;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::{DueDelivery, StoreError, decode, encode};

fn id(last: u8) -> Vec<u8> {
    [vec![16], vec![0; 15], vec![last]].concat()
}

#[test]
fn attempts_of_version_1_went_to_the_url_of_their_delivery_and_do_not_say_what_was_sent() {
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
    assert_eq!(encode(&attempt), [&[2], &both[..], &later].concat());
    let first = [&[1], &both[..]].concat();
    let read = decode::<Attempt>(&first).expect("reads back");
    assert_eq!(
        read,
        Attempt {
            url: None,
            ..attempt
        }
    );
}

#[test]
fn entries_of_the_due_index_of_version_1_have_no_failures() {
    let entry = DueDelivery {
        account: AccountId(uuid(0x22)),
        webhook: WebhookId(uuid(0x44)),
        failures: 3,
    };
    let both = [id(0x22), id(0x44)].concat();
    assert_eq!(encode(&entry), [&[2], both.as_slice(), &[3]].concat());
    let first = [&[1], both.as_slice()].concat();
    let read = decode::<DueDelivery>(&first).expect("reads back");
    assert_eq!(
        read,
        DueDelivery {
            failures: 0,
            ..entry
        }
    );
    for wrong in [&first[..30], &[first.as_slice(), &[0]].concat()] {
        let read = decode::<DueDelivery>(wrong);
        assert!(matches!(read, Err(StoreError::Damaged { .. })));
    }
}
