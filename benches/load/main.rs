//! Measures a bare actix-web handler (the ceiling), the disk, Tintype and a baseline in one run on the same machine, verifies the
//! work of the servers, and prints one table.
//!
//! `cargo bench --bench load` runs everything. `cargo bench --bench load -- create read` runs only these parts, and
//! `--seconds 2 --rounds 1` shortens them. `-- postgres` measures nodes on PostgreSQL, in a separate table. Each server runs
//! in its own process, the client in this one. Absolute figures say more about the machine than about the program.

mod batches;
mod bench;
mod bodies;
mod check;
mod child_server;
mod client;
mod creations;
mod deliveries;
mod disk;
mod end_to_end;
mod fill;
mod plan;
mod plot;
mod postgres;
mod preload;
mod probe;
mod processor;
mod reads;
mod receipts;
mod receiver;
mod report;
mod scale;
mod server;
mod sizes;
mod stdin;
mod waiting;
mod wire;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    match arguments.first().map(String::as_str) {
        Some("--child") => child_server::run(&arguments[1..]),
        Some("postgres") => postgres::run(&arguments[1..]),
        _ => plan::run(&arguments),
    }
}
