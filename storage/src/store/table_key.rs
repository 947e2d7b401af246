//! The encoding of ids, times and numbers in keys: byte order equals value order.

use super::records::{DailyUsageKey, IdempotencyKey, IdempotentCall, UsesOf};
use crate::domain::api_key::KeyHash;
use crate::domain::delivery::DeliveryId;
use crate::domain::ids::{
    AccountId, AuditId, BatchId, FileId, JobId, KeyId, NodeId, TransactionId,
};
use crate::domain::lock::LockName;
use crate::domain::person::{Digest32, PersonId};
use crate::domain::queue_entry::{QueueClass, QueueEntry};
use crate::domain::shard::Shard;
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::domain::webhook::WebhookId;
use uuid::Uuid;

/// A part of a key.
pub trait KeyBytes {
    fn write(&self, key: &mut Vec<u8>);
}

/// A record's whole key, without the table's prefix.
pub trait TableKey: KeyBytes + Sized {
    /// Reads the key from the front of `bytes`.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// Keys that begin with `P`.
pub trait Under<P: KeyBytes>: TableKey {}

/// The empty prefix.
pub struct All;

impl KeyBytes for All {
    fn write(&self, _: &mut Vec<u8>) {}
}

impl<K: TableKey> Under<All> for K {}
impl<B: TableKey> Under<AccountId> for (AccountId, B) {}
impl<B: TableKey> Under<DeliveryId> for (DeliveryId, B) {}
impl<B: TableKey> Under<NodeId> for (NodeId, B) {}
impl<B: TableKey> Under<Shard> for (Shard, B) {}
impl Under<AccountId> for DailyUsageKey {}
impl Under<UsesOf<'_>> for IdempotencyKey {}
impl Under<(AccountId, IdempotentCall)> for IdempotencyKey {}

/// The key of a setting: the table's prefix is the whole key.
impl KeyBytes for () {
    fn write(&self, _: &mut Vec<u8>) {}
}

impl TableKey for () {
    fn read(_: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

impl<A: KeyBytes, B: KeyBytes> KeyBytes for (A, B) {
    fn write(&self, key: &mut Vec<u8>) {
        self.0.write(key);
        self.1.write(key);
    }
}

impl<A: TableKey, B: TableKey> TableKey for (A, B) {
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Some((A::read(bytes)?, B::read(bytes)?))
    }
}

/// Types of a fixed length, with their conversions.
macro_rules! fixed {
    ($($type:ty: |$it:ident| $to:expr, |$bytes:ident| $from:expr;)+) => {$(
        impl KeyBytes for $type {
            fn write(&self, key: &mut Vec<u8>) {
                let $it = self;
                key.extend_from_slice(&$to);
            }
        }

        impl TableKey for $type {
            fn read(bytes: &mut &[u8]) -> Option<Self> {
                let ($bytes, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                $from
            }
        }
    )+};
}

macro_rules! ids {
    ($($id:ident)+) => {
        fixed! { $($id: |it| *it.as_bytes(), |it| Some(Self(Uuid::from_bytes(*it)));)+ }
    };
}

ids! {
    AccountId BatchId FileId JobId KeyId NodeId TransactionId AuditId WebhookId DeliveryId PersonId
}

// Days and times are never negative, so their big-endian bytes sort correctly. An enum is its index in the list.
fixed! {
    KeyHash: |it| it.0, |it| Some(Self(*it));
    Digest32: |it| it.0, |it| Some(Self(*it));
    Timestamp: |it| it.millis().to_be_bytes(), |it| Some(Self::from_millis(i64::from_be_bytes(*it)));
    i64: |it| it.to_be_bytes(), |it| Some(Self::from_be_bytes(*it));
    u64: |it| it.to_be_bytes(), |it| Some(Self::from_be_bytes(*it));
    u32: |it| it.to_be_bytes(), |it| Some(Self::from_be_bytes(*it));
    Tier: |it| [*it as u8], |it| Tier::ALL.get(usize::from(u8::from_be_bytes(*it))).copied();
    QueueClass: |it| [*it as u8], |it| QueueClass::ALL.get(usize::from(u8::from_be_bytes(*it))).copied();
    Shard: |it| [it.number()], |it| Self::from_number(u8::from_be_bytes(*it));
}

/// Structs, as the tuple of their fields.
macro_rules! composed {
    ($($type:ident { $($field:ident)+ })+) => {$(
        impl KeyBytes for $type {
            fn write(&self, key: &mut Vec<u8>) {
                $(self.$field.write(key);)+
            }
        }

        impl TableKey for $type {
            fn read(bytes: &mut &[u8]) -> Option<Self> {
                $(let $field = TableKey::read(bytes)?;)+
                Some(Self { $($field),+ })
            }
        }
    )+};
}

composed! {
    QueueEntry { tier class turn job }
    DailyUsageKey { account day key }
}

/// The locks without an id, by the byte of their kind.
const LOCKS: [LockName; 4] = [
    LockName::Operator,
    LockName::People,
    LockName::Content,
    LockName::Maintenance,
];
/// The kinds of locks with an id.
const FILE_LOCK: u8 = 4;
const UPLOADS_LOCK: u8 = 5;

impl KeyBytes for LockName {
    fn write(&self, key: &mut Vec<u8>) {
        match self {
            Self::File(file) => {
                key.push(FILE_LOCK);
                file.write(key);
            }
            Self::Uploads(account) => {
                key.push(UPLOADS_LOCK);
                account.write(key);
            }
            Self::Operator | Self::People | Self::Content | Self::Maintenance => {
                let kinds = LOCKS.iter().zip(0..);
                key.extend(kinds.filter_map(|(it, kind)| (it == self).then_some(kind)));
            }
        }
    }
}

impl TableKey for LockName {
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        *bytes = rest;
        match *kind {
            FILE_LOCK => FileId::read(bytes).map(Self::File),
            UPLOADS_LOCK => AccountId::read(bytes).map(Self::Uploads),
            kind => LOCKS.get(usize::from(kind)).copied(),
        }
    }
}

impl Under<Tier> for QueueEntry {}
impl Under<(Tier, QueueClass)> for QueueEntry {}

impl KeyBytes for IdempotentCall {
    fn write(&self, key: &mut Vec<u8>) {
        key.push(*self as u8);
    }
}

impl KeyBytes for UsesOf<'_> {
    fn write(&self, key: &mut Vec<u8>) {
        (self.account, self.call).write(key);
        // The length separates the uses of a name from those of a longer name with the same prefix.
        key.extend_from_slice(&(self.name.len() as u64).to_be_bytes());
        key.extend_from_slice(self.name.as_bytes());
    }
}

impl KeyBytes for IdempotencyKey {
    fn write(&self, key: &mut Vec<u8>) {
        self.uses().write(key);
        self.expires_at.write(key);
    }
}

impl TableKey for IdempotencyKey {
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let account = AccountId::read(bytes)?;
        let (letter, rest) = bytes.split_first()?;
        let mut calls = IdempotentCall::ALL.into_iter();
        let call = calls.find(|it| *it as u8 == *letter)?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
        let (name, rest) = rest.split_at_checked(length)?;
        *bytes = rest;
        Some(Self {
            account,
            call,
            name: std::str::from_utf8(name).ok()?.to_owned(),
            expires_at: Timestamp::read(bytes)?,
        })
    }
}
