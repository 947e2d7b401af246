//! Batches: submitted to one node, run by any, and canceled at another.

use super::account::amount;
use super::deliveries::callback;
use super::scenario::{ACCOUNTS, PRICE, TO_THE_END, World};
use std::sync::Arc;
use tintype_actors::account::AccountCommand;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::job::{PromptRef, PromptText};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{NewBatch, NewBatchJob, Store};
use tintype_storage::testing::samples;
use tokio::sync::oneshot;
use tokio::time::timeout;

impl World {
    pub fn send_batch(&self, at: usize) {
        let account = self.rng.pick(&ACCOUNTS).expect("an account");
        let tier = self.rng.pick(&[Tier::Fast, Tier::Pro]).expect("a model");
        let size = 1 + self.rng.below(5) as usize;
        let price = (0..size).try_fold(Amount::ZERO, |sum, _| sum.plus(amount(PRICE)));
        let one = NewBatchJob {
            tier,
            ..samples::batch_request(amount(PRICE))
        };
        let batch = NewBatch {
            key: KeyId(account.0),
            shown: None,
            account_rate_limit: None,
            requests: vec![one; size],
            price: price.expect("a sum"),
            text: PromptRef::Inline(PromptText::default()),
            callback: callback(account, &self.rng),
            idempotency: None,
            file: None,
        };
        let (reply, answer) = oneshot::channel();
        let Ok(guard) = self
            .account_at(at, account)
            .accept_batch(batch, None, reply)
        else {
            return;
        };
        let (shared, acknowledged) = (Arc::clone(&self.shared), Arc::clone(&self.acknowledged));
        actix::spawn(async move {
            let _guard = guard;
            let Ok(Ok(Ok(accepted))) = timeout(TO_THE_END, answer).await else {
                return;
            };
            shared.count("batches accepted");
            shared.trace(format!("batch {} is accepted", accepted.batch));
            acknowledged.lock().batches.push((account, accepted.batch));
        });
    }

    pub fn cancel_batch(&self, at: usize) {
        let batches = self.acknowledged.lock().batches.clone();
        let Some((account, batch)) = self.rng.pick(&batches) else {
            return;
        };
        let handle = self.account_at(at, account);
        let shared = Arc::clone(&self.shared);
        actix::spawn(async move {
            let canceled = handle.call(|reply| AccountCommand::CancelBatch {
                batch,
                to_entry: None,
                reply,
            });
            if let Ok(Ok(progress)) = canceled.await
                && progress.ended_at.is_none()
            {
                shared.count("batches canceled");
            }
        });
    }

    /// Checks that each acknowledged batch has ended. The verification of the store compares its counts and charges with its jobs.
    pub fn check_batches(&self, store: &Store) {
        for (account, id) in &self.acknowledged.lock().batches {
            let found = store.batch(*account, *id).wait().expect("readable");
            match found {
                Some((_, progress)) if progress.ended_at.is_some() => {}
                Some((_, progress)) => {
                    self.shared.fault(format!("batch {id} is {progress:?}"));
                }
                None => self.shared.fault(format!("batch {id} is lost")),
            }
        }
    }
}
