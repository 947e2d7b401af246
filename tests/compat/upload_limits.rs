//! The limits of uploaded files under concurrent calls, and what these calls hold up.

use crate::file_batches::upload_form;
use crate::fixture::ResponseAssertions;
use crate::support::http::Request;
use crate::support::nodes::two_nodes;
use crate::support::{Customer, OneNode, Options, Server, until};
use futures_util::FutureExt as _;
use std::pin::pin;
use tintype_storage::domain::file_batch::UploadedFile;
use tintype_storage::domain::ids::{AccountId, FileId};
use tintype_storage::engine::{Wait as _, commit_and_wait};
use tintype_storage::store::tables::UPLOADED_FILES;
use uuid::Uuid;

const INVALID: &str = "invalid_request_error";

fn block_on<T>(work: impl Future<Output = T>) -> T {
    actix_web::rt::System::new().block_on(work)
}

fn alone(max_files: i64) -> Server {
    let options = Options::new().set("batches.max_files_per_account", max_files);
    Server::with(options.one_node(OneNode::Alone))
}

/// An upload of a content of its own: a repeated one would find the file of the first.
fn call(server: &Server, customer: &Customer, content: &str) -> Request {
    let form = upload_form(&[("purpose", "batch")], "a", content.as_bytes());
    server.upload_call(customer, &form)
}

/// The number of stored contents.
fn contents(server: &Server) -> usize {
    let left = server.objects_left();
    left.iter().filter(|it| it.starts_with("uploads")).count()
}

fn records(server: &Server, customer: &Customer) -> Vec<UploadedFile> {
    let account: AccountId = customer.account.parse().unwrap();
    let page = UPLOADED_FILES.page(&server.inside().store, &account, 100, None);
    page.wait().unwrap().items
}

#[test]
fn the_uploads_of_an_account_take_one_turn_among_the_changes_of_all_accounts() {
    let server = alone(100);
    let customer = server.customer("1.00");
    let operator = &server.inside().locks.operator;
    let first = operator.lock().now_or_never();
    let calls = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let calls = calls.map(|it| server.in_background(call(&server, &customer, it)));
    until("all contents are stored", || contents(&server) == 8);
    let mut change = pin!(operator.lock());
    assert!(change.as_mut().now_or_never().is_none());
    drop(first);
    let change = block_on(change);
    let recorded = records(&server, &customer).len();
    assert!(recorded <= 1, "{recorded} uploads came first");
    drop(change);
    for call in calls {
        assert_eq!(call.join().unwrap().status, 200);
    }
}

#[test]
fn an_upload_beyond_the_limit_is_refused_without_the_lock_of_all_accounts() {
    let server = alone(2);
    let customer = server.customer("1.00");
    let account: AccountId = customer.account.parse().unwrap();
    server.upload(&customer, "a");
    let locks = &server.inside().locks;
    let turn = locks.uploads.lock(account).now_or_never();
    let refused = server.in_background(call(&server, &customer, "b"));
    until("the first check has passed", || contents(&server) == 2);
    let mut other = records(&server, &customer).remove(0);
    other.id = FileId(Uuid::from_u128(1));
    let writes = vec![UPLOADED_FILES.put(&(account, other.id), &other)];
    commit_and_wait(&**server.inside().store.engine(), writes).unwrap();
    let _change = locks.operator.lock().now_or_never().unwrap();
    drop(turn);
    let refused = refused.join().unwrap();
    let said = refused.assert_openai_error(400, INVALID, None);
    assert!(said.contains("2 files"), "{said}");
    assert_eq!(contents(&server), 1);
}

#[test]
fn a_key_adds_no_file_after_its_revocation() {
    let server = alone(100);
    let customer = server.customer("1.00");
    let account = customer.account.parse().unwrap();
    let turn = server.inside().locks.uploads.lock(account).now_or_never();
    let refused = server.in_background(call(&server, &customer, "a"));
    until("the content is stored", || contents(&server) == 1);
    let key = server.admin("PATCH", &format!("/keys/{}", customer.key_id));
    key.json(&serde_json::json!({"active": false})).expect(200);
    drop(turn);
    assert_eq!(refused.join().unwrap().status, 401);
    assert_eq!(contents(&server), 0);
    assert!(records(&server, &customer).is_empty());
}

#[test]
fn concurrent_uploads_at_two_nodes_keep_the_limit() {
    let nodes = two_nodes(Options::new().set("batches.max_files_per_account", 3));
    let customer = nodes[0].customer("1.00");
    let calls = [0, 1, 0, 1, 0, 1, 0, 1].into_iter().enumerate();
    let calls: Vec<_> = calls
        .map(|(at, node)| nodes[node].in_background(call(&nodes[node], &customer, &at.to_string())))
        .collect();
    let statuses = calls.into_iter().map(|it| it.join().unwrap().status);
    let mut statuses: Vec<u16> = statuses.collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 400, 400, 400, 400, 400]);
    assert_eq!(records(&nodes[0], &customer).len(), 3);
    assert_eq!(contents(&nodes[0]), 3);
}

#[test]
fn an_upload_that_waits_too_long_for_another_node_leaves_no_content() {
    let [node, other] = two_nodes(Options::new());
    let customer = node.customer("1.00");
    let held = block_on(other.inside().locks.operator.lock()).unwrap();
    call(&node, &customer, "a").expect(503);
    assert_eq!(contents(&node), 0);
    drop(held);
    call(&node, &customer, "a").expect(200);
}
