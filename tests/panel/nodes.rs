//! The nodes page, with three real nodes on a database and a bucket.

use crate::accessibility::assert_no_barriers;
use crate::bucket::Bucket;
use crate::calls::calls;
use crate::service::Service;
use crate::{browse_alone, is_enabled};
use serde_json::json;
use tintype_postgres::testing::server;

#[test]
fn a_node_that_dies_leaves_the_list_and_the_others_serve_the_panel() {
    let (true, Some(server)) = (is_enabled(), server()) else {
        return;
    };
    let (database, bucket) = (server.database(), Bucket::start());
    let url = database.url();
    let settings = [
        ("TINTYPE__STORAGE__URL", url.as_str()),
        ("TINTYPE_SECRET", "what-the-nodes-of-a-test-have-in-common"),
        ("TINTYPE__STORAGE__OBJECTS", "s3://pictures/here"),
    ];
    let settings = [&settings[..], &bucket.variables()].concat();
    let settings = settings.as_slice();
    browse_alone(settings, |first, browser| async move {
        let second = Service::start_alone(settings);
        let third = Service::start_alone(settings);
        browser.sign_in_as_operator().await;
        let made = "return await make(base, { prompt: 'a fox', aspect_ratio: '1:1' });";
        calls(&browser, made).await;
        browser.go("#/nodes", "Nodes").await;
        let states = "return [...document.querySelectorAll('main tbody .badge')].map((it) => it.textContent);";
        browser.comes_to(states, json!(["up", "up", "up"])).await;
        browser.see("span", ", this node").await;
        assert_no_barriers(&browser, "Nodes").await;
        drop(third);
        browser.comes_to(states, json!(["up", "up"])).await;
        browser.leave().await;
        drop((first, second));
    });
}
