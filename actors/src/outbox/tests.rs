//! Turns and bounds.

use super::*;
use std::time::Duration;
use uuid::Uuid;

const LIMITS: OutboxLimits = OutboxLimits {
    total: 8,
    per_receiver: 3,
};
const AT_ONCE: Ending = Ending::Succeeded(Duration::ZERO);
const SLOWLY: Ending = Ending::Succeeded(BRISK);

fn webhook(number: u128) -> WebhookId {
    WebhookId(Uuid::from_u128(number))
}

fn parcel(to: u128, number: u128) -> Parcel {
    Parcel {
        id: DeliveryId(Uuid::from_u128(to * 1_000_000 + number)),
        account: AccountId(Uuid::nil()),
        webhook: webhook(to),
        due: at(0),
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// An outbox with so many due for each of these receivers.
fn due(receivers: impl IntoIterator<Item = u128>, each: u128) -> Outbox {
    let mut outbox = Outbox::new(LIMITS);
    add(&mut outbox, receivers, each);
    outbox
}

fn add(outbox: &mut Outbox, receivers: impl IntoIterator<Item = u128>, each: u128) {
    for to in receivers {
        (0..each).for_each(|number| outbox.schedule(at(0), parcel(to, number)));
    }
    outbox.advance(at(0));
}

fn taken(outbox: &mut Outbox) -> Vec<Parcel> {
    std::iter::from_fn(|| outbox.take())
        .map(|(it, _)| it)
        .collect()
}

/// Makes all attempts that there are, with this end.
fn run(outbox: &mut Outbox, ending: Ending) {
    while let Some((parcel, standing)) = outbox.take() {
        outbox.ended(parcel.webhook, standing, ending);
    }
}

fn of(parcels: &[Parcel], to: u128) -> usize {
    let own = parcels.iter().filter(|it| it.webhook == webhook(to));
    own.count()
}

#[test]
fn nothing_is_attempted_before_it_is_due() {
    let mut outbox = Outbox::new(LIMITS);
    outbox.schedule(at(20), parcel(1, 1));
    outbox.schedule(at(10), parcel(1, 2));
    assert_eq!(outbox.next_due(), Some(at(10)));
    outbox.advance(at(9));
    assert_eq!(outbox.take(), None);
    outbox.advance(at(10));
    assert_eq!(taken(&mut outbox), [parcel(1, 2)]);
    assert_eq!(outbox.next_due(), Some(at(20)));
    assert_eq!((outbox.under_way(), outbox.waiting()), (1, 1));
}

#[test]
fn hostile_100_a_receiver_with_many_due_ones_leaves_room_for_others() {
    let mut outbox = due([1], 10_000);
    add(&mut outbox, [2], 1);
    assert_eq!(taken(&mut outbox), [parcel(1, 0), parcel(2, 0)]);
    outbox.ended(webhook(1), Standing::Untried, AT_ONCE);
    let three = [1, 2, 3].map(|number| parcel(1, number));
    assert_eq!(taken(&mut outbox), three);
    outbox.ended(webhook(1), Standing::Brisk, AT_ONCE);
    assert_eq!(taken(&mut outbox), [parcel(1, 4)]);
}

#[test]
fn receivers_that_have_not_answered_yet_get_one_place_each_and_three_quarters_together() {
    let mut outbox = due(1..=20, 10);
    let begun = taken(&mut outbox);
    assert_eq!(begun.len(), 6, "{begun:?}");
    assert!((1..=6).all(|to| of(&begun, to) == 1), "{begun:?}");
    // One that had nothing to send is as unknown as before, and has had its turn.
    outbox.ended(webhook(1), Standing::Untried, Ending::Unsent);
    assert_eq!(taken(&mut outbox), [parcel(7, 0)]);
}

#[test]
fn hostile_100_unknown_receivers_leave_places_to_one_that_answers() {
    let mut outbox = due([99], 1);
    run(&mut outbox, AT_ONCE);
    // It has been quiet meanwhile, and is known all the same.
    add(&mut outbox, 1..=20, 1);
    assert_eq!(taken(&mut outbox).len(), 6);
    add(&mut outbox, [99], 5);
    assert_eq!(taken(&mut outbox), [parcel(99, 0), parcel(99, 1)]);
}

#[test]
fn a_receiver_that_fails_gets_one_place_until_it_succeeds() {
    let mut outbox = due([1], 10);
    assert_eq!(taken(&mut outbox).len(), 1);
    outbox.ended(webhook(1), Standing::Untried, AT_ONCE);
    assert_eq!(taken(&mut outbox).len(), 3);
    (0..3).for_each(|_| outbox.ended(webhook(1), Standing::Brisk, Ending::Failed));
    assert_eq!(taken(&mut outbox).len(), 1);
    outbox.ended(webhook(1), Standing::Ailing, AT_ONCE);
    assert_eq!(taken(&mut outbox).len(), 3);
}

#[test]
fn failing_and_slow_receivers_take_half_of_all_places_at_most() {
    for ending in [Ending::Failed, SLOWLY] {
        let mut outbox = due(1..=20, 1);
        run(&mut outbox, ending);
        add(&mut outbox, 1..=20, 10);
        let begun = taken(&mut outbox);
        assert_eq!(begun.len(), 4, "{ending:?}");
        // An unknown one has a place left, and one that turns out to be brisk the others.
        add(&mut outbox, [99], 10);
        assert_eq!(taken(&mut outbox), [parcel(99, 0)]);
        outbox.ended(webhook(99), Standing::Untried, AT_ONCE);
        assert_eq!(of(&taken(&mut outbox), 99), 3);
        // One that recovers goes among those, and does not wait for a place of the doubtful.
        outbox.ended(begun[0].webhook, Standing::Ailing, AT_ONCE);
        let own = of(&taken(&mut outbox), begun[0].webhook.0.as_u128());
        assert_eq!(own, 1, "the last place of all: {ending:?}");
    }
}

#[test]
fn a_slow_receiver_has_as_many_places_as_another() {
    let mut outbox = due([1], 10);
    outbox.take();
    outbox.ended(webhook(1), Standing::Untried, SLOWLY);
    assert_eq!(taken(&mut outbox).len(), 3);
}

#[test]
fn a_receiver_that_failed_before_the_process_began_counts_as_failing() {
    let mut outbox = Outbox::new(LIMITS);
    (1..=20).for_each(|to| outbox.suspect(webhook(to)));
    add(&mut outbox, 1..=20, 1);
    assert_eq!(taken(&mut outbox).len(), 4);
    add(&mut outbox, [99], 1);
    assert_eq!(taken(&mut outbox), [parcel(99, 0)]);
}

#[test]
fn what_lies_too_far_ahead_is_brought_forward() {
    let mut outbox = Outbox::new(LIMITS);
    for (moment, number) in [(5, 1), (900, 2), (901, 3)] {
        outbox.schedule(at(moment), parcel(1, number));
    }
    outbox.pull_in(at(10));
    assert_eq!((outbox.waiting(), outbox.next_due()), (3, Some(at(5))));
    outbox.advance(at(10));
    assert_eq!(outbox.next_due(), None);
}

#[test]
fn what_is_scheduled_moves_with_a_clock_that_is_set_back() {
    let mut outbox = Outbox::new(LIMITS);
    for (moment, number) in [(5, 1), (900, 2), (901, 3)] {
        outbox.schedule(at(moment), parcel(1, number));
    }
    outbox.set_back(899);
    outbox.advance(at(0));
    assert_eq!(taken(&mut outbox), [parcel(1, 1)]);
    outbox.advance(at(1));
    assert_eq!((outbox.waiting(), outbox.next_due()), (2, Some(at(2))));
}

#[test]
fn quiet_receivers_are_remembered_up_to_a_number_and_deleted_ones_not_at_all() {
    let many = MAX_QUIET as u128 + 10;
    let mut outbox = Outbox::new(LIMITS);
    for to in 1..=many {
        add(&mut outbox, [to], 1);
        run(&mut outbox, Ending::Failed);
    }
    assert_eq!(outbox.receivers.len(), MAX_QUIET);
    assert!(!outbox.receivers.contains_key(&webhook(10)));
    assert!(outbox.rings.iter().all(BTreeMap::is_empty));
    add(&mut outbox, [many], 2);
    let (_, standing) = outbox.take().unwrap();
    assert_eq!(standing, Standing::Ailing);
    outbox.ended(webhook(many), standing, Ending::Gone);
    assert!(outbox.receivers.contains_key(&webhook(many)), "one is left");
    run(&mut outbox, Ending::Gone);
    assert!(!outbox.receivers.contains_key(&webhook(many)));
    assert_eq!(outbox.quiet.len(), outbox.receivers.len());
}
