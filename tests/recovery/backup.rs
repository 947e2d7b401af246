//! Backups of a running, busy service, and their restores.

use crate::kill_load::{
    Memory, acknowledged, all_delivered, all_done, configure, create_until_cut, register,
    settle_doubts,
};
use crate::peer::Peer;
use crate::test_directory::{CommandOutput, Service, TestDirectory, until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};
use uuid::Uuid;

const CALLERS: usize = 3;

fn backup(place: &TestDirectory, service: &Service, to: &Path) -> Value {
    let server = format!("http://{}", service.address());
    let to = to.to_str().expect("a path");
    let ended = place.run(&["backup", to, "--json", "--server", &server]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.out).expect("a manifest")
}

fn listed(place: &TestDirectory, manifest: &Value) -> BTreeSet<String> {
    let id = manifest["id"].as_str().expect("an id");
    let list = place
        .path("backups/backups")
        .join(id)
        .join("pictures.jsonl");
    let list = fs::read_to_string(list).expect("a list");
    let lines = list.lines().map(serde_json::from_str::<Value>);
    lines
        .map(|line| {
            line.expect("JSON")["key"]
                .as_str()
                .expect("a key")
                .to_owned()
        })
        .collect()
}

/// The job ids in a stopped data directory.
fn jobs_of(place: &TestDirectory) -> BTreeSet<String> {
    let exported = place.run(&["export"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let lines = exported.out.lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines
        .filter(|line| line["kind"] == "live_job" || line["kind"] == "ended_job")
        .map(|line| {
            let key = line["key"].as_str().expect("a key").to_owned();
            let id = Uuid::try_parse(&key[key.len() - 32..]).expect("an id");
            id.hyphenated().to_string()
        })
        .collect()
}

pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn only_the_owner_reads(directory: &Path) {
    for path in files_below(directory) {
        let mode = fs::metadata(&path).expect("it").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
    }
}

fn restored(
    from: &TestDirectory,
    peer: &Peer,
    arguments: &[&str],
) -> (TestDirectory, CommandOutput) {
    let place = TestDirectory::new();
    configure(&place, peer);
    let backups = from.path("backups");
    let backups = backups.to_str().expect("a path");
    let ended = place.run(&[&["restore", backups], arguments].concat());
    (place, ended)
}

#[test]
fn a_backup_taken_under_load_restores_to_all_that_was_acknowledged_before() {
    let (peer, place, memory) = (
        Peer::start(),
        TestDirectory::new(),
        Mutex::new(Memory::default()),
    );
    configure(&place, &peer);
    let service = place.serve();
    let key = service.printed_key().expect("a key");
    register(&place, &service, &peer);
    let client = service.client(&key);
    let ids = || -> BTreeSet<String> {
        let memory = memory.lock().expect("memory");
        memory.acknowledged.values().cloned().collect()
    };
    let more = |count: usize| {
        let wanted = acknowledged(&memory) + count;
        until("enough is acknowledged", || {
            (acknowledged(&memory) >= wanted).then_some(())
        });
    };
    let (mut known, mut manifests) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        // Dropping the service, also on a panic, ends the callers.
        let mut service = service;
        for _ in 0..CALLERS {
            scope.spawn(|| create_until_cut(&client, &peer, &memory));
        }
        for _ in 0..3 {
            more(30);
            known.push(ids());
            manifests.push(backup(&place, &service, &place.path("backups")));
        }
        // The service kept working during the backups.
        more(1);
        service.kill();
    });
    for pair in manifests.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|it| listed(&place, it));
        assert_eq!(
            pair[1]["pictures"]["copied"],
            after.difference(&before).count(),
            "images that were there are not copied again: {pair:?}"
        );
    }
    for manifest in &manifests {
        assert_eq!(manifest["running"], true);
        // These jobs may have ended before the backup copied their inputs.
        assert_eq!(manifest["pictures"]["missing"], 0, "inputs of live jobs");
    }
    only_the_owner_reads(&place.path("backups"));
    let checked = place.run_without_data(&[
        "verify",
        "--backup",
        place.path("backups").to_str().expect("a path"),
    ]);
    assert_eq!(checked.code, Some(0), "{checked:?}");

    for (known, manifest) in known.iter().zip(&manifests) {
        let id = manifest["id"].as_str().expect("an id");
        let (there, ended) = restored(&place, &peer, &["--id", id]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        only_the_owner_reads(&there.data());
        let verified = there.run(&["verify"]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
        let held = jobs_of(&there);
        let lost: Vec<&String> = known.difference(&held).collect();
        assert!(lost.is_empty(), "acknowledged before the backup: {lost:?}");
        assert_eq!(there.token(), place.token());
    }

    // The newest backup resumes: it runs live jobs and sends pending deliveries.
    let (there, ended) = restored(&place, &peer, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let held = jobs_of(&there);
    let service = there.serve();
    let held = held.into_iter().map(|id| (id.clone(), id)).collect();
    all_done(&service.client(&key), &held);
    let receiver = peer.clone();
    until("every job is delivered", || {
        let delivered = receiver.delivered();
        held.keys()
            .all(|id| delivered.contains_key(id))
            .then_some(())
    });
    service.stop();
    let verified = there.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    // Jobs acknowledged after the backup are still in the old directory, which delivers their webhooks.
    let service = place.serve();
    let client = service.client(&key);
    settle_doubts(&client, &peer, &memory);
    let jobs = memory.lock().expect("memory").acknowledged.clone();
    all_done(&client, &jobs);
    all_delivered(&peer, &jobs);
    service.stop();
}

/// A data directory with one image, and a backup taken while no service runs.
pub fn small() -> TestDirectory {
    let place = TestDirectory::new();
    let made = place.run(&["generate", "a fox", "--tier", "fast"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    place
}

pub fn backed_up() -> TestDirectory {
    let place = small();
    let made = place.run(&["backup", "backups"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for words in [
        "images: 1 (",
        "1 newly copied",
        "secrets-key",
        "admin-token",
    ] {
        assert!(made.out.contains(words), "{words}: {made:?}");
    }
    place
}

#[test]
fn a_backup_with_any_damaged_file_is_rejected_and_leaves_no_usable_directory() {
    let place = backed_up();
    let files = files_below(&place.path("backups"));
    // Manifest, records, object list, three keys, one image.
    assert_eq!(files.len(), 7, "{files:?}");
    for file in files {
        let whole = fs::read(&file).expect("it");
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        for content in [Some(&damaged[..]), Some(&whole[..whole.len() - 1]), None] {
            match content {
                Some(bytes) => fs::write(&file, bytes).expect("damage"),
                None => fs::remove_file(&file).expect("gone"),
            }
            let checked = place.run_without_data(&["verify", "--backup", "backups"]);
            assert_eq!(checked.code, Some(1), "{}: {checked:?}", file.display());
            let there = TestDirectory::new();
            let backups = place.path("backups");
            let refused = there.run(&["restore", backups.to_str().expect("a path")]);
            refused.assert_fault(&[]);
            there.run(&["verify"]).assert_fault(&[]);
        }
        fs::write(&file, &whole).expect("whole again");
    }
    let checked = place.run_without_data(&["verify", "--backup", "backups"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[test]
fn a_damaged_image_is_reported_with_its_backups_and_repaired() {
    let place = backed_up();
    let made = place.run(&["generate", "an owl", "--tier", "fast"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let made = place.run(&["backup", "backups"]);
    assert!(made.out.contains("images: 2 ("), "{made:?}");
    let listed = place.run_without_data(&["backup", "list", "backups", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let listed: Value = serde_json::from_str(&listed.out).expect("JSON");
    let ids: Vec<&str> = listed["data"]
        .as_array()
        .expect("backups")
        .iter()
        .map(|it| it["id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids.len(), 2);
    let images = files_below(&place.path("backups/pictures"));
    for image in &images {
        let mut bytes = fs::read(image).expect("it");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(image, bytes).expect("damage");
    }
    let verify = ["verify", "--backup", "backups"];
    let checked = place.run_without_data(&verify);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let faults: Vec<&str> = checked
        .out
        .lines()
        .filter(|it| it.starts_with("FAULT"))
        .collect();
    assert_eq!(faults.len(), 2, "{checked:?}");
    // Both backups need the older image.
    let both = format!("needed by the backups {}, {}", ids[0], ids[1]);
    let newest = format!("needed by the backups {}", ids[1]);
    for wanted in [&both, &newest] {
        assert!(
            faults.iter().any(|it| it.ends_with(wanted.as_str())),
            "{checked:?}"
        );
    }
    assert!(checked.out.contains("--repair"), "{checked:?}");
    let made = place.run(&["backup", "backups"]);
    assert!(made.out.contains("0 newly copied"), "{made:?}");
    assert_eq!(place.run_without_data(&verify).code, Some(1));
    let made = place.run(&["backup", "backups", "--repair"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.out.contains("repaired: 2 damaged images"), "{made:?}");
    for id in ids {
        let checked = place.run_without_data(&["verify", "--backup", "backups", "--id", id]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
    }
    let made = place.run(&["backup", "backups", "--repair"]);
    assert!(made.out.contains("0 newly copied"), "{made:?}");
    let table = place.run_without_data(&["backup", "list", "backups"]);
    assert_eq!(table.out.lines().count(), 1 + 5, "{table:?}");
    assert!(table.out.starts_with("BACKUP "), "{table:?}");
}

#[test]
fn a_damaged_list_of_the_newest_backup_does_not_prevent_a_repair() {
    let place = backed_up();
    let files = files_below(&place.path("backups"));
    let list = files.iter().find(|it| it.ends_with("pictures.jsonl"));
    fs::write(list.expect("a list"), "{}").expect("damage");
    place
        .run(&["backup", "backups"])
        .assert_fault(&["--repair"]);
    let made = place.run(&["backup", "backups", "--repair"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let checked = place.run_without_data(&["verify", "--backup", "backups"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[test]
fn an_invalid_location_is_named_as_the_location() {
    let place = small();
    for (location, wanted) in [
        ("ftp://x/y", "the backup location `ftp://x/y`: write s3://"),
        ("s3://id:hush@bucket/x", "credentials do not belong here"),
    ] {
        let refused = place.run(&["backup", location]);
        refused.assert_fault(&[wanted]);
        let is_clean = !refused.err.contains("storage.objects") && !refused.err.contains("hush");
        assert!(is_clean, "{refused:?}");
    }
}

#[test]
fn a_restore_requires_an_empty_directory() {
    let place = backed_up();
    let refused = place.run(&["restore", "backups"]);
    refused.assert_fault(&["is not empty", "--data-dir"]);
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let there = TestDirectory::new();
    fs::create_dir_all(there.data().join("lost+found")).expect("a fresh volume");
    let backups = place.path("backups");
    let restored = there.run(&["restore", backups.to_str().expect("a path")]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let verified = there.run(&["verify"]);
    assert!(
        verified.code == Some(0) && verified.out.contains("1 image\n"),
        "{verified:?}"
    );
    there
        .run(&["restore", "nowhere"])
        .assert_fault(&["no directory nowhere"]);
    let unknown = TestDirectory::new();
    fs::create_dir_all(unknown.path("empty")).expect("a directory");
    unknown
        .run(&["restore", "empty"])
        .assert_fault(&["holds no complete backup"]);
    assert!(!unknown.data().exists());
}

#[test]
fn the_omitted_parts_of_a_backup_are_named() {
    let place = small();
    let made = place.run(&["backup", "backups", "--without-pictures", "--without-keys"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for words in ["omitted: images", "omitted: key files"] {
        assert!(made.out.contains(words), "{words}: {made:?}");
    }
    let there = TestDirectory::new();
    let backups = place.path("backups");
    let restored = there.run(&["restore", backups.to_str().expect("a path")]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    for words in [
        "the backup contains no images",
        "the backup contains no secrets-key",
    ] {
        assert!(restored.out.contains(words), "{words}: {restored:?}");
    }

    let image = place.objects("results").remove(0);
    fs::remove_file(&image).expect("gone");
    for (extra, code) in [(&[][..], 1), (&["--json"], 1), (&["--even-with-faults"], 0)] {
        let made = place.run(&[&["backup", "backups"], extra].concat());
        assert_eq!(made.code, Some(code), "{made:?}");
        let words = "MISSING: the object store lacks 1 image of done jobs";
        assert!(made.err.contains(words), "{made:?}");
    }
    let checked = place.run_without_data(&["verify", "--backup", "backups"]);
    let name = image.file_name().expect("a name").to_string_lossy();
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.out.contains(&*name), "{checked:?}");
    let there = TestDirectory::new();
    let restored = there.run(&["restore", backups.to_str().expect("a path")]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert!(restored.out.contains("MISSING: results/"), "{restored:?}");
}

#[test]
fn pruning_keeps_the_newest_backups_and_the_images_that_they_need() {
    let place = backed_up();
    let first_image = files_below(&place.path("backups/pictures")).remove(0);
    let made = place.run(&["generate", "an owl", "--tier", "fast"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    // The service has lost the first image, so only the first backup needs it.
    let name = first_image.file_name().expect("a name");
    fs::remove_file(place.data().join("objects/results").join(name)).expect("gone");
    let aside = place.path("aside");
    fs::rename(&first_image, &aside).expect("aside");
    let made = place.run(&["backup", "backups"]);
    assert!(made.err.contains("MISSING: "), "{made:?}");
    fs::rename(&aside, &first_image).expect("back");
    let interrupted = place.path("backups/backups/20200101T000000000Z-00000000");
    fs::create_dir(&interrupted).expect("a directory");
    fs::write(interrupted.join("records.jsonl"), "half").expect("a file");
    let prune = |more: &[&str]| {
        place.run_without_data(&[&["backup", "prune", "backups", "--keep", "1"], more].concat())
    };
    let young = prune(&["--dry-run"]);
    assert!(
        young.out.contains("would remove 1 backup and 0 images"),
        "{young:?}"
    );
    for file in files_below(&place.path("backups")) {
        let long_ago = SystemTime::now() - Duration::from_secs(2 * 86_400);
        let file = fs::File::options().append(true).open(file);
        file.and_then(|it| it.set_modified(long_ago)).expect("aged");
    }
    let before = files_below(&place.path("backups"));
    let shown = prune(&["--dry-run"]);
    assert!(
        shown.out.contains("would remove 1 backup and 1 image ("),
        "{shown:?}"
    );
    assert!(
        shown.out.contains("would remove interrupted 20200101T")
            && shown.out.contains("and 1 interrupted backup;"),
        "{shown:?}"
    );
    assert_eq!(files_below(&place.path("backups")), before);

    let list = before.iter().rfind(|it| it.ends_with("pictures.jsonl"));
    let list = list.expect("the list of the newest backup");
    let whole = fs::read(list).expect("it");
    fs::write(list, "{}").expect("damage");
    prune(&[]).assert_fault(&["nothing was removed", "--repair"]);
    assert_eq!(files_below(&place.path("backups")), before);
    fs::write(list, whole).expect("whole again");

    let pruned = prune(&["--json"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    let pruned: Value = serde_json::from_str(&pruned.out).expect("JSON");
    assert_eq!(pruned["pictures"], 1, "{pruned}");
    assert_eq!(pruned["interrupted"].as_array().map(Vec::len), Some(1));
    assert!(!first_image.exists() && !interrupted.exists());
    let kept = pruned["kept"][0].as_str().expect("an id");
    assert_eq!(pruned["kept"], json!([kept]));
    assert_eq!(pruned["removed"].as_array().expect("ids").len(), 1);
    let left = files_below(&place.path("backups"));
    let of_kept = left.iter().filter(|it| it.to_string_lossy().contains(kept));
    assert_eq!((left.len(), of_kept.count()), (7, 6), "{left:?}");
    let there = TestDirectory::new();
    let backups = place.path("backups");
    let restored = there.run(&["restore", backups.to_str().expect("a path")]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
}
