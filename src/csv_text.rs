//! Fields and lines of CSV files (RFC 4180).

use tintype_api::Transaction;

pub const LEDGER_HEAD: &str =
    "created_at,kind,amount,balance_after,job_id,reference,transaction_id";

/// With these, a spreadsheet begins a formula; the wide forms in East Asian editions.
const FORMULA_STARTS: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// The line of a ledger entry, without its line end.
pub fn ledger_line(it: &Transaction) -> String {
    let fields: [&str; 7] = [
        &it.created_at,
        &it.kind,
        &it.amount,
        &it.balance_after,
        it.job_id.as_deref().unwrap_or_default(),
        &quote(it.reference.as_deref().unwrap_or_default()),
        &it.transaction_id,
    ];
    fields.join(",")
}

/// Quotes a field of free text. Prefixes an apostrophe if a spreadsheet would take the text for a formula.
pub fn quote(text: &str) -> String {
    let formula = text.starts_with(FORMULA_STARTS);
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn free_text_is_quoted_and_is_never_a_formula() {
        assert_eq!(quote("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(quote("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
        assert_eq!(quote("@x"), "\"'@x\"");
        assert_eq!(quote("\n=1"), "\"'\n=1\"");
        assert_eq!(quote("\u{ff1d}1"), "\"'\u{ff1d}1\"");
        assert_eq!(quote(""), "\"\"");
    }
}
