//! Names of objects: which are allowed, and what a name says about the object.
//!
//! A key is written as it is read: there is no second spelling of the same object, so that a
//! signature over a key is a signature over one object. What would need an escape in a path, an
//! address or a bucket is refused instead of being encoded.

use object_store::path::Path;
use tintype_storage::domain::file_batch::UploadedFile;

use super::ImagesError;

/// The longest key, in bytes: what S3, the strictest of the stores here, takes.
const MAX_KEY_BYTES: usize = 1_024;

/// The longest part between two slashes, in bytes: a file name has 255, of which the local store
/// needs a few for the name of an upload that is under way.
const MAX_SEGMENT_BYTES: usize = 240;

/// Characters that a store or a file system gives a meaning of its own.
const REFUSED: &[char] = &[
    '\\', '%', '#', '?', '*', '"', '<', '>', '|', '{', '}', '^', '`', '[', ']', '~',
];

/// Where the pictures that jobs made are kept: `results/<job_id>.<ext>`.
pub const RESULTS: &str = "results";

/// Where small forms of them are kept: `thumbnails/<job_id>-<width>.<ext>`. Made anew when they are missing.
pub const THUMBNAILS: &str = "thumbnails";

/// Where the files lie that callers upload: `uploads/<account_id>/<file_id>.jsonl`.
pub const UPLOADS: &str = "uploads";

/// The key of an uploaded file.
pub fn upload_key(file: &UploadedFile) -> String {
    format!("{UPLOADS}/{}/{}.jsonl", file.account, file.id)
}

/// The key of a small form of a result.
pub fn view_key(result: &str, width: u32, extension: &str) -> String {
    let name = file_name(result);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    format!("{THUMBNAILS}/{stem}-{width}.{extension}")
}

/// Checks a key and turns it into the path that the stores take.
///
/// # Errors
///
/// `ImagesError::InvalidKey` for an empty or too long key, an empty part (so also for a slash at
/// either end), the parts `.` and `..`, control characters and those that need an escape.
pub(super) fn location(key: &str) -> Result<Path, ImagesError> {
    let refuse = |reason| {
        Err(ImagesError::InvalidKey {
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

/// The media type that a key's extension stands for; `application/octet-stream` where it stands
/// for none of the picture formats. SVG is left out on purpose: a browser runs scripts in it.
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

/// The part after the last slash: what a browser is told to call the file.
pub(super) fn file_name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// Whether a key names a job's result, so that its absence means that retention has removed it.
pub(super) fn is_result(key: &str) -> bool {
    key.strip_prefix(RESULTS)
        .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_keys_are_taken_as_they_are() {
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
    fn what_could_leave_the_store_or_be_spelled_twice_is_refused() {
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
                matches!(refused, Err(ImagesError::InvalidKey { .. })),
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
    fn only_what_lies_under_results_is_a_result() {
        assert!(is_result("results/a.png"));
        assert!(!is_result("results"));
        assert!(!is_result("results-old/a.png"));
        assert!(!is_result("inputs/results/a.png"));
    }
}
