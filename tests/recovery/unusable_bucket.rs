//! A start with a bucket that cannot be used: the service runs, and says that it is not ready, and why.

use crate::bucket::Bucket;
use crate::client::Connection;
use crate::postgres::use_bucket;
use crate::test_directory::{BINARY, TestDirectory, until};

fn with_bucket(bucket: &Bucket, objects: &str, variables: &[(&str, &str)]) -> TestDirectory {
    let mut place = TestDirectory::with(&[("STORAGE__OBJECTS", objects)]);
    use_bucket(&mut place, bucket);
    for (name, value) in variables {
        place.set_variable(name, value);
    }
    place
}

#[test]
fn a_service_does_not_claim_to_be_ready_with_an_unusable_bucket() {
    let bucket = Bucket::start();
    for (objects, variables, cause) in [
        (
            "s3://pictures/here",
            &[("AWS_SECRET_ACCESS_KEY", "not-that-of-the-bucket")][..],
            "the object store denies access",
        ),
        (
            "s3://elsewhere/here",
            &[],
            "the bucket of the object store does not exist",
        ),
        (
            "s3://pictures/here",
            &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9")],
            "the object store cannot be reached",
        ),
    ] {
        let place = with_bucket(&bucket, objects, variables);
        let mut service = place.begin_to_serve(place.command(BINARY));
        let said = until("the start is reported", || {
            assert_eq!(service.status(), None, "it keeps running");
            let said = service.output();
            said.contains("Panel: ").then_some(said)
        });
        assert!(!said.contains("is ready at"), "{said}");
        for words in ["is not ready", cause, objects] {
            assert!(said.contains(words), "no {words:?} in {said}");
        }
        let (_, address) = said.split_once("listens at http://").expect("an address");
        let (address, _) = address.split_once(',').expect("its end");
        let ready = until("the service answers", || {
            let mut connection = Connection::open(address).ok()?;
            connection.call("GET /readyz HTTP/1.1", "").ok()
        });
        let body = ready.json();
        assert_eq!(ready.status, 503, "{body}");
        assert_eq!(body["detail"], cause, "{body}");
        service.terminate();
        assert_eq!(service.code(), Some(0));
        let log = service.end();
        assert!(log.contains("WARN") && log.contains(objects), "{log}");
        for text in [&said, &log, &body.to_string()] {
            assert!(!text.contains("not-that-of-the-bucket"), "{text}");
        }
    }
    let place = with_bucket(&bucket, "s3://pictures/here", &[]);
    place.serve().stop();
}
