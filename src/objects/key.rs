//! Object keys: validation, and the properties that a key implies.
//!
//! Each object has exactly one spelling of its key, so a signature over a key covers one object.
//! Characters that would need an escape in a path, a URL or a bucket are rejected, not encoded.

use super::ObjectError;
use object_store::path::Path;
use tintype_imaging::ImageKind;
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

/// Results of jobs: `results/<job_id>.<ext>`, or of nodes `results/<job_id>.<run>.<ext>`.
pub const RESULTS: &str = "results";

/// The formats of results.
const RESULT_KINDS: [ImageKind; 4] = [
    ImageKind::Png,
    ImageKind::Jpeg,
    ImageKind::WebP,
    ImageKind::Gif,
];

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

/// The key of a result. Nodes give the number of the run.
pub fn result_key(job: JobId, run: Option<u32>, kind: ImageKind) -> String {
    let extension = kind.extension();
    match run {
        Some(run) => format!("{RESULTS}/{job}.{run}.{extension}"),
        None => format!("{RESULTS}/{job}.{extension}"),
    }
}

/// The job and the run of a key that [`result_key`] returned.
pub fn read_result_key(key: &str) -> Option<(JobId, Option<u32>)> {
    let name = key.strip_prefix(RESULTS)?.strip_prefix('/')?;
    let (job, rest) = name.split_once('.')?;
    let (run, extension) = match rest.split_once('.') {
        Some((run, extension)) => (Some(run.parse().ok()?), extension),
        None => (None, rest),
    };
    let is_image = RESULT_KINDS.iter().any(|it| it.extension() == extension);
    Some((job.parse().ok()?, run)).filter(|_| is_image)
}

/// The keys of all other results that the runs of this job may have stored: a run that was interrupted may have stored an image of
/// another format.
pub fn other_results(key: &str) -> Vec<String> {
    let Some((job, run)) = read_result_key(key) else {
        return Vec::new();
    };
    let runs = (1..=run.unwrap_or(0)).map(Some).chain([None]);
    let keys = runs.flat_map(|run| RESULT_KINDS.map(|kind| result_key(job, run, kind)));
    keys.filter(|it| it != key).collect()
}

/// The key of a thumbnail of a result.
pub fn thumbnail_key(result: &str, width: u32, extension: &str) -> String {
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
    read_result_key(key).map(|(job, _)| job)
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
    fn the_key_of_a_result_tells_its_job_and_run() {
        let job = JobId(Uuid::from_u128(7));
        for kind in RESULT_KINDS {
            assert!(kind.decodable().is_some());
            for run in [None, Some(1), Some(12)] {
                let key = result_key(job, run, kind);
                assert_eq!(read_result_key(&key), Some((job, run)), "{key}");
            }
        }
        for rest in [
            "ID",
            "ID.txt",
            "ID.png.txt",
            "ID.x.png",
            "ID.1.2.png",
            "a.png",
        ] {
            let key = format!("{RESULTS}/{}", rest.replace("ID", &job.to_string()));
            assert_eq!(read_result_key(&key), None, "{key}");
        }
        assert_eq!(read_result_key(&format!("inputs/{job}.png")), None);
    }

    #[test]
    fn the_other_results_of_a_job_are_those_of_its_runs_in_all_formats() {
        let job = JobId(Uuid::from_u128(7));
        let names = |key: &str| {
            let keys = other_results(&key.replace("ID", &job.to_string()));
            let name = |key: String| key.replace(&job.to_string(), "ID");
            keys.into_iter().map(name).collect::<Vec<_>>().join(" ")
        };
        let alone = "results/ID.png results/ID.webp results/ID.gif";
        assert_eq!(names("results/ID.jpg"), alone);
        let first = "results/ID.1.png results/ID.1.jpg results/ID.1.webp results/ID.1.gif";
        let second = "results/ID.2.jpg results/ID.2.webp results/ID.2.gif";
        let without = "results/ID.png results/ID.jpg results/ID.webp results/ID.gif";
        assert_eq!(
            names("results/ID.2.png"),
            format!("{first} {second} {without}")
        );
        assert_eq!(names("results/notes.txt"), "");
    }

    #[test]
    fn only_keys_below_results_are_results() {
        assert!(is_result("results/a.png"));
        assert!(!is_result("results"));
        assert!(!is_result("results-old/a.png"));
        assert!(!is_result("inputs/results/a.png"));
    }
}
