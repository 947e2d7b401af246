//! Repositories with damaged images, with files that a killed backup has left, and with a backup from the future.

use crate::backup::{backed_up, files_below, small};
use crate::client::Client;
use crate::test_directory::{TestDirectory, until};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tintype_egress::testing::server::{self, ScriptedServer};

fn prune(place: &TestDirectory) -> crate::test_directory::CommandOutput {
    place.run_without_data(&["backup", "prune", "backups", "--keep", "1"])
}

#[test]
fn a_backup_with_a_damaged_image_is_restored_without_it_on_request() {
    let place = backed_up();
    let image = files_below(&place.path("backups/pictures")).remove(0);
    let whole = fs::read(&image).expect("it");
    let backups = place.path("backups");
    let backups = backups.to_str().expect("a path");
    for damage in [Some(&whole[1..]), None] {
        match damage {
            Some(bytes) => fs::write(&image, bytes).expect("damage"),
            None => fs::remove_file(&image).expect("gone"),
        }
        let there = TestDirectory::new();
        let refused = there.run(&["restore", backups]);
        refused.assert_fault(&["--even-with-faults"]);
        let there = TestDirectory::new();
        let restored = there.run(&["restore", backups, "--even-with-faults"]);
        assert_eq!(restored.code, Some(0), "{restored:?}");
        for words in ["DAMAGED: ", "and 0 images"] {
            assert!(restored.out.contains(words), "{words}: {restored:?}");
        }
        let objects = there.data().join("objects");
        assert!(files_below(&objects).is_empty(), "{restored:?}");
    }
}

#[test]
fn pruning_removes_what_a_killed_backup_has_left() {
    let place = backed_up();
    let [old, young] = ["x.png#1", "x.png#2"].map(|name| {
        let file = place.path("backups/pictures/results").join(name);
        fs::write(&file, "half").expect("a file");
        file
    });
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 86_400);
    let file = fs::File::options().append(true).open(&old);
    file.and_then(|it| it.set_modified(long_ago)).expect("aged");
    let pruned = prune(&place);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert!(!old.exists() && young.exists());
}

/// Writes a file that is two days old.
fn write_old(file: &Path) {
    fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 86_400);
    let written = fs::File::create(file).and_then(|it| it.set_modified(long_ago));
    written.expect("a file");
}

#[test]
fn pruning_leaves_the_files_of_others_alone() {
    let place = backed_up();
    let [id] = &ids(&place)[..] else {
        panic!("one backup")
    };
    // Another repository, and files of other programs.
    let others = [
        format!("backups/tintype/backups/{id}/records.jsonl"),
        "backups/other/important.tar".into(),
        "backups/other/draft#1".into(),
        "backups/laptop/manifest.json".into(),
        "backups/20200101T000000000Z-00000000/notes.txt".into(),
        "pictures/holiday/a.jpg".into(),
        "pictures/holiday/b#2".into(),
        "pictures/results/holiday.png".into(),
    ];
    let others = others.map(|it| place.path("backups").join(it));
    others.iter().for_each(|it| write_old(it));
    let pruned = prune(&place);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    for file in &others {
        assert!(file.exists(), "{}", file.display());
    }
    assert_eq!(&ids(&place), std::slice::from_ref(id));
}

#[test]
fn a_location_without_a_backup_is_not_pruned() {
    let place = TestDirectory::new();
    let file = place.path("backups/backups/20200101T000000000Z-00000000/records.jsonl");
    write_old(&file);
    prune(&place).assert_fault(&["holds no backup"]);
    assert!(file.exists());
}

#[test]
fn a_backup_into_the_data_directory_is_refused() {
    let place = small();
    let before = files_below(&place.data());
    for inside in ["data", "data/objects", "data/new/backups", "data/../data"] {
        let refused = place.run(&["backup", inside]);
        refused.assert_fault(&["inside the data directory"]);
    }
    assert_eq!(files_below(&place.data()), before);
}

#[test]
fn a_running_service_counts_a_backup_once_it_is_stored() {
    let place = small();
    let service = place.serve();
    let server = format!("http://{}", service.address());
    let last = || {
        let stats = place.run(&["stats", "--json", "--server", &server]);
        let stats: Value = serde_json::from_str(&stats.out).expect("JSON");
        stats["last_export_at"].clone()
    };
    let backup = || place.run(&["backup", "backups", "--server", &server]);
    let ahead = place.path("backups/backups/29990101T000000000Z-00000000");
    fs::create_dir_all(&ahead).expect("a directory");
    fs::write(ahead.join("manifest.json"), "{}").expect("a manifest");
    backup().assert_fault(&["later than this one"]);
    assert_eq!(last(), Value::Null);
    fs::remove_dir_all(&ahead).expect("removed");
    let stored = backup();
    assert_eq!(stored.code, Some(0), "{stored:?}");
    assert!(!stored.err.contains("could not be recorded"), "{stored:?}");
    assert!(last().is_string());
    service.stop();
}

#[test]
fn a_backup_from_the_future_is_not_taken_for_the_newest() {
    let place = backed_up();
    let ahead = "29990101T000000000Z-00000000";
    let [from] = &ids(&place)[..] else {
        panic!("one backup")
    };
    let path = |id: &str| place.path("backups/backups").join(id);
    fs::rename(path(from), path(ahead)).expect("renamed");
    let manifest = path(ahead).join("manifest.json");
    let text = fs::read_to_string(&manifest).expect("it");
    fs::write(&manifest, text.replace(from, ahead)).expect("written");
    let refused = place.run(&["backup", "backups"]);
    refused.assert_fault(&[ahead, "clock"]);
    prune(&place).assert_fault(&[ahead, "clock", "nothing was removed"]);
    assert_eq!(ids(&place), [ahead]);
    fs::rename(path(ahead), place.path("aside")).expect("moved out");
    let made = place.run(&["backup", "backups"]);
    assert_eq!(made.code, Some(0), "{made:?}");
}

/// Starts a backend that answers while the test does not hold the lock, each time with a larger image.
fn larger_each_time(hold: &Arc<Mutex<()>>) -> ScriptedServer {
    let (hold, requests) = (Arc::clone(hold), AtomicU32::new(0));
    ScriptedServer::start(move |_| {
        let side = 16 * (1 + requests.fetch_add(1, Ordering::SeqCst));
        let mut png = Cursor::new(Vec::new());
        let pixel = |x: u32, y: u32| image::Rgb([x, y, x * y].map(|it| (it % 251) as u8));
        image::RgbImage::from_fn(side, side, pixel)
            .write_to(&mut png, image::ImageFormat::Png)
            .expect("an image");
        let image = BASE64_STANDARD.encode(png.into_inner());
        drop(hold.lock().expect("the lock"));
        server::json(200, &json!({"created": 1, "data": [{"b64_json": image}]}))
    })
}

fn until_done(client: &Client, job: &str) {
    until("the job is done", || {
        (client.job(job)["status"] == "done").then_some(())
    });
}

#[test]
fn a_backup_after_the_restore_of_an_older_one_does_not_replace_an_image_of_a_newer_one() {
    let hold = Arc::new(Mutex::new(()));
    let backend = larger_each_time(&hold);
    let config = format!(
        "[backends.peer]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\n[tiers.fast]\nbackends = [{{ name = \"peer\" }}]\n",
        backend.address()
    );
    let [place, again] = [TestDirectory::new(), TestDirectory::new()];
    for place in [&place, &again] {
        fs::write(place.path("config.toml"), &config).expect("a configuration");
    }
    let service = place.serve();
    let key = service.printed_key().expect("a key");
    let client = service.client(&key);
    let held = hold.lock().expect("the lock");
    let job = client.create_small_now("a-fox").accepted();
    let server = format!("http://{}", service.address());
    let older = place.run(&["backup", "backups", "--server", &server]);
    assert_eq!(older.code, Some(0), "{older:?}");
    drop(held);
    until_done(&client, &job);
    service.stop();
    let newer = place.run(&["backup", "backups"]);
    assert_eq!(newer.code, Some(0), "{newer:?}");
    let [older, newer] = &ids(&place)[..] else {
        panic!("two backups")
    };

    let backups = place.path("backups");
    let backups = backups.to_str().expect("a path");
    let restored = again.run(&["restore", backups, "--id", older]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    for words in [newer, "new backup location"] {
        assert!(restored.out.contains(words), "{words}: {restored:?}");
    }
    let service = again.serve();
    until_done(&service.client(&key), &job);
    service.stop();
    for repair in [&[][..], &["--repair"]] {
        let refused = again.run(&[&["backup", backups], repair].concat());
        refused.assert_fault(&[&job, newer, "new backup location"]);
    }
    assert_eq!(ids(&place), [older.clone(), newer.clone()]);
    for id in [older, newer] {
        let checked = place.run_without_data(&["verify", "--backup", "backups", "--id", id]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
    }
    let made = again.run(&["backup", "backups"]);
    assert_eq!(made.code, Some(0), "{made:?}");
}

#[test]
fn an_image_that_was_cut_in_the_object_store_is_not_backed_up_as_complete() {
    let place = small();
    let image = place.objects("results").remove(0);
    let whole = fs::read(&image).expect("it");
    fs::write(&image, &whole[..100]).expect("damage");
    for (extra, code) in [
        (&[][..], 1),
        (&["--repair"], 1),
        (&["--even-with-faults"], 0),
    ] {
        let made = place.run(&[&["backup", "backups"], extra].concat());
        assert_eq!(made.code, Some(code), "{made:?}");
        for words in ["DAMAGED: results/", "has 100 bytes"] {
            assert!(made.err.contains(words), "{words}: {made:?}");
        }
        assert!(!made.err.contains("MISSING"), "{made:?}");
    }
    let verify = ["verify", "--backup", "backups"];
    let checked = place.run_without_data(&verify);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.out.contains("damaged at the time"), "{checked:?}");
    let backups = place.path("backups");
    let restore = ["restore", backups.to_str().expect("a path")];
    let restored = TestDirectory::new().run(&restore);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert!(restored.out.contains("MISSING: results/"), "{restored:?}");
    assert!(!restored.out.contains("all verified"), "{restored:?}");

    fs::write(&image, &whole).expect("whole again");
    let made = place.run(&["backup", "backups"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    // The copy in the repository is intact.
    fs::write(&image, &whole[..100]).expect("damage");
    let made = place.run(&["backup", "backups", "--repair"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(place.run_without_data(&verify).code, Some(0));
    let restored = TestDirectory::new().run(&restore);
    assert!(restored.out.contains("all verified"), "{restored:?}");
}

/// The ids of the backups.
fn ids(place: &TestDirectory) -> Vec<String> {
    let listed = place.run_without_data(&["backup", "list", "backups", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let listed: Value = serde_json::from_str(&listed.out).expect("JSON");
    let backups = listed["data"].as_array().expect("backups").iter();
    backups
        .map(|it| it["id"].as_str().expect("an id").to_owned())
        .collect()
}
