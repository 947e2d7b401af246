//! One run that measures a bare actix-web handler (the ceiling) and Tintype on the same machine, and prints the ratios.
//!
//! `cargo bench --bench load` runs all of it; `cargo bench --bench load -- create lookup` only what is named. Servers run in
//! processes of their own, the client beside them. Absolute figures say more about the machine than about the program.

mod bodies;
mod client;
mod deliveries;
mod fill;
mod peer;
mod plan;
mod plot;
mod probe;
mod receiver;
mod report;
mod scale;
mod sizes;
mod stock;
mod waiting;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    match arguments.first().map(String::as_str) {
        Some("--peer") => peer::run(&arguments[1..]),
        _ => plan::run(&arguments),
    }
}
