//! Tests of turns, shares and cancelled waiters.

use super::*;
use futures_util::FutureExt as _;
use std::future::Future;
use std::pin::Pin;

type Waiting = Pin<Box<dyn Future<Output = Permit<char>>>>;

/// Adds a waiter to the queue.
fn waiting(semaphore: &FairSemaphore<char>, key: char, units: u64) -> Waiting {
    let semaphore = semaphore.clone();
    let mut waiting: Waiting = Box::pin(async move { semaphore.acquire(key, units).await });
    assert!(waiting.as_mut().now_or_never().is_none(), "{key} waits");
    waiting
}

fn now(waiting: &mut Waiting) -> Option<Permit<char>> {
    waiting.as_mut().now_or_never()
}

#[test]
fn a_waiter_of_another_key_waits_for_one_turn() {
    let semaphore = FairSemaphore::new(1, 1);
    let held = semaphore.try_acquire('a', 1).expect("free");
    let mut crowd: Vec<Waiting> = (0..100).map(|_| waiting(&semaphore, 'a', 1)).collect();
    let mut single = waiting(&semaphore, 'b', 1);
    drop(held);
    let first = now(&mut crowd[0]).expect("the turn of a");
    assert!(now(&mut single).is_none());
    drop(first);
    let second = now(&mut single).expect("the turn of b");
    assert!(now(&mut crowd[1]).is_none());
    drop(second);
    assert!(now(&mut crowd[1]).is_some());
}

#[test]
fn a_key_acquires_at_most_its_share() {
    let semaphore = FairSemaphore::new(10, 5);
    let first = semaphore.acquire('a', 4).now_or_never().expect("free");
    let mut second = waiting(&semaphore, 'a', 2);
    assert!(semaphore.try_acquire('a', 2).is_none());
    let other = semaphore.acquire('b', 5).now_or_never().expect("free");
    assert_eq!(semaphore.free(), 1);
    drop(other);
    assert!(now(&mut second).is_none(), "its key's share is used up");
    drop(first);
    assert!(now(&mut second).is_some());
}

#[test]
fn a_request_beyond_the_share_gets_the_share() {
    let semaphore = FairSemaphore::new(10, 5);
    let held = semaphore.acquire('a', 1_000).now_or_never().expect("free");
    assert_eq!(semaphore.free(), 5);
    drop(held);
    assert_eq!(semaphore.free(), 10);
}

#[test]
fn a_large_request_is_not_overtaken_by_smaller_ones() {
    let semaphore = FairSemaphore::new(10, 10);
    let held = semaphore.try_acquire('a', 6).expect("free");
    let mut large = waiting(&semaphore, 'b', 8);
    let mut small = waiting(&semaphore, 'c', 1);
    assert!(semaphore.try_acquire('d', 1).is_none());
    drop(held);
    let permits = (now(&mut large), now(&mut small));
    assert!(permits.0.is_some() && permits.1.is_some());
    assert_eq!(semaphore.free(), 1);
}

#[test]
fn cancelled_waiters_take_nothing_and_delay_no_other() {
    let semaphore = FairSemaphore::new(2, 2);
    let held = semaphore.try_acquire('a', 2).expect("free");
    let cancelled = waiting(&semaphore, 'b', 2);
    let mut next = waiting(&semaphore, 'c', 2);
    let granted_unseen = waiting(&semaphore, 'd', 1);
    drop(cancelled);
    drop(held);
    drop(now(&mut next).expect("the turn of c"));
    assert_eq!(semaphore.free(), 1, "d has its unit and has not looked yet");
    drop(granted_unseen);
    assert_eq!(semaphore.free(), 2);
    assert!(semaphore.try_acquire('e', 2).is_some());
}

#[test]
fn a_cancelled_waiter_that_was_next_lets_the_others_have_the_free_units() {
    let semaphore = FairSemaphore::new(10, 10);
    let _held = semaphore.try_acquire('a', 6).expect("free");
    let large = waiting(&semaphore, 'b', 8);
    let mut small = waiting(&semaphore, 'c', 3);
    let mut own = waiting(&semaphore, 'b', 1);
    drop(large);
    let permits = (now(&mut small), now(&mut own));
    assert!(permits.0.is_some() && permits.1.is_some());
    assert_eq!(semaphore.free(), 0);
}
