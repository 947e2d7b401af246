//! No input causes a panic, a stack overflow or an endless list of faults.

use super::super::DEFAULT_TOML;
use super::TestConfig;

#[test]
fn deep_nesting_is_refused() {
    let deep = [
        format!("a = {}", "[".repeat(500_000)),
        format!("a = {}", "{a=".repeat(200_000)),
        format!("{} = 1", vec!["a"; 200_000].join(".")),
        format!("[{}]", vec!["a"; 200_000].join(".")),
        format!("[[{}]]", vec!["a"; 200_000].join(".")),
    ];
    for content in deep {
        assert!(!TestConfig::file(content).faults().is_empty());
    }
}

#[test]
fn a_flood_of_faults_is_truncated_and_counted() {
    let flood: String = (0..100_000).map(|n| format!("k{n} = 1\n")).collect();
    for content in [
        flood.clone(),
        format!("[server]\n{flood}"),
        "x\n".repeat(100_000),
        "=".repeat(300_000),
    ] {
        let given = TestConfig::file(content);
        assert!(given.faults().len() <= 100);
        let text = given.load().unwrap_err().to_string();
        assert!(text.len() < 40_000, "{}", text.len());
    }
    let text = TestConfig::file(flood).load().unwrap_err().to_string();
    assert!(text.ends_with("and 99900 more"));
}

#[test]
fn a_flood_of_backends_or_headers_is_rejected() {
    let many: String = (0..10_000)
        .map(|n| format!("[backends.b{n}]\nkind = 'procedural'\n"))
        .collect();
    let faults = TestConfig::file(many).faults();
    assert_eq!(faults.len(), 1, "{faults:#?}");
    let headers: String = (0..10_000).map(|n| format!("X-{n} = 'v'\n")).collect();
    let many = format!(
        "[backends.b]\nkind = 'comfyui'\nbase_url = 'http://a'\n[backends.b.headers]\n{headers}"
    );
    let faults = TestConfig::file(many).faults();
    assert_eq!(faults.len(), 1, "{faults:#?}");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let given = TestConfig::file("\"a\\u001b[2Jb\" = 1\nlog.format = \"x\\u0007\"\n")
        .env("TINTYPE__A\u{1b}", "1")
        .env("TINTYPE__LOG__FILTER", "=\u{1b}[31m=");
    let text = given.load().unwrap_err().to_string();
    assert!(
        !text.chars().any(|c| c.is_control() && c != '\n'),
        "{text:?}"
    );
}

#[test]
fn any_prefix_of_the_file_and_any_single_flipped_byte_loads_or_fails() {
    // Either result is right: prefixes are mostly valid, flipped bytes mostly not.
    let bytes = DEFAULT_TOML.as_bytes();
    for cut in (0..bytes.len()).step_by(331) {
        let _ = TestConfig::file(&bytes[..cut]).load();
        let mut flipped = bytes.to_vec();
        flipped[cut] ^= 0x41;
        let _ = TestConfig::file(flipped).load();
    }
}

#[test]
fn malformed_variables_are_faults() {
    for value in [
        "",
        " ",
        "[",
        "{",
        "\"",
        "'''",
        "\u{0}",
        "[[[[",
        "{a={b={}}}",
        "inf",
        "0x",
        "\u{feff}",
        "# x",
    ] {
        for name in [
            "TINTYPE__JOBS",
            "TINTYPE__JOBS__MAX_RUNS",
            "TINTYPE__TIERS__FAST__BACKENDS",
            "TINTYPE__X__Y__Z",
        ] {
            assert!(
                !TestConfig::nothing().env(name, value).faults().is_empty(),
                "{name}={value:?}"
            );
        }
    }
    let long = format!("TINTYPE__{}", "A__".repeat(100_000));
    assert_eq!(TestConfig::nothing().env(&long, "1").faults().len(), 1);
    let long = "a.".repeat(100_000);
    assert_eq!(TestConfig::nothing().flag(&long, 1).faults().len(), 1);
}
