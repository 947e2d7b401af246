//! The fingerprint of a configuration.

use super::TestConfig;

fn of(file: &str) -> String {
    TestConfig::file(file).config().fingerprint()
}

#[test]
fn keys_that_may_differ_between_nodes_do_not_change_the_fingerprint() {
    let own = "[server]\nlisten = '127.0.0.1:1'\nmetrics_listen = '127.0.0.1:2'\nworkers = 3\n\
        [storage]\ndata_dir = '/elsewhere'\nconnections = 9\ncache_bytes = 2000000\n\
        [log]\nfilter = 'debug'\nformat = 'json'\n";
    assert_eq!(of(own), of(""));
}

/// A node list shows only nodes of one database. Their ways to it may differ.
#[test]
fn the_way_to_the_database_does_not_change_the_fingerprint() {
    let by = |url: &str| {
        let file = format!(
            "[storage]\nurl = '{url}'\nobjects = 's3://bucket/prefix'\n[cluster]\nsecret = '{}'\n",
            "s".repeat(32)
        );
        of(&file)
    };
    let direct = by("postgres://tintype@db1/tintype");
    assert_eq!(
        by("postgres://other:pass@127.0.0.1:6432/tintype?pooler=1"),
        direct
    );
}

#[test]
fn keys_that_nodes_must_share_change_the_fingerprint() {
    let all = [
        "",
        "[jobs]\nmax_runs = 4\n",
        "[server]\nmax_body_bytes = 4096\n",
        "[billing]\ncurrency = 'CHF'\n",
    ]
    .map(of);
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one), "{at}");
    }
}

#[test]
fn the_text_of_a_secret_does_not_change_the_fingerprint() {
    let token = |letter: &str| of(&format!("[admin]\ntoken = '{}'\n", letter.repeat(32)));
    assert_eq!(token("a"), token("b"));
    assert_ne!(token("a"), of(""));
}
