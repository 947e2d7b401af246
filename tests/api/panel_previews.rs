//! Previews of running jobs: for people of the account, from memory, while the job runs.

use crate::support::sample_images::png;
use crate::support::{OneNode, Options, Server, until};
use tintype_actors::ports::Preview;

#[test]
fn a_preview_is_shown_while_the_job_runs() {
    let server = Server::with(Options::new().one_node(OneNode::Progress));
    let customer = server.customer("1");
    let other = server.customer("1");
    let owner = server.person(&customer.account, "a@a.example", "owner");
    let stranger = server.person(&other.account, "b@b.example", "owner");
    server.generator.hold();
    let job = server.create(&customer);
    server.job_once(&customer, &job, "processing");
    until("it is at work", || server.generator.runs() == 1);
    let path = format!("/accounts/{}/jobs/{job}/preview", customer.account);
    let look = || owner.call(&server, "GET", &path).send();
    let bytes = png(8, 8);
    let show = || {
        let preview = Preview {
            bytes: bytes.clone().into(),
            media_type: "image/png",
        };
        server.generator.orders()[0].progress.show(preview);
    };
    // The service drops previews that come before a page asks.
    show();
    assert_eq!(look().status, 204);
    show();
    let seen = look();
    assert_eq!((seen.status, &seen.body), (200, &bytes));
    assert_eq!(seen.header("content-type"), Some("image/png"));
    assert_eq!(seen.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    stranger
        .call(&server, "GET", &path)
        .refused(404, "not_found");
    // The native API has no previews.
    let native = format!("/jobs/{job}/preview");
    server
        .native(&customer, "GET", &native)
        .refused(404, "not_found");
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    until("it is gone", || look().status == 204);
}
