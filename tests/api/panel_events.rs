//! The stream of change events of an account: changes that move no money and no job cause an event too.

use crate::support::raw::Wire;
use crate::support::{Customer, Server, until};
use serde_json::json;

/// Events of a stream in its first 15 polls if nothing changes: repetitions after 3 and after 9 polls.
const WITHOUT_CHANGE: usize = 2;

/// An account with the image of a done job.
fn account(server: &Server) -> (Customer, String) {
    let customer = server.customer("10");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    (customer, job)
}

#[test]
fn each_change_of_an_account_causes_an_event_and_changes_of_others_cause_none() {
    let server = Server::start();
    let browser = server.operators_browser();
    let accounts: [_; 4] = std::array::from_fn(|_| account(&server));
    // A job leaves the count of running jobs a moment after its end.
    until("no job runs", || {
        server.inside().system.queue().depths().running == 0
    });
    let mut streams = accounts.each_ref().map(|(customer, _)| {
        let path = format!("/accounts/{}/events", customer.account);
        let mut wire = Wire::open(server.address);
        wire.send(&browser.call(&server, "GET", &path).wire());
        while !wire.peek("event: ready") {}
        wire
    });
    let [
        (with_key, _),
        (with_favourite, favourite),
        (owner, image),
        _,
    ] = &accounts;
    server.another_key(&with_key.account, json!({}));
    let path = format!(
        "/accounts/{}/jobs/{favourite}/favourite",
        with_favourite.account
    );
    browser.call(&server, "PUT", &path).expect(204);
    let path = format!("/jobs/{image}/image");
    server.native(owner, "DELETE", &path).expect(204);

    // The first comment follows the 15th poll without a change.
    for wire in &mut streams {
        while !wire.peek(": still here") {}
    }
    // The end of the session ends the streams.
    browser.call(&server, "DELETE", "/session").expect(204);
    let events = streams.map(|mut wire| {
        let text = wire.answer_to("GET").expect("a stream").text();
        let (begin, _) = text.split_once(": still here").expect("a comment");
        begin.matches("event: changed").count()
    });
    let [key, favourite, image, unchanged] = events;
    for changed in [key, favourite, image] {
        assert!(changed > WITHOUT_CHANGE, "{events:?}");
    }
    assert_eq!(unchanged, WITHOUT_CHANGE);
}
