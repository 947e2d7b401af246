//! Fields and lines of CSV files (RFC 4180).

pub const LEDGER_HEAD: &str =
    "created_at,kind,amount,balance_after,job_id,reference,transaction_id\r\n";

/// With these, a spreadsheet begins a formula; the wide forms in East Asian editions.
const FORMULA_STARTS: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// An entry of a ledger, with its values in the format of the API.
pub struct LedgerLine<'a> {
    pub created_at: &'a str,
    pub kind: &'a str,
    /// Negative for a charge.
    pub amount: &'a str,
    pub balance_after: &'a str,
    /// The charged job.
    pub job: Option<&'a str>,
    /// Free text.
    pub reference: Option<&'a str>,
    pub id: &'a str,
}

impl LedgerLine<'_> {
    /// The line, with its line end.
    pub fn text(&self) -> String {
        let fields = [
            self.created_at,
            self.kind,
            self.amount,
            self.balance_after,
            self.job.unwrap_or_default(),
            &quote(self.reference.unwrap_or_default()),
            self.id,
        ];
        fields.join(",") + "\r\n"
    }
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
