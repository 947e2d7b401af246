//! Names the download of an object.

use super::key;
use actix_web::http::header::{
    Charset, ContentDisposition, DispositionParam, DispositionType, ExtendedValue,
};

/// The `Content-Disposition` (RFC 6266) for a key: inline, saved under the last segment of the key.
/// A name that is not ASCII also gets the extended form of RFC 8187.
pub fn content_disposition(key: &str) -> String {
    let name = key::file_name(key);
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii() { c } else { '_' })
        .collect();
    let mut parameters = vec![DispositionParam::Filename(plain)];
    if !name.is_ascii() {
        parameters.push(DispositionParam::FilenameExt(ExtendedValue {
            charset: Charset::Ext("UTF-8".to_owned()),
            language_tag: None,
            value: name.as_bytes().to_vec(),
        }));
    }
    ContentDisposition {
        disposition: DispositionType::Inline,
        parameters,
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_outside_ascii_is_also_sent_in_its_extended_form() {
        assert_eq!(
            content_disposition("results/a b.png"),
            "inline; filename=\"a b.png\""
        );
        assert_eq!(
            content_disposition("größe.png"),
            "inline; filename=\"gr__e.png\"; filename*=UTF-8''gr%C3%B6%C3%9Fe.png"
        );
    }
}
