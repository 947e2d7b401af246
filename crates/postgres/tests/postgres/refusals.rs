//! The start reports what is wrong with a database and what to do, without a password.

use crate::support::{error, get, open, options, put, refusal};
use std::sync::Arc;
use tintype_postgres::testing::{Server, server};
use tintype_postgres::{PostgresEngine, ddl, write_record};
use tintype_storage::engine::{Engine as _, commit_and_wait};

fn assert_says(refusal: &str, parts: &[&str]) {
    for part in parts {
        assert!(refusal.contains(part), "no {part:?} in {refusal:?}");
    }
}

#[test]
fn a_server_that_does_not_listen_is_refused_with_advice() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let refused = refusal(&format!("postgres://me:secret@127.0.0.1:{port}/x"));
    assert_says(
        &refused,
        &[
            "postgres://me:***@127.0.0.1",
            "Connection refused",
            "is it running",
        ],
    );
    assert!(!refused.contains("secret"), "{refused}");
}

#[test]
fn a_missing_database_is_refused_with_advice() {
    let Some(server) = server() else { return };
    let refused = refusal(&server.url("postgres", "missing"));
    assert_says(
        &refused,
        &["database \"missing\" does not exist", "createdb missing"],
    );
}

#[test]
fn a_wrong_or_missing_password_is_refused_with_advice() {
    let Some(server) = server() else { return };
    let database = server.database();
    let role = "DO $$ BEGIN CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right'; EXCEPTION WHEN duplicate_object THEN NULL; END $$";
    server.execute("postgres", role);
    let url = server.url("guarded", &database.name);
    assert_says(&refusal(&url), &["it asks for a password", "PGPASSWORD"]);
    let wrong = url.replace("guarded@", "guarded:wr0ng@");
    let refused = refusal(&wrong);
    assert_says(&refused, &["password authentication failed", "PGPASSWORD"]);
    assert!(!refused.contains("wr0ng"), "{refused}");
    let right = url.replace("guarded@", "guarded:right@");
    drop(PostgresEngine::open(options(&right)).expect("an engine"));
}

#[test]
fn a_role_without_rights_is_rejected_unless_its_tables_exist() {
    let Some(server) = server() else { return };
    let database = server.database();
    let name = &database.name;
    server.execute(name, &format!("CREATE ROLE weak_{name} LOGIN"));
    let url = server.url(&format!("weak_{name}"), name);
    assert_says(&refusal(&url), &["permission denied", "tintype schema"]);
    server.execute(name, &ddl());
    let rights = format!(
        "GRANT USAGE ON SCHEMA tintype TO weak_{name}; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA tintype TO weak_{name}"
    );
    server.execute(name, &rights);
    assert_says(&refusal(&url), &["has no right to DELETE on tintype."]);
    let delete = format!("GRANT DELETE ON ALL TABLES IN SCHEMA tintype TO weak_{name}");
    server.execute(name, &delete);
    let engine = PostgresEngine::open(options(&url)).expect("an engine");
    commit_and_wait(&engine, vec![put("a", "1")]).expect("a commit");
    drop(engine);
    server.execute(
        name,
        &format!("DROP OWNED BY weak_{name}; DROP ROLE weak_{name}"),
    );
}

#[test]
fn a_record_is_written_beside_an_engine_if_the_role_may_write() {
    let Some(server) = server() else { return };
    let database = server.database();
    let (engine, name) = (open(&database), &database.name);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().expect("a runtime");
    let write = |url: &str, value: &[u8]| {
        let options = options(url);
        runtime.block_on(write_record(&options, b"s a record", value))
    };
    for value in ["1", "2"] {
        write(&database.url(), value.as_bytes()).expect("a write");
        assert_eq!(get(&*engine, "s a record").as_deref(), Some(value));
    }
    let reader = format!(
        "CREATE ROLE reader_{name} LOGIN; GRANT USAGE ON SCHEMA tintype TO reader_{name}; GRANT SELECT ON ALL TABLES IN SCHEMA tintype TO reader_{name}"
    );
    server.execute(name, &reader);
    let refused = write(&server.url(&format!("reader_{name}"), name), b"3");
    assert_says(
        &refused.expect_err("no right").to_string(),
        &["permission denied"],
    );
    server.execute(
        name,
        &format!("DROP OWNED BY reader_{name}; DROP ROLE reader_{name}"),
    );
}

#[test]
fn tables_of_another_or_unknown_format_are_rejected() {
    let Some(server) = server() else { return };
    let database = server.database();
    server.execute(&database.name, &ddl());
    let format =
        "UPDATE tintype.account SET value = '3' WHERE key = '\\x00'::bytea || 'format'::bytea";
    server.execute(&database.name, format);
    assert_says(
        &refusal(&database.url()),
        &[
            "format `3`",
            "reads `5`",
            "`tintype export`",
            "`tintype import`",
        ],
    );
    let none = "DELETE FROM tintype.account WHERE key = '\\x00'::bytea || 'format'::bytea";
    server.execute(&database.name, none);
    assert_says(&refusal(&database.url()), &["do not say their format"]);
}

#[test]
fn a_standby_is_rejected() {
    let Some(server) = Server::start() else {
        return;
    };
    server.make_standby();
    let refused = refusal(&server.url("postgres", "postgres"));
    assert_says(&refused, &["it is a standby", "[storage] url"]);
}

#[test]
fn opening_read_only_creates_no_tables() {
    let Some(server) = server() else { return };
    let database = server.database();
    let refused = error(PostgresEngine::open_read_only(options(&database.url()))).to_string();
    assert_says(&refused, &["it has no tables in the schema `tintype`"]);
}

#[test]
fn all_bytes_are_stored_in_a_database_of_any_encoding() {
    let Some(server) = server() else { return };
    let mut database = server.database();
    server.execute("postgres", &format!("DROP DATABASE {}", database.name));
    database.name.push_str("_ascii");
    let make = format!(
        "CREATE DATABASE {} ENCODING SQL_ASCII LOCALE 'C' TEMPLATE template0",
        database.name
    );
    server.execute("postgres", &make);
    let engine = open(&database);
    let bytes: Vec<u8> = (0..=255).collect();
    let key = [b"a", bytes.as_slice()].concat();
    commit_and_wait(&*engine, vec![(key.clone(), Some(bytes.clone()))]).expect("a commit");
    assert_eq!(engine.get(&key).wait().expect("a read"), Some(bytes));
}

#[test]
fn a_socket_can_be_used_instead_of_a_port() {
    let Some(server) = server() else { return };
    let database = server.database();
    let url = format!(
        "postgres:///{}?user=postgres&host={}&port={}",
        database.name,
        server.socket().display(),
        server.port()
    );
    let engine = Arc::new(PostgresEngine::open(options(&url)).expect("an engine"));
    commit_and_wait(&*engine, vec![put("a", "1")]).expect("a commit");
    assert_eq!(get(&*engine, "a").as_deref(), Some("1"));
}
