//! Writes each line of JSON on standard input in both canonical forms, with a tab between, for a comparison with the
//! writers of other languages (`tests/webhooks/agree.py`). A canonical text holds neither a raw tab nor a line break.

use std::io::{self, BufRead, Write};
use tintype_storage::domain::request::MAX_METADATA_DEPTH;
use tintype_storage::domain::webhook::Encoding;
use tintype_storage::json::Json;
use tintype_storage::webhook_wire::canonical::canonical;

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        match Json::parse(&line?, MAX_METADATA_DEPTH) {
            Ok(value) => {
                let [ascii, utf8] = Encoding::ALL.map(|encoding| canonical(&value, encoding));
                writeln!(out, "{ascii}\t{utf8}")?;
            }
            Err(fault) => writeln!(out, "refused: {fault}\t")?,
        }
    }
    out.flush()
}
