//! Repositories with damaged images, with files that a killed backup has left, and with a backup from the future.

use crate::backup::{backed_up, files_below, small};
use crate::test_directory::TestDirectory;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

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
