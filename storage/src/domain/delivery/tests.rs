//! The grid of states and events, and complete series of attempts.

use super::*;
use crate::domain::webhook::SealedSecret;

const MINUTE: Duration = Duration::from_secs(60);

fn schedule() -> Vec<Duration> {
    [1, 2, 5, 10, 15, 20].map(|it| MINUTE * it).to_vec()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn delivery(round: u32, state: DeliveryState) -> Delivery {
    let webhook = Webhook::new(
        WebhookId(Uuid::from_u128(1)),
        AccountId(Uuid::from_u128(2)),
        "https://a/",
        SealedSecret(vec![]),
        at(0),
    );
    let id = DeliveryId(Uuid::from_u128(3));
    let job = JobId(Uuid::from_u128(4));
    Delivery {
        round,
        state,
        ..Delivery::new(id, &webhook, DeliveryKind::Event, job.0, at(500))
    }
}

#[test]
fn every_state_handles_every_event() {
    let (exhausted, deleted) = (FailReason::AttemptsExhausted, FailReason::WebhookDeleted);
    let states = [
        DeliveryState::Pending {
            due: at(1_000),
            failures: 0,
        },
        DeliveryState::Pending {
            due: at(1_000),
            failures: 5,
        },
        DeliveryState::Pending {
            due: at(1_000),
            failures: 6,
        },
        DeliveryState::Pending {
            due: at(1_000),
            failures: u32::MAX,
        },
        DeliveryState::Delivered { at: at(2_000) },
        DeliveryState::Failed {
            reason: exhausted,
            at: at(2_000),
        },
        DeliveryState::Failed {
            reason: deleted,
            at: at(2_000),
        },
    ];
    let took = Duration::from_millis(250);
    let attempts = [
        (
            "204",
            Attempt::responded(1, at(9_000), took, 204, b"", None),
        ),
        (
            "500",
            Attempt::responded(1, at(9_000), took, 500, b"oh", None),
        ),
        (
            "no answer",
            Attempt::broken(1, at(9_000), took, "timed out"),
        ),
        (
            "204 of an earlier round",
            Attempt::responded(0, at(9_000), took, 204, b"", None),
        ),
        (
            "500 of an earlier round",
            Attempt::responded(0, at(9_000), took, 500, b"", None),
        ),
    ];
    let mut grid = String::new();
    for state in states {
        let before = delivery(1, state);
        grid.push_str(&format!("{state:?}\n"));
        let mut line = |what: &str, after: Delivery| {
            let counts = format!("round {}, attempts {}", after.round, after.attempts);
            grid.push_str(&format!(
                "    {what}\n        {:?}, {counts}\n",
                after.state
            ));
            assert_eq!(
                Delivery {
                    state,
                    round: 1,
                    attempts: 0,
                    ..after
                },
                before
            );
        };
        for (what, attempt) in &attempts {
            line(
                what,
                record_attempt(&before, attempt, attempt.ended_at(), &schedule()),
            );
        }
        line("redeliver", redeliver(&before, at(9_000)));
        line(
            "webhook deleted",
            give_up(&before, NoReceiver::WebhookDeleted, at(9_000)),
        );
    }
    insta::assert_snapshot!(grid);
}

/// Fails every attempt as soon as it is due. Returns the delays between the end of an attempt and the next one.
fn fail_until_the_end(mut delivery: Delivery, took: Duration) -> (Vec<u64>, Delivery) {
    let mut waits = vec![];
    for _ in 0..100 {
        let Some(due) = delivery.state.due() else {
            break;
        };
        let attempt = Attempt::broken(delivery.round, due, took, "timed out");
        delivery = record_attempt(&delivery, &attempt, attempt.ended_at(), &schedule());
        let next = delivery.state.due();
        waits.extend(next.map(|it| it.seconds().abs_diff(attempt.ended_at().seconds())));
    }
    (waits, delivery)
}

#[test]
fn hostile_98_seven_failures_in_53_minutes_end_a_delivery_and_a_redelivery_starts_anew() {
    let took = Duration::from_secs(10);
    let start = delivery(
        0,
        DeliveryState::Pending {
            due: at(0),
            failures: 0,
        },
    );
    let (waits, end) = fail_until_the_end(start, took);
    assert_eq!(waits, [60, 120, 300, 600, 900, 1200]);
    assert_eq!(end.attempts, 7);
    assert_eq!(end.state.reason(), Some(FailReason::AttemptsExhausted));
    assert_eq!(end.state.as_str(), "failed");
    // Each of the seven attempts took 10 seconds, and delays start after an attempt.
    let ended = at(0).plus(MINUTE * 53).plus(took * 7);
    assert_eq!(
        end.state,
        DeliveryState::Failed {
            reason: FailReason::AttemptsExhausted,
            at: ended
        }
    );

    let (waits, end) = fail_until_the_end(redeliver(&end, ended), took);
    assert_eq!((waits.len(), end.attempts, end.round), (6, 14, 1));
}

#[test]
fn a_shorter_schedule_ends_deliveries_beyond_it() {
    let pending = delivery(
        0,
        DeliveryState::Pending {
            due: at(0),
            failures: 4,
        },
    );
    let attempt = Attempt::broken(0, at(0), MINUTE, "refused");
    for schedule in [&[][..], &[MINUTE; 4][..]] {
        let after = record_attempt(&pending, &attempt, attempt.ended_at(), schedule);
        assert_eq!(after.state.reason(), Some(FailReason::AttemptsExhausted));
    }
    let after = record_attempt(&pending, &attempt, attempt.ended_at(), &[MINUTE; 5]);
    assert_eq!(after.state.due(), Some(at(120_000)));
}

#[test]
fn hostile_98_a_2xx_status_is_a_success_regardless_of_its_body() {
    let answered =
        |status, error| Attempt::responded(0, at(0), MINUTE, status, b"", error).succeeded();
    for status in [200, 201, 204, 226, 299] {
        assert!(answered(status, None), "{status}");
        assert!(answered(status, Some("timed out")), "{status}");
    }
    for status in [
        100,
        199,
        300,
        301,
        304,
        308,
        400,
        410,
        429,
        500,
        599,
        0,
        u16::MAX,
    ] {
        assert!(!answered(status, None), "{status}");
    }
    assert!(!Attempt::broken(0, at(0), MINUTE, "").succeeded());
}

#[test]
fn a_callback_url_excludes_webhooks_with_other_urls() {
    let webhook = |url: &str| {
        Webhook::new(
            WebhookId(Uuid::from_u128(1)),
            AccountId(Uuid::from_u128(2)),
            url,
            SealedSecret(vec![]),
            at(0),
        )
    };
    let named = Callback {
        webhook: WebhookId(Uuid::from_u128(9)),
        url: "https://a/".into(),
    };
    let (same, other) = (webhook("https://a/"), webhook("https://a"));
    let inactive = Webhook {
        active: false,
        ..same.clone()
    };
    let (moved, deleted) = (NoReceiver::WebhookMoved, NoReceiver::WebhookDeleted);
    for (webhook, callback, expected) in [
        (Some(&same), None, Ok(&same)),
        (Some(&same), Some(&named), Ok(&same)),
        (Some(&other), None, Ok(&other)),
        (Some(&other), Some(&named), Err(moved)),
        (Some(&inactive), None, Err(NoReceiver::WebhookInactive)),
        (
            Some(&inactive),
            Some(&named),
            Err(NoReceiver::WebhookInactive),
        ),
        (None, None, Err(deleted)),
        (None, Some(&named), Err(deleted)),
    ] {
        assert_eq!(receiver(webhook.cloned(), callback), expected.cloned());
    }
}

#[test]
fn hostile_108_the_stored_part_of_a_response_is_bounded() {
    let kept = |body: &[u8]| Attempt::responded(0, at(0), MINUTE, 200, body, None).response_body;
    assert_eq!(kept(b"ok"), "ok");
    assert_eq!(kept(&[b'a'; 70_000]), "a".repeat(1_024));
    // The cut splits the emoji after two bytes. At the true end of a body the incomplete character is the receiver's and is
    // shown.
    let mut body = "a".repeat(1_022);
    body.push('😀');
    assert_eq!(kept(body.as_bytes()), "a".repeat(1_022));
    assert_eq!(
        kept(&body.as_bytes()[..1_024]),
        format!("{}\u{fffd}", "a".repeat(1_022))
    );
    assert_eq!(kept(&[0xff; 2_000]).chars().count(), 1_024);
    let error = "😀".repeat(9_000);
    let answered = Attempt::responded(0, at(0), MINUTE, 200, &[0xff; 2_000], Some(&error));
    let signature = "s".repeat(100);
    let sent = SentRequest::new(signature.clone(), signature, &"é".repeat(9_000));
    assert_eq!((sent.body.len(), sent.body_bytes), (4_096, 18_000));
    assert!(!sent.is_whole());
    assert!(postcard_size(&answered.with_sent(Some(sent))) < 12_288);
    assert!(SentRequest::new(String::new(), String::new(), "{}").is_whole());
}

fn postcard_size(attempt: &Attempt) -> usize {
    postcard::to_extend(attempt, vec![]).unwrap().len()
}

#[test]
fn hostile_113_the_largest_timestamps_do_not_overflow() {
    let attempt = Attempt::broken(0, at(i64::MAX), Duration::MAX, "x");
    let pending = delivery(
        0,
        DeliveryState::Pending {
            due: at(0),
            failures: 0,
        },
    );
    let after = record_attempt(&pending, &attempt, attempt.ended_at(), &[Duration::MAX]);
    assert_eq!(after.state.due(), Some(at(i64::MAX)));
}
