//! A ledger as a file for a spreadsheet (RFC 4180).

/// The first line.
pub const HEAD: &str = "created_at,kind,amount,balance_after,job_id,reference,transaction_id\r\n";

/// An entry, as it is told on the wire.
pub struct Line<'a> {
    /// When it was made.
    pub created_at: &'a str,
    /// What it is for.
    pub kind: &'a str,
    /// How much; a charge is negative.
    pub amount: &'a str,
    /// The balance since.
    pub balance_after: &'a str,
    /// The job that was charged.
    pub job: Option<&'a str>,
    /// Somebody's own words.
    pub reference: Option<&'a str>,
    /// Its id.
    pub id: &'a str,
}

impl Line<'_> {
    /// The entry with the end of its line.
    pub fn text(&self) -> String {
        let fields = [
            self.created_at,
            self.kind,
            self.amount,
            self.balance_after,
            self.job.unwrap_or_default(),
            &quoted(self.reference.unwrap_or_default()),
            self.id,
        ];
        fields.join(",") + "\r\n"
    }
}

/// A field of free text. What a spreadsheet would take for a formula gets an apostrophe, which makes it text.
pub fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn free_text_is_quoted_and_is_never_a_formula() {
        assert_eq!(quoted("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(quoted("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
        assert_eq!(quoted("@x"), "\"'@x\"");
        assert_eq!(quoted(""), "\"\"");
    }
}
