//! `verify` on deliberately damaged records.

use crate::test_directory::TestDirectory;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[test]
fn a_missing_or_truncated_image_is_a_fault() {
    let place = TestDirectory::new();
    let made = place.run(&["generate", "a fox", "--tier", "fast"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let clean = place.run(&["verify"]);
    assert_eq!(clean.code, Some(0), "{clean:?}");
    assert!(clean.out.contains("1 images"), "{clean:?}");

    let image = place.objects("results").remove(0);
    let name = image
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let bytes = fs::read(&image).expect("it");
    fs::write(&image, &bytes[1..]).expect("cut");
    let cut = place.run(&["verify"]);
    assert_eq!(cut.code, Some(1), "{cut:?}");
    let fault = |line: &&str| line.starts_with("FAULT ") && line.contains(&name);
    assert_eq!(cut.out.lines().filter(fault).count(), 1, "{cut:?}");

    fs::remove_file(&image).expect("gone");
    let gone = place.run(&["verify"]);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert_eq!(gone.out.lines().filter(fault).count(), 1, "{gone:?}");
    assert!(gone.out.ends_with("1 faults\n"), "{gone:?}");
}

/// Every file and directory with the metadata that `verify` must not change.
fn traces(directory: &Path) -> BTreeMap<PathBuf, (u64, u32, u64, SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("list") {
        let path = entry.expect("an entry").path();
        let data = fs::metadata(&path).expect("metadata");
        let content = match data.is_dir() {
            true => {
                found.extend(traces(&path));
                Vec::new()
            }
            false => fs::read(&path).expect("read"),
        };
        let modified = data.modified().expect("a time");
        found.insert(
            path,
            (data.ino(), data.mode(), data.len(), modified, content),
        );
    }
    found
}

/// Root runs `verify` on another user's directory: the service could not write to files that root creates there.
#[test]
fn verification_does_not_change_the_directory() {
    let place = TestDirectory::new();
    let made = place.run(&["generate", "a fox", "--tier", "fast"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let before = traces(&place.data());
    for _ in 0..2 {
        let verified = place.run(&["verify"]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
    let after = traces(&place.data());
    assert!(before.keys().eq(after.keys()), "{:?}", after.keys());
    for (path, trace) in &before {
        assert!(after[path] == *trace, "{} was changed", path.display());
    }
}
