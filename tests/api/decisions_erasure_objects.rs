//! Erasure while the object store refuses to delete objects.

use crate::decisions_erasure::{NAME, content, create, traces_outside_of_the_log, upload};
use crate::support::{Options, Server, until};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use std::fs;
use std::thread;
use std::time::Duration;
use tintype_storage::engine::{Wait as _, commit_and_wait};

/// Makes the deletion of an object fail. Returns what restores the object.
fn refuse_deletion(server: &Server, folder: &str) -> impl FnOnce() + use<> {
    let mut objects = server.objects_left();
    objects.retain(|it| it.starts_with(folder));
    let [object] = &objects[..] else {
        panic!("{objects:?}");
    };
    let file = server.objects().join(object);
    let content = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    fs::write(file.join("in the way"), "").unwrap();
    move || {
        fs::remove_dir_all(&file).unwrap();
        fs::write(file, content).unwrap();
    }
}

#[test]
fn an_account_is_not_called_erased_while_the_object_store_refuses_a_deletion() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let job = create(&server, &customer, json!({"prompt": NAME.repeat(900)}));
    server.job_once(&customer, &job, "done");
    upload(&server, &customer).expect(200);
    let account = format!("/accounts/{}", customer.account);
    let name = || server.admin("GET", &account).expect(200).json()["name"].clone();
    let (old_name, erase) = (
        name(),
        server.admin("DELETE", &format!("{account}/content")),
    );
    for folder in ["words/", "results/", "uploads/"] {
        let restore = refuse_deletion(&server, folder);
        for _ in 0..2 {
            erase.refused(502, "storage_unavailable");
            assert_eq!(name(), old_name, "{folder}");
        }
        restore();
    }
    let erased = erase.expect(200).json();
    assert_eq!(erased["next_cursor"], Value::Null);
    assert_eq!(server.objects_left(), [""; 0]);
    assert_ne!(name(), old_name);
    server.assert_settled();
}

/// A repeated command that looks for jobs by their metadata finds no erased job.
#[test]
fn a_job_is_not_erased_while_the_object_store_refuses_to_delete_its_text() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let body = json!({"prompt": NAME.repeat(900), "metadata": {"user": NAME}});
    let job = create(&server, &customer, body);
    server.job_once(&customer, &job, "done");
    let restore = refuse_deletion(&server, "words/");
    let erase = server.admin("DELETE", &content(&job));
    erase.refused(502, "storage_unavailable");
    let found = || {
        let query = format!(
            "/jobs?account_id={}&metadata[user]={NAME}",
            customer.account
        );
        server.admin("GET", &query).expect(200).json()["data"].clone()
    };
    restore();
    assert_eq!(found()[0]["job_id"], job.as_str());
    erase.expect(204);
    assert_eq!(found(), json!([]));
    assert_eq!(server.objects_left(), [""; 0]);
    server.assert_settled();
}

/// A page then contains an older job in the place of the deleted one.
#[test]
fn no_job_is_skipped_if_retention_deletes_another_while_an_erasure_deletes_texts() {
    let options = Options::new();
    // The lock of nodes is a record, which no poll takes at once.
    if options.is_on_postgres() {
        return;
    }
    let server = Server::with(options);
    let customer = server.customer("10.00");
    let done = || {
        let job = create(&server, &customer, json!({"prompt": NAME.repeat(900)}));
        server.job_once(&customer, &job, "done");
        job
    };
    let (favourite, _) = (done(), done());
    let core = server.inside();
    let account = customer.account.parse().unwrap();
    let mark = core
        .store
        .put_favourite(account, favourite.parse().unwrap(), core.now());
    commit_and_wait(&**core.store.engine(), mark).unwrap();
    server.clock.advance(Duration::from_secs(2 * 86_400));
    done();
    let texts = || {
        let objects = server.objects_left().into_iter();
        objects.filter(|it| it.starts_with("words/")).count()
    };
    assert_eq!(texts(), 3);

    let path = format!("/accounts/{}/content?limit=2", customer.account);
    let guard = core.locks.content.lock().now_or_never();
    let guard = guard.expect("a free lock").unwrap();
    let first = server.admin("DELETE", &path);
    let first = thread::spawn(move || first.expect(200).json());
    until("the texts of the page are deleted", || texts() == 1);
    let (deletion, _) = core
        .store
        .delete_ended_jobs(core.now().day(), &[])
        .wait()
        .unwrap();
    let deletion = deletion.expect("an old job that is no favourite");
    let system = actix_web::rt::System::new();
    let deleted = system.block_on(core.commit_job_deletion(deletion, guard));
    deleted.unwrap();

    let mut step = first.join().unwrap();
    for _ in 0..9 {
        let Some(next) = step["next_cursor"].as_str() else {
            break;
        };
        let call = format!("{path}&cursor={next}");
        step = server.admin("DELETE", &call).expect(200).json();
    }
    assert_eq!(step["next_cursor"], Value::Null);
    assert_eq!(traces_outside_of_the_log(&server), [""; 0]);
    assert_eq!(texts(), 0);
    server.assert_settled();
}
