//! The database's own rate: pgbench runs the transaction that accepts a job (update an account, insert a job) with prepared
//! statements over the server's socket, which the nodes use as well. The tables are the baseline's.

use super::site::Machines;
use anyhow::{Context as _, ensure};
use std::process::Command;
use std::time::Duration;

const CLIENTS: &str = "32";
const SCHEMA: &str = "
CREATE TABLE accounts (id integer PRIMARY KEY, balance numeric(20, 3) NOT NULL, reserved numeric(20, 3) NOT NULL DEFAULT 0,
                       CHECK (reserved >= 0 AND reserved <= balance));
CREATE TABLE jobs (id uuid PRIMARY KEY, account integer NOT NULL REFERENCES accounts, status text NOT NULL, prompt text NOT NULL,
                   aspect_ratio text NOT NULL, metadata jsonb NOT NULL, price numeric(20, 3) NOT NULL,
                   created_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON jobs (account, created_at);
INSERT INTO accounts SELECT number, 100000000 FROM generate_series(1, 1000) AS numbers (number);
VACUUM ANALYZE accounts;
";
const TRANSACTION: &str = r#"\set account random(1, :accounts)
BEGIN;
UPDATE accounts SET reserved = reserved + 0.134 WHERE id = :account AND balance - reserved >= 0.134;
INSERT INTO jobs (id, account, status, prompt, aspect_ratio, metadata, price) VALUES (gen_random_uuid(), :account, 'queued', 'a red fox in the snow at dawn, woodcut', '16:9', '{"order":1234,"customer":"c-77"}', 0.134);
COMMIT;
"#;

/// Transactions per second over this many accounts.
pub fn rate(machines: &Machines, accounts: usize, time: Duration) -> anyhow::Result<f64> {
    let server = &machines.server;
    let database = server.database();
    for statement in SCHEMA.split_inclusive(';') {
        server.execute(&database.name, statement);
    }
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("transaction.sql");
    std::fs::write(&script, TRANSACTION)?;
    let output = Command::new(server.program("pgbench"))
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=2"])
        .args(["--client", CLIENTS, "--username", "postgres"])
        .args(["--time", &time.as_secs().to_string()])
        .args(["--define", &format!("accounts={accounts}")])
        .arg("--host")
        .arg(server.socket())
        .args(["--port", &server.port().to_string()])
        .arg("--file")
        .arg(&script)
        .arg(&database.name)
        .output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "pgbench: {stderr}");
    let printed = String::from_utf8(output.stdout)?;
    let rate = printed.lines().find_map(|it| it.strip_prefix("tps = "));
    let rate = rate.and_then(|it| it.split(' ').next());
    Ok(rate.context("no rate from pgbench")?.parse()?)
}
