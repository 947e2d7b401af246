//! Turns and limits.

use super::super::receiver_health::FAST;
use super::*;
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use uuid::Uuid;

const LIMITS: DeliveryLimits = DeliveryLimits {
    total: 8,
    per_receiver: 3,
};
const AT_ONCE: AttemptEnd = AttemptEnd::Succeeded(Duration::ZERO);
const SLOWLY: AttemptEnd = AttemptEnd::Succeeded(FAST);

fn webhook(number: u128) -> WebhookId {
    WebhookId(Uuid::from_u128(number))
}

fn scheduled(to: u128, number: u128) -> DueEntry {
    DueEntry {
        due: at(0),
        id: DeliveryId(Uuid::from_u128(to * 1_000_000 + number)),
        account: AccountId(Uuid::nil()),
        webhook: webhook(to),
        failures: 0,
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A scheduler with `each` due deliveries per receiver.
fn due(receivers: impl IntoIterator<Item = u128>, each: u128) -> DeliveryScheduler {
    let mut scheduler = DeliveryScheduler::new(LIMITS);
    add(&mut scheduler, receivers, each);
    scheduler
}

fn add(scheduler: &mut DeliveryScheduler, receivers: impl IntoIterator<Item = u128>, each: u128) {
    for to in receivers {
        (0..each).for_each(|number| scheduler.schedule(at(0), scheduled(to, number)));
    }
    scheduler.advance(at(0));
}

fn taken(scheduler: &mut DeliveryScheduler) -> Vec<DueEntry> {
    std::iter::from_fn(|| scheduler.take())
        .map(|(it, _)| it)
        .collect()
}

/// Makes all attempts, each with this end.
fn run(scheduler: &mut DeliveryScheduler, end: AttemptEnd) {
    while let Some((scheduled, health)) = scheduler.take() {
        scheduler.ended(scheduled.webhook, health, end);
    }
}

fn of(deliveries: &[DueEntry], to: u128) -> usize {
    let own = deliveries.iter().filter(|it| it.webhook == webhook(to));
    own.count()
}

#[test]
fn nothing_is_attempted_before_it_is_due() {
    let mut scheduler = DeliveryScheduler::new(LIMITS);
    scheduler.schedule(at(20), scheduled(1, 1));
    scheduler.schedule(at(10), scheduled(1, 2));
    assert_eq!(scheduler.next_due(), Some(at(10)));
    scheduler.advance(at(9));
    assert_eq!(scheduler.take(), None);
    scheduler.advance(at(10));
    assert_eq!(taken(&mut scheduler), [scheduled(1, 2)]);
    assert_eq!(scheduler.next_due(), Some(at(20)));
    assert_eq!((scheduler.in_flight(), scheduler.waiting()), (1, 1));
}

#[test]
fn hostile_100_a_receiver_with_many_due_deliveries_leaves_slots_for_others() {
    let mut scheduler = due([1], 10_000);
    add(&mut scheduler, [2], 1);
    assert_eq!(taken(&mut scheduler), [scheduled(1, 0), scheduled(2, 0)]);
    scheduler.ended(webhook(1), ReceiverHealth::Unknown, AT_ONCE);
    let three = [1, 2, 3].map(|number| scheduled(1, number));
    assert_eq!(taken(&mut scheduler), three);
    scheduler.ended(webhook(1), ReceiverHealth::Fast, AT_ONCE);
    assert_eq!(taken(&mut scheduler), [scheduled(1, 4)]);
}

#[test]
fn receivers_that_have_not_answered_yet_get_one_slot_each_and_three_quarters_together() {
    let mut scheduler = due(1..=20, 10);
    let begun = taken(&mut scheduler);
    assert_eq!(begun.len(), 6, "{begun:?}");
    assert!((1..=6).all(|to| of(&begun, to) == 1), "{begun:?}");
    // An attempt without a send leaves its receiver unknown, but uses its turn.
    scheduler.ended(webhook(1), ReceiverHealth::Unknown, AttemptEnd::Unsent);
    assert_eq!(taken(&mut scheduler), [scheduled(7, 0)]);
}

#[test]
fn hostile_100_unknown_receivers_leave_slots_to_a_receiver_that_answers() {
    let mut scheduler = due([99], 1);
    run(&mut scheduler, AT_ONCE);
    // An idle receiver keeps its health.
    add(&mut scheduler, 1..=20, 1);
    assert_eq!(taken(&mut scheduler).len(), 6);
    add(&mut scheduler, [99], 5);
    assert_eq!(taken(&mut scheduler), [scheduled(99, 0), scheduled(99, 1)]);
}

#[test]
fn a_receiver_that_fails_gets_one_slot_until_it_succeeds() {
    let mut scheduler = due([1], 10);
    assert_eq!(taken(&mut scheduler).len(), 1);
    scheduler.ended(webhook(1), ReceiverHealth::Unknown, AT_ONCE);
    assert_eq!(taken(&mut scheduler).len(), 3);
    (0..3).for_each(|_| scheduler.ended(webhook(1), ReceiverHealth::Fast, AttemptEnd::Failed));
    assert_eq!(taken(&mut scheduler).len(), 1);
    scheduler.ended(webhook(1), ReceiverHealth::Failing, AT_ONCE);
    assert_eq!(taken(&mut scheduler).len(), 3);
}

#[test]
fn failing_and_slow_receivers_take_at_most_half_of_the_slots() {
    for end in [AttemptEnd::Failed, SLOWLY] {
        let mut scheduler = due(1..=20, 1);
        run(&mut scheduler, end);
        add(&mut scheduler, 1..=20, 10);
        let begun = taken(&mut scheduler);
        assert_eq!(begun.len(), 4, "{end:?}");
        // An unknown receiver gets one slot, and a fast one the others.
        add(&mut scheduler, [99], 10);
        assert_eq!(taken(&mut scheduler), [scheduled(99, 0)]);
        scheduler.ended(webhook(99), ReceiverHealth::Unknown, AT_ONCE);
        assert_eq!(of(&taken(&mut scheduler), 99), 3);
        // A receiver that recovers joins the fast ones, and does not wait for a slot of the degraded ones.
        scheduler.ended(begun[0].webhook, ReceiverHealth::Failing, AT_ONCE);
        let own = of(&taken(&mut scheduler), begun[0].webhook.0.as_u128());
        assert_eq!(own, 1, "the last slot: {end:?}");
    }
}

#[test]
fn failing_and_unknown_receivers_leave_a_quarter_of_the_slots() {
    let mut scheduler = due(1..=20, 1);
    run(&mut scheduler, AttemptEnd::Failed);
    add(&mut scheduler, 101..=120, 1);
    assert_eq!(taken(&mut scheduler).len(), 6);
    add(&mut scheduler, 1..=20, 1);
    assert_eq!(taken(&mut scheduler), []);
}

#[test]
fn a_slow_receiver_has_as_many_slots_as_a_fast_one() {
    let mut scheduler = due([1], 10);
    scheduler.take();
    scheduler.ended(webhook(1), ReceiverHealth::Unknown, SLOWLY);
    assert_eq!(taken(&mut scheduler).len(), 3);
}

#[test]
fn a_receiver_that_failed_before_the_process_began_counts_as_failing() {
    let mut scheduler = DeliveryScheduler::new(LIMITS);
    (1..=20).for_each(|to| scheduler.mark_failing(webhook(to)));
    add(&mut scheduler, 1..=20, 1);
    assert_eq!(taken(&mut scheduler).len(), 4);
    add(&mut scheduler, [99], 1);
    assert_eq!(taken(&mut scheduler), [scheduled(99, 0)]);
    // A receiver that this process knows keeps its health.
    scheduler.ended(webhook(99), ReceiverHealth::Unknown, AT_ONCE);
    scheduler.mark_failing(webhook(99));
    add(&mut scheduler, [99], 5);
    assert_eq!(of(&taken(&mut scheduler), 99), 3);
}

#[test]
fn deliveries_beyond_the_horizon_are_moved_forward() {
    let mut scheduler = DeliveryScheduler::new(LIMITS);
    for (moment, number) in [(5, 1), (900, 2), (901, 3)] {
        scheduler.schedule(at(moment), scheduled(1, number));
    }
    scheduler.clamp_to(at(10));
    assert_eq!(
        (scheduler.waiting(), scheduler.next_due()),
        (3, Some(at(5)))
    );
    scheduler.advance(at(10));
    assert_eq!(scheduler.next_due(), None);
}

#[test]
fn the_schedule_moves_with_a_clock_that_is_set_back() {
    let mut scheduler = DeliveryScheduler::new(LIMITS);
    for (moment, number) in [(5, 1), (900, 2), (901, 3)] {
        scheduler.schedule(at(moment), scheduled(1, number));
    }
    scheduler.shift_earlier(899);
    scheduler.advance(at(0));
    assert_eq!(taken(&mut scheduler), [scheduled(1, 1)]);
    scheduler.advance(at(1));
    assert_eq!(
        (scheduler.waiting(), scheduler.next_due()),
        (2, Some(at(2)))
    );
}

#[test]
fn idle_receivers_are_retained_up_to_a_limit_and_deleted_receivers_are_dropped() {
    let many = MAX_IDLE as u128 + 10;
    let mut scheduler = DeliveryScheduler::new(LIMITS);
    for to in 1..=many {
        add(&mut scheduler, [to], 1);
        run(&mut scheduler, AttemptEnd::Failed);
    }
    assert_eq!(scheduler.receivers.len(), MAX_IDLE);
    assert!(!scheduler.receivers.contains_key(&webhook(10)));
    assert!(scheduler.rings.iter().all(BTreeMap::is_empty));
    add(&mut scheduler, [many], 2);
    let (_, health) = scheduler.take().unwrap();
    assert_eq!(health, ReceiverHealth::Failing);
    scheduler.ended(webhook(many), health, AttemptEnd::Gone);
    assert!(
        scheduler.receivers.contains_key(&webhook(many)),
        "one is left"
    );
    run(&mut scheduler, AttemptEnd::Gone);
    assert!(!scheduler.receivers.contains_key(&webhook(many)));
    assert_eq!(scheduler.idle.len(), scheduler.receivers.len());
}

/// Each receiver that may be attempted has one turn in the ring of its group, and each receiver without work is idle.
fn assert_turns(scheduler: &DeliveryScheduler) {
    let mut turns = 0;
    for (webhook, receiver) in &scheduler.receivers {
        let limit = match receiver.health {
            ReceiverHealth::Unknown | ReceiverHealth::Failing => 1,
            ReceiverHealth::Fast | ReceiverHealth::Slow => LIMITS.per_receiver,
        };
        if receiver.in_flight < limit && !receiver.due.is_empty() {
            assert!(receiver.turn.is_some(), "{webhook} waits without a turn");
        }
        if let Some(turn) = receiver.turn {
            let ring = &scheduler.rings[receiver.health.group() as usize];
            assert_eq!(ring.get(&turn), Some(webhook));
            turns += 1;
        }
        let has_work = !receiver.due.is_empty() || receiver.in_flight > 0;
        assert_eq!(receiver.idle.is_none(), has_work, "{webhook}");
        if let Some(idle) = receiver.idle {
            assert_eq!(scheduler.idle.get(&idle), Some(webhook));
        }
    }
    let in_rings: usize = scheduler.rings.iter().map(BTreeMap::len).sum();
    assert_eq!(in_rings, turns);
    let idle = scheduler.receivers.values().filter(|it| it.idle.is_some());
    assert_eq!(scheduler.idle.len(), idle.count());
}

#[test]
fn in_any_order_of_events_each_receiver_has_one_turn_or_is_idle() {
    const ENDS: [AttemptEnd; 5] = [
        AT_ONCE,
        SLOWLY,
        AttemptEnd::Failed,
        AttemptEnd::Unsent,
        AttemptEnd::Gone,
    ];
    let mut scheduler = DeliveryScheduler::new(LIMITS);
    let mut under_way = Vec::new();
    let mut random = 1_u64;
    let mut below = |end: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) as usize % end
    };
    for number in 0..5_000 {
        match below(5) {
            0 => {
                scheduler.schedule(at(0), scheduled(1 + below(6) as u128, number));
                scheduler.advance(at(0));
            }
            1 | 2 => under_way.extend(scheduler.take()),
            3 if !under_way.is_empty() => {
                let (ended, health) = under_way.swap_remove(below(under_way.len()));
                scheduler.ended(ended.webhook, health, ENDS[below(ENDS.len())]);
            }
            _ => scheduler.mark_failing(webhook(1 + below(6) as u128)),
        }
        assert_eq!(scheduler.in_flight(), under_way.len());
        assert_turns(&scheduler);
    }
}
