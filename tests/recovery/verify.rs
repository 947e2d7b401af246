//! `verify` on damage that was done on purpose.

use crate::place::Place;
use std::fs;

#[test]
fn a_picture_that_is_gone_or_cut_is_a_fault() {
    let place = Place::new();
    let made = place.run(&["generate", "a fox", "--tier", "fast"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let clean = place.run(&["verify"]);
    assert_eq!(clean.code, Some(0), "{clean:?}");
    assert!(clean.out.contains("1 pictures"), "{clean:?}");

    let picture = place.objects("results").remove(0);
    let name = picture
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let bytes = fs::read(&picture).expect("it");
    fs::write(&picture, &bytes[1..]).expect("cut");
    let cut = place.run(&["verify"]);
    assert_eq!(cut.code, Some(1), "{cut:?}");
    let fault = |line: &&str| line.starts_with("FAULT ") && line.contains(&name);
    assert_eq!(cut.out.lines().filter(fault).count(), 1, "{cut:?}");

    fs::remove_file(&picture).expect("gone");
    let gone = place.run(&["verify"]);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert_eq!(gone.out.lines().filter(fault).count(), 1, "{gone:?}");
    assert!(gone.out.ends_with("1 faults\n"), "{gone:?}");
}
