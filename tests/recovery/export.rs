//! Export and import on the command line: moving off an engine, and across format versions.

use crate::backup::small;
use crate::test_directory::TestDirectory;
use std::fs;

#[test]
fn an_imported_data_directory_is_exported_identically() {
    let place = small();
    let out = place.run(&["export"]);
    assert_eq!(out.code, Some(0), "{out:?}");
    let filed = place.run(&["export", "--output", "records.jsonl"]);
    assert_eq!(filed.code, Some(0), "{filed:?}");
    assert_eq!(
        fs::read_to_string(place.path("records.jsonl")).expect("it"),
        out.out
    );
    place
        .run(&["export", "--output", "records.jsonl"])
        .assert_fault(&["records.jsonl exists", "--output"]);

    let there = TestDirectory::new();
    let file = place.path("records.jsonl");
    let file = file.to_str().expect("a path");
    let imported = there.run(&["import", file]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    assert!(imported.out.contains("secrets-key"), "{imported:?}");
    assert_eq!(there.run(&["export"]).out, out.out);
    there.run(&["import", file]).assert_fault(&["is not empty"]);
    // The records plus the images restore the whole service.
    for name in ["objects", "secrets-key", "file-signing-key", "admin-token"] {
        fs::rename(place.data().join(name), there.data().join(name)).expect("moved");
    }
    let verified = there.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    there.serve().stop();
}

#[test]
fn a_running_service_is_exported_as_a_stopped_one() {
    let place = small();
    let service = place.serve();
    let server = format!("http://{}", service.address());
    let running = place.run(&["export", "--server", &server]);
    service.stop();
    let stopped = place.run(&["export"]);
    assert_eq!(
        (running.code, stopped.code),
        (Some(0), Some(0)),
        "{running:?}"
    );
    // Only the last use of keys is recorded later.
    let lines = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| line.contains("\"kind\":\"") && !line.contains("last_use"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(lines(&running.out), lines(&stopped.out));
}

#[test]
fn a_damaged_export_is_rejected_by_its_line_and_leaves_no_usable_directory() {
    let place = small();
    let text = place.run(&["export"]).out;
    let lines: Vec<&str> = text.lines().collect();
    let count = lines.len();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let cases = [
        (
            joined(&lines[..count - 1]),
            format!("line {count} of the export: it ends here"),
        ),
        (
            joined(&[&lines[..3], &lines[2..]].concat()),
            "line 4 of the export: it repeats".into(),
        ),
    ];
    for (content, words) in cases {
        let there = TestDirectory::new();
        fs::write(there.path("bad.jsonl"), content).expect("a file");
        there.run(&["import", "bad.jsonl"]).assert_fault(&[&words]);
        there.run(&["verify"]).assert_fault(&["interrupted"]);
        there
            .run(&["import", "bad.jsonl"])
            .assert_fault(&["unfinished"]);
    }
}

#[test]
fn a_file_that_is_no_export_of_this_format_leaves_nothing_behind() {
    let place = small();
    let text = place.run(&["export"]).out;
    let other_format = text.replacen(":1,", ":9,", 1);
    for (content, words) in [
        (&*other_format, "line 1 of the export: it has format 9"),
        ("{}\n", "this is not an export of Tintype"),
        ("", "it is empty"),
    ] {
        let there = TestDirectory::new();
        fs::write(there.path("bad.jsonl"), content).expect("a file");
        there.run(&["import", "bad.jsonl"]).assert_fault(&[words]);
        assert!(!there.data().exists(), "{words}");
        fs::write(there.path("good.jsonl"), &text).expect("a file");
        let imported = there.run(&["import", "good.jsonl"]);
        assert_eq!(imported.code, Some(0), "{imported:?}");
    }
}
