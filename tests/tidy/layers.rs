//! Allowed dependencies of each package.

use crate::sources::{Source, assert_none, below, root};
use std::fs;

/// Lines that contain one of these words.
fn lines_with_any(sources: &[Source], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        for word in words {
            found.extend(source.lines_with(word));
        }
    }
    found
}

/// The domain and the webhook format without their tests, which may read files.
fn pure_modules() -> Vec<Source> {
    let folders = [
        "storage/src/domain/",
        "storage/src/json/",
        "storage/src/webhook_wire/",
    ];
    folders.into_iter().flat_map(without_tests).collect()
}

fn without_tests(folder: &str) -> Vec<Source> {
    let mut sources = below(folder);
    let modules = sources.iter().find(|it| it.path.ends_with("/mod.rs"));
    let modules = modules.expect("the folder's modules").text.clone();
    sources.retain(|source| {
        let file = source.path.rsplit('/').next().unwrap_or_default();
        let module = file.trim_end_matches(".rs");
        !modules.contains(&format!("#[cfg(test)]\nmod {module};"))
    });
    for source in &mut sources {
        let end = source.text.find("\n#[cfg(test)]\nmod tests {");
        source.text.truncate(end.unwrap_or(source.text.len()));
    }
    sources
}

/// The crates that a package depends on.
fn dependencies(manifest: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(manifest)).expect("a manifest");
    let manifest: toml::Table = text.parse().expect("TOML");
    let table = manifest["dependencies"].as_table().expect("a table");
    table.keys().cloned().collect()
}

#[test]
fn storage_depends_neither_on_actors_nor_on_a_runtime_nor_on_http() {
    let foreign = [
        "actix", "tokio", "hyper", "http", "reqwest", "awc", "tintype",
    ];
    let mut found = dependencies("storage/Cargo.toml");
    found.retain(|name| foreign.iter().any(|word| name.starts_with(word)));
    assert_none("crates that storage must not depend on", found);
}

#[test]
fn the_domain_and_the_webhook_format_use_no_engine_no_disk_and_no_randomness() {
    let foreign = [
        "crate::engine",
        "crate::store",
        "super::super::engine",
        "std::fs",
        "std::net",
        "std::thread",
        "SystemTime",
        "Instant",
        "rand::",
        "Uuid::new_v4",
        "Uuid::now_v7",
        "async ",
        "tracing",
    ];
    assert_none(
        "the rules are pure",
        lines_with_any(&pure_modules(), &foreign),
    );
}

#[test]
fn the_domain_and_the_webhook_format_read_the_clock_on_only_one_line() {
    let found = lines_with_any(&pure_modules(), &["::now("]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].starts_with("storage/src/domain/time.rs:"),
        "{found:?}"
    );
}

#[test]
fn actors_use_no_engine_no_url_path_and_no_http_library() {
    let foreign = [
        "engine::sled",
        "testing::memory",
        "testing::failing",
        "SledEngine",
        "MemoryEngine",
        "sled::",
        "\"/api",
        "\"/admin",
        "actix_web",
        "serde_json",
    ];
    assert_none(
        "what actors must not name",
        lines_with_any(&below("actors/src/"), &foreign),
    );
    let web = [
        "actix-web",
        "actix-http",
        "awc",
        "hyper",
        "reqwest",
        "serde_json",
        "sled",
        "object_store",
    ];
    let mut found = dependencies("actors/Cargo.toml");
    found.retain(|name| web.contains(&name.as_str()));
    assert_none("crates that actors must not depend on", found);
}

#[test]
fn use_cases_use_no_web_framework() {
    let mut sources = below("src/application/");
    // The tests of the rate limits also check the headers that the web layer writes.
    sources.retain(|source| !source.path.ends_with("/tests.rs"));
    let found = lines_with_any(&sources, &["actix_web", "actix::"]);
    assert_none("what use cases must not name", found);
}

#[test]
fn leaf_libraries_depend_neither_on_the_product_nor_on_the_network() {
    let foreign = [
        "actix",
        "awc",
        "hyper",
        "object_store",
        "reqwest",
        "sled",
        "tintype-actors",
        "tintype-storage",
    ];
    // The HTTP client only knows the network. The wire types derive from the domain's types; the layer check keeps them apart
    // from the rest of storage. PostgreSQL's engine implements a trait of storage.
    let allowed = [
        ("egress", "hyper"),
        ("api", "tintype-storage"),
        ("postgres", "tintype-storage"),
    ];
    let mut manifests = 0;
    for folder in fs::read_dir(root().join("crates")).expect("the libraries") {
        let name = folder.expect("a folder").file_name();
        let manifest = format!("crates/{}/Cargo.toml", name.to_string_lossy());
        let mut found = dependencies(&manifest);
        let folder = name.to_string_lossy();
        let is_foreign = |word: &&str| !allowed.contains(&(&*folder, *word));
        let foreign: Vec<&str> = foreign.iter().copied().filter(is_foreign).collect();
        found.retain(|name| foreign.iter().any(|word| name.starts_with(word)));
        assert_none("crates that a leaf library must not depend on", found);
        manifests += 1;
    }
    assert!(manifests > 0);
}

#[test]
fn only_the_start_up_code_picks_an_engine() {
    let mut found = lines_with_any(
        &below("src/"),
        &["SledEngine", "PostgresEngine", "MemoryEngine", "sled::"],
    );
    found.retain(|line| !line.starts_with("src/server/engine.rs:"));
    assert_none("engines are named in src/server/engine.rs alone", found);
}
