//! The file of requests, as it is sent. The server judges what is in it.

use super::csv_table;
use crate::cli::http_client::Body;
use anyhow::{Context as _, bail};
use serde_json::{Map, Value};
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

/// A field whose cell holds a list, separated by blanks.
const LIST: &str = "input_images_urls";
/// Columns that begin with this are members of the request's metadata.
const MEMBER: &str = "metadata.";

/// Reads the file, or standard input where it is `-`.
pub fn read(file: &Path, is_csv: bool) -> anyhow::Result<Body> {
    let bytes = match file.as_os_str() == "-" {
        true => {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.context("cannot read standard input")?;
            bytes
        }
        false => fs::read(file).with_context(|| format!("cannot read {}", file.display()))?,
    };
    let named_so = file
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("csv"));
    if is_csv || named_so {
        return from_csv(&bytes).with_context(|| format!("{} as CSV", file.display()));
    }
    // A body of its own is one object with the requests in it; anything else is one request per line.
    let body = serde_json::from_slice::<Map<String, Value>>(&bytes);
    let is_body = body.is_ok_and(|it| it.contains_key("requests"));
    Ok(Body {
        media_type: match is_body {
            true => "application/json",
            false => "application/x-ndjson",
        },
        bytes: bytes.into(),
    })
}

/// A request for each row. An empty cell is no field.
fn from_csv(bytes: &[u8]) -> anyhow::Result<Body> {
    let text = std::str::from_utf8(bytes).context("it is not UTF-8")?;
    let mut rows = csv_table::rows(text)?.into_iter();
    let (_, heads) = rows.next().context("it is empty")?;
    let heads: Vec<&str> = heads.iter().map(|it| it.trim()).collect();
    if heads.contains(&"") {
        bail!("the first row names the fields, and one of its names is empty");
    }
    let mut lines = String::new();
    for (line, row) in rows {
        let request = request(&heads, &row).with_context(|| format!("line {line}"))?;
        lines.push_str(&Value::Object(request).to_string());
        lines.push('\n');
    }
    Ok(Body {
        media_type: "application/x-ndjson",
        bytes: lines.into(),
    })
}

fn request(heads: &[&str], row: &[String]) -> anyhow::Result<Map<String, Value>> {
    if heads.len() != row.len() {
        bail!("has {} cells, and the first row {}", row.len(), heads.len());
    }
    let mut request = Map::new();
    let mut metadata = Map::new();
    for (name, cell) in heads.iter().copied().zip(row) {
        if cell.is_empty() {
            continue;
        }
        if let Some(member) = name.strip_prefix(MEMBER) {
            metadata.insert(member.to_owned(), cell.as_str().into());
            continue;
        }
        let value = match name {
            LIST => cell.split_whitespace().map(Value::from).collect(),
            "metadata" => serde_json::from_str(cell)
                .with_context(|| format!("metadata is not JSON: {cell}"))?,
            _ => cell.as_str().into(),
        };
        request.insert(name.to_owned(), value);
    }
    if !metadata.is_empty() {
        if request.contains_key("metadata") {
            bail!("has both metadata and {MEMBER}...; use one of them");
        }
        request.insert("metadata".into(), metadata.into());
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn requests(csv: &str) -> anyhow::Result<Vec<Value>> {
        let body = from_csv(csv.as_bytes())?;
        let lines = std::str::from_utf8(&body.bytes)?.lines();
        lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    #[test]
    fn each_row_of_a_table_is_a_request() {
        let table = "custom_id, model ,prompt,aspect_ratio,input_images_urls,metadata.sku\n\
            a,fast,\"a fox, \"\"red\"\"\nin snow\",1:1,,7\n\
            ,pro,an owl,1:1,http://a/1 http://a/2,\n";
        let expected = [
            json!({
                "custom_id": "a", "model": "fast", "prompt": "a fox, \"red\"\nin snow", "aspect_ratio": "1:1",
                "metadata": {"sku": "7"},
            }),
            json!({
                "model": "pro", "prompt": "an owl", "aspect_ratio": "1:1",
                "input_images_urls": ["http://a/1", "http://a/2"],
            }),
        ];
        assert_eq!(requests(table).unwrap(), expected);
    }

    #[test]
    fn a_faulty_table_is_refused_with_the_line() {
        let short = format!("{:#}", requests("a,b\n1,2\n3\n").unwrap_err());
        assert!(short.starts_with("line 3: has 1 cells"), "{short}");
        let metadata = format!("{:#}", requests("prompt,metadata\nx,{\n").unwrap_err());
        assert!(
            metadata.starts_with("line 2: metadata is not JSON"),
            "{metadata}"
        );
        assert!(requests("a,\n1,2\n").is_err());
    }
}
