//! Checks of limits before the account decides.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, PRICE, Plan, run, until};
use futures_util::poll;
use std::pin::pin;
use std::time::Duration;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;

#[test]
fn a_job_whose_end_is_readable_counts_neither_as_live_nor_twice() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(3)));
        let world = Plan::with(generator, 1).start();
        let job = world.accept(A, Tier::Fast, "a fox").await;
        until("it runs", || world.state(job).as_str() == "processing").await;
        world.engine.hold();
        until("its end is in flight", || world.engine.held() == 1).await;
        let announce = world.engine.release_one_unanswered();
        assert_eq!(world.state(job).as_str(), "done");

        // Each limit has room for one more job.
        let price = PRICE.parse().unwrap();
        let key = ApiKey {
            max_concurrent: Some(1),
            spend_limit: Some("0.078".parse().unwrap()),
            ..ApiKey::with_all_rights(KeyId(A.0), A, Timestamp::from_millis(0))
        };
        let account = world.handle(A);
        let mut live = pin!(account.check_live_jobs(&key, 1, None));
        let mut spending = pin!(account.check_key_spending(&key, price));
        assert!(poll!(&mut live).is_pending());
        assert!(poll!(&mut spending).is_pending());
        announce();
        assert!(live.await.is_ok());
        assert!(spending.await.is_ok());

        world.engine.open();
        let one_less = ApiKey {
            spend_limit: Some("0.077999".parse().unwrap()),
            ..key.clone()
        };
        assert!(account.check_key_spending(&one_less, price).await.is_err());
        world.check();
    });
}
