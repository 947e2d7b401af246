//! The sweeps as a whole: each deletes what is older than its retention, and nothing that is younger.

use crate::support::clock::age;
use crate::support::{Behaviour, Customer, Options, Server, fox, until};
use std::fs;
use std::time::Duration;
use tintype::server::sweeps::{SweepLimits, Sweeps, remove_objects};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::rate_count::RateCounts;
use tintype_storage::engine::{Wait as _, commit_and_wait};
use tintype_storage::store::All;
use tintype_storage::store::tables::{IDEMPOTENCY, RATE_COUNTS, SESSIONS};
use uuid::Uuid;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
/// A node that is not on record.
const GONE: NodeId = NodeId(Uuid::from_u128(7));

fn sweep(server: &Server) {
    let mut sweeps = Sweeps::new(SweepLimits {
        step: 100,
        steps: 100,
    });
    let system = actix_web::rt::System::new();
    system.block_on(async {
        sweeps.run(&server.instance().jobs).await;
        remove_objects(&server.instance().jobs, true).await;
    });
}

fn done_job(server: &Server, customer: &Customer) -> String {
    let job = server.create(customer);
    server.job_once(customer, &job, "done");
    job
}

/// Gives all objects the time at which the clock of the server started.
fn set_object_times(server: &Server) {
    for key in server.objects_left() {
        age(&server.objects().join(key), 0);
    }
}

fn objects_below(server: &Server, prefix: &str) -> Vec<String> {
    let mut objects = server.objects_left();
    objects.retain(|key| key.starts_with(prefix));
    objects
}

/// The entries of the audit log.
fn audited(server: &Server) -> usize {
    let found = server.admin("GET", "/audit?limit=100").expect(200).json();
    found["data"].as_array().unwrap().len()
}

struct World {
    server: Server,
    /// Its image is a favourite.
    kept: String,
    other: String,
}

impl World {
    /// A server with one record or object for each sweep.
    fn new(options: Options) -> Self {
        let server = Server::with(options);
        let customer = server.customer("10.00");
        let [kept, other] = [(); 2].map(|()| done_job(&server, &customer));
        let browser = server.operators_browser();
        for job in [&kept, &other] {
            let picture = format!(
                "/accounts/{}/jobs/{job}/picture?width=512",
                customer.account
            );
            browser.call(&server, "GET", &picture).expect(200);
        }
        let mark = format!("/accounts/{}/jobs/{kept}/favourite", customer.account);
        browser.call(&server, "PUT", &mark).expect(204);
        let call = server.generation(&customer, "/text-generations", &fox());
        let keyed = call.idempotent("a").expect(202).job_id();
        server.job_once(&customer, &keyed, "done");
        for orphan in ["inputs/left/0.png", "uploads/left"] {
            let path = server.objects().join(orphan);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "an orphan").unwrap();
        }
        let counts = RATE_COUNTS.put(&(GONE, 0), &RateCounts::default());
        commit_and_wait(&**server.inside().store.engine(), vec![counts]).unwrap();
        set_object_times(&server);
        Self {
            server,
            kept,
            other,
        }
    }
}

macro_rules! count {
    ($server:expr, $table:ident) => {{
        let mut records = 0;
        let count = |_, _| {
            records += 1;
            Ok(())
        };
        $table
            .each(&$server.inside().store, &All, count)
            .wait()
            .unwrap();
        records
    }};
}

#[test]
fn each_sweep_waits_for_its_retention() {
    let world = World::new(Options::new());
    let server = &world.server;
    let images = || objects_below(server, "results/").len();
    let views = || objects_below(server, "thumbnails/").len();
    let entries = audited(server);
    assert!(entries > 0);

    // The clock stands still, except in the lines below.
    server.clock.advance(HOUR * 11);
    sweep(server);
    assert_eq!((images(), views()), (3, 2));
    assert_eq!(count!(server, SESSIONS), 1);
    assert_eq!(count!(server, IDEMPOTENCY), 1);
    for orphans in ["inputs/", "uploads/"] {
        assert_eq!(objects_below(server, orphans).len(), 1, "{orphans}");
    }

    server.clock.advance(DAY * 29 - HOUR * 11);
    sweep(server);
    assert_eq!((images(), views()), (3, 2));
    assert_eq!(count!(server, SESSIONS), 0);
    assert_eq!(count!(server, IDEMPOTENCY), 0);
    for orphans in ["inputs/", "uploads/"] {
        assert_eq!(objects_below(server, orphans), [""; 0], "{orphans}");
    }

    server.clock.advance(DAY * 2);
    sweep(server);
    assert_eq!(
        objects_below(server, "results/"),
        [server.result_key(&world.kept)]
    );
    assert_eq!(views(), 0, "the next view creates it again");
    assert_eq!(audited(server), entries);

    server.clock.advance(DAY * 333);
    sweep(server);
    assert_eq!(audited(server), entries, "kept for 365 whole days");
    server.clock.advance(DAY * 2);
    sweep(server);
    assert_eq!(audited(server), 0);
    server.assert_settled();
}

#[test]
fn a_retention_of_0_days_keeps_everything() {
    let options = Options::new()
        .set("results.retention_days", 0)
        .set("audit.retention_days", 0);
    let world = World::new(options);
    let server = &world.server;
    let entries = audited(server);
    server.clock.advance(DAY * 4_000);
    sweep(server);
    assert_eq!(objects_below(server, "results/").len(), 3);
    assert_eq!(objects_below(server, "thumbnails/").len(), 2);
    assert_eq!(audited(server), entries);
}

#[test]
fn the_counts_of_a_node_that_has_left_are_swept() {
    let world = World::new(Options::new());
    assert_eq!(count!(world.server, RATE_COUNTS), 1);
    sweep(&world.server);
    assert_eq!(count!(world.server, RATE_COUNTS), 0);
}

#[test]
fn a_server_sweeps_unasked() {
    let world = World::new(Options::new().sweep_every(Duration::from_millis(10)));
    let server = &world.server;
    server.clock.advance(DAY * 31);
    let kept = [server.result_key(&world.kept)];
    until("the image of no favourite is gone", || {
        objects_below(server, "results/") == kept
    });
}

/// Retention removes all images, so the sweep of orphaned images is for services that keep images forever.
#[test]
fn a_node_sweeps_the_images_of_runs_that_no_job_names() {
    let options = Options::new()
        .shared()
        .set("results.retention_days", 0)
        .sweep_every(Duration::from_millis(10));
    let world = World::new(options);
    let server = &world.server;
    let named = objects_below(server, "results/");
    let orphan = server
        .objects()
        .join(format!("results/{}.2.png", world.other));
    fs::write(&orphan, "an orphan").unwrap();
    age(&orphan, 30);
    until("the orphan is gone", || !orphan.exists());
    assert_eq!(objects_below(server, "results/"), named);
}

/// A single process overwrites an image of the same format only.
#[test]
fn images_of_interrupted_runs_are_swept_although_images_are_kept_for_ever() {
    let server = Server::with(Options::new().set("results.retention_days", 0));
    let customer = server.customer("10.00");
    let [repeated, young] = [(); 2].map(|()| done_job(&server, &customer));
    server.generator.behave(Behaviour::Refuse("no"));
    let failed = server.create(&customer);
    server.job_once(&customer, &failed, "failed");
    set_object_times(&server);
    let mut named = objects_below(&server, "results/");
    let write = |key: String, days| {
        let path = server.objects().join(&key);
        fs::write(&path, "an orphan").unwrap();
        age(&path, days);
        key
    };
    let in_jpeg = |job| server.result_key(job).replace(".png", ".jpg");
    write(in_jpeg(&repeated), 30);
    age(&server.objects().join(server.result_key(&repeated)), 30);
    write(server.result_key(&failed), 2);
    named.push(write(in_jpeg(&young), 0));
    named.sort();
    sweep(&server);
    let mut left = objects_below(&server, "results/");
    left.sort();
    assert_eq!(left, named);
    server.assert_settled();
}
