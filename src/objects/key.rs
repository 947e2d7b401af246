//! Object keys: validation, and the properties that a key implies.
//!
//! Each object has exactly one spelling of its key, so a signature over a key covers one object.
//! Characters that would need an escape in a path, a URL or a bucket are rejected, not encoded.

use super::ObjectError;
use object_store::path::Path;
use tintype_storage::domain::file_batch::UploadedFile;
use tintype_storage::domain::ids::JobId;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// The limit of S3, the strictest of the stores.
const MAX_KEY_BYTES: usize = 1_024;

/// A file name has at most 255 bytes, and the local store appends a suffix to unfinished uploads.
const MAX_SEGMENT_BYTES: usize = 240;

/// Characters with a special meaning in a store or file system.
const REFUSED: &[char] = &[
    '\\', '%', '#', '?', '*', '"', '<', '>', '|', '{', '}', '^', '`', '[', ']', '~',
];

/// Results of jobs: `results/<job_id>.<ext>`.
pub const RESULTS: &str = "results";

/// Scaled-down results: `thumbnails/<job_id>-<width>.<ext>`. Regenerated when missing.
pub const THUMBNAILS: &str = "thumbnails";

/// Files that callers upload: `uploads/<account_id>/<file_id>.jsonl`.
pub const UPLOADS: &str = "uploads";

/// Input images: `inputs/<uuid>/<name>`.
pub const INPUTS: &str = "inputs";

/// Texts of requests that are too large for a record: `words/<uuid>.json`.
pub const REQUEST_TEXTS: &str = "words";

/// The prefixes of all objects that records name.
pub const NAMED_PREFIXES: [&str; 4] = [RESULTS, INPUTS, REQUEST_TEXTS, UPLOADS];

pub fn upload_key(file: &UploadedFile) -> String {
    format!("{UPLOADS}/{}/{}.jsonl", file.account, file.id)
}

/// The key of a thumbnail of a result.
pub fn view_key(result: &str, width: u32, extension: &str) -> String {
    let name = file_name(result);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    format!("{THUMBNAILS}/{stem}-{width}.{extension}")
}

/// Validates a key and converts it into the stores' path type.
///
/// # Errors
/// `ObjectError::InvalidKey` for an empty or too long key, an empty segment (and so a slash at
/// either end), the segments `.` and `..`, control characters and characters that need an escape.
pub(super) fn location(key: &str) -> Result<Path, ObjectError> {
    let refuse = |reason| {
        Err(ObjectError::InvalidKey {
            key: key.chars().take(100).collect(),
            reason,
        })
    };
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return refuse("it must have 1 to 1,024 bytes");
    }
    if key.chars().any(|c| c.is_control() || REFUSED.contains(&c)) {
        return refuse("it holds a control character or one of \\ % # ? * \" < > | { } ^ ` [ ] ~");
    }
    for segment in key.split('/') {
        if segment.is_empty() || segment == "." || segment == ".." {
            return refuse("a part between slashes is empty, '.' or '..'");
        }
        if segment.len() > MAX_SEGMENT_BYTES {
            return refuse("a part between slashes has more than 240 bytes");
        }
    }
    match Path::parse(key) {
        Ok(path) if path.as_ref() == key => Ok(path),
        _ => refuse("the store would write it differently"),
    }
}

/// The media type of a key's extension; `application/octet-stream` for any other than an image
/// format. SVG is not listed, because browsers run the scripts in it.
pub fn media_type(key: &str) -> &'static str {
    let name = file_name(key);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "avif" => "image/avif",
        "heic" => "image/heic",
        "heif" => "image/heif",
        _ => "application/octet-stream",
    }
}

/// The segment after the last slash; browsers save the file under this name.
pub(super) fn file_name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// Can it be the key of an object that a record names? Other files may be in the same directory.
pub fn is_named_key(key: &str) -> bool {
    let Some((prefix, rest)) = key.split_once('/') else {
        return false;
    };
    let begins_with_id = rest
        .split_at_checked(Hyphenated::LENGTH)
        .is_some_and(|(id, rest)| Uuid::try_parse(id).is_ok() && rest.starts_with(['.', '/']));
    NAMED_PREFIXES.contains(&prefix) && begins_with_id
}

/// The job whose image has this key.
pub fn job_of_result(key: &str) -> Option<JobId> {
    let name = key.strip_prefix(RESULTS)?.strip_prefix('/')?;
    name.split_once('.')?.0.parse().ok()
}

/// Is it the key of a result? If such an object is missing, retention has deleted it.
pub fn is_result(key: &str) -> bool {
    key.strip_prefix(RESULTS)
        .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_keys_are_accepted_unchanged() {
        for key in [
            "results/0198c0de-0000-7000-8000-000000000000.png",
            "inputs/a/0",
            "with space/ünïcode-画.png",
            "a",
            "..a/b..",
            "-dash",
        ] {
            assert_eq!(location(key).expect(key).as_ref(), key);
        }
    }

    #[test]
    fn traversal_and_alternative_spellings_are_refused() {
        let long = "a".repeat(MAX_SEGMENT_BYTES + 1);
        let longer = "a/".repeat(MAX_KEY_BYTES);
        for key in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "results/../../x",
            "results/./x",
            "results//x",
            "results/",
            "a\0b",
            "a\nb",
            "a\u{85}b",
            "a%2e",
            "a\\b",
            "a#1",
            "a?b",
            long.as_str(),
            longer.as_str(),
        ] {
            let refused = location(key);
            assert!(
                matches!(refused, Err(ObjectError::InvalidKey { .. })),
                "{key:?} gave {refused:?}"
            );
        }
    }

    #[test]
    fn the_extension_decides_the_media_type() {
        assert_eq!(media_type("results/a.png"), "image/png");
        assert_eq!(media_type("results/a.JPG"), "image/jpeg");
        assert_eq!(media_type("a.b/c"), "application/octet-stream");
        assert_eq!(media_type("x.svg"), "application/octet-stream");
        assert_eq!(media_type("x.html"), "application/octet-stream");
    }

    #[test]
    fn keys_of_other_programs_name_no_object() {
        let id = "0198c0de-0000-7000-8000-000000000000";
        for rest in [
            "results/ID.png",
            "results/ID.2.png",
            "inputs/ID/h0.png",
            "words/ID.json",
            "uploads/ID/ID.jsonl",
        ] {
            assert!(is_named_key(&rest.replace("ID", id)), "{rest}");
        }
        for rest in [
            "results",
            "results/a.png",
            "results/IDs/a.png",
            "results/画/ID.png",
            "holiday/ID.png",
            "ID.png",
        ] {
            assert!(!is_named_key(&rest.replace("ID", id)), "{rest}");
        }
    }

    #[test]
    fn only_keys_below_results_are_results() {
        assert!(is_result("results/a.png"));
        assert!(!is_result("results"));
        assert!(!is_result("results-old/a.png"));
        assert!(!is_result("inputs/results/a.png"));
    }
}
