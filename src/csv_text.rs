//! Fields and lines of CSV files (RFC 4180).

use tintype_api::Transaction;

pub const LEDGER_HEAD: &str =
    "created_at,kind,amount,balance_after,job_id,reference,transaction_id";

/// With these, a spreadsheet begins a formula; the wide forms in East Asian editions.
const FORMULA_STARTS: [char; 8] = [
    '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// A spreadsheet begins a cell after one of these, also between quotes if its locale separates cells by another character than the
/// file: the quote is then not the first character of the cell.
const SEPARATORS: [char; 5] = [',', ';', '\t', '\r', '\n'];

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

/// Quotes a field of free text. Adds an apostrophe wherever a spreadsheet would begin a formula.
pub fn quote(text: &str) -> String {
    let guard = |formula: bool| if formula { "'" } else { "" };
    let mut quoted = format!("\"{}", guard(text.starts_with(['\t', '\r', '\n'])));
    for part in text.split_inclusive(SEPARATORS) {
        // A doubled quote at the start of a cell is empty text.
        let first = part.trim_start_matches([' ', '"']);
        quoted += guard(first.starts_with(FORMULA_STARTS));
        quoted += &part.replace('"', "\"\"");
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn free_text_is_quoted_and_is_never_a_formula() {
        assert_eq!(quote("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(quote("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
        assert_eq!(quote("@x"), "\"'@x\"");
        assert_eq!(quote("\n=1"), "\"'\n'=1\"");
        assert_eq!(quote("\u{ff1d}1"), "\"'\u{ff1d}1\"");
        assert_eq!(quote(""), "\"\"");
    }

    #[test]
    fn a_formula_after_a_separator_of_any_locale_is_text() {
        assert_eq!(
            quote("x;=cmd|' /C calc'!A1;y"),
            "\"x;'=cmd|' /C calc'!A1;y\""
        );
        assert_eq!(quote("x,  @y\t+1"), "\"x,'  @y\t'+1\"");
        assert_eq!(quote("x;\"=1"), "\"x;'\"\"=1\"");
        assert_eq!(quote("a\r\n-1"), "\"a\r\n'-1\"");
        assert_eq!(quote("a - b; c=d, e\r\nf"), "\"a - b; c=d, e\r\nf\"");
    }
}
