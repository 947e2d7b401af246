//! `tintype batch results -o DIR`: downloads the images of a batch. Resumes an interrupted download.

use super::download_record::{DownloadRecord, Existing};
use crate::api::file_names::FileNames;
use crate::cli::native_client::{ImageGone, NativeClient};
use crate::cli::output::{escape_control_chars, exit_code, note};
use crate::cli::{progress, umask};
use anyhow::Context as _;
use futures_util::stream::{self, StreamExt as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tintype_api::BatchResult;
use tintype_storage::domain::ids::BatchId;
use url::Url;

const CONCURRENT_DOWNLOADS: usize = 8;
/// Attempts for one image. Each retry requests a new URL, because the first may have expired.
const MAX_ATTEMPTS: u32 = 4;
/// Delay before the first retry. It doubles with each retry.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(500);
/// Extension of an incomplete file.
const PARTIAL: &str = "part";

struct Image {
    custom_id: String,
    job: String,
    url: String,
    path: PathBuf,
}

#[derive(Default)]
struct Results {
    images: Vec<Image>,
    /// Custom id and error of each failed request.
    failed: Vec<(String, String)>,
    /// Requests that have not ended yet.
    unfinished: usize,
}

/// The images of a batch compared with the files of the directory.
#[derive(Default)]
struct Compared {
    missing: Vec<Image>,
    present: usize,
    /// Existing files that this command has not downloaded.
    unknown: Vec<PathBuf>,
    /// Custom id and reason of each image whose file is the image of another job.
    conflicts: Vec<(String, String)>,
}

/// Downloads the missing images. Exits with code 1 if a request has failed or not ended, or if an image is not in the directory.
pub async fn run(client: &NativeClient, id: BatchId, directory: &Path) -> anyhow::Result<ExitCode> {
    umask::create_directories_for_user(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let record = DownloadRecord::open(directory).with_context(|| {
        format!(
            "cannot read the record of images in {}",
            directory.display()
        )
    })?;
    let Results {
        images,
        mut failed,
        unfinished,
    } = list(client, id, directory).await?;
    let total = images.len();
    let Compared {
        missing,
        present,
        unknown,
        conflicts,
    } = compare(images, &record);
    let mut not_downloaded = conflicts;
    not_downloaded.extend(download_all(client, missing, total, &record).await);
    note(&format!(
        "{} of {total} images are in {}; {present} already existed",
        total - not_downloaded.len(),
        directory.display(),
    ));
    if let Some(example) = unknown.first() {
        note(&format!(
            "{} of the existing files were not downloaded by this command, such as {}; if they are not images of the batch, move them and \
             repeat the command",
            unknown.len(),
            example.display()
        ));
    }
    failed.extend(not_downloaded);
    for (custom_id, reason) in &failed {
        note(&format!(
            "failed: {}: {}",
            escape_control_chars(custom_id),
            escape_control_chars(reason)
        ));
    }
    if unfinished > 0 {
        let requests = match unfinished {
            1 => "1 request has".to_owned(),
            _ => format!("{unfinished} requests have"),
        };
        note(&format!(
            "{requests} not ended; repeat the command later, or use --wait"
        ));
    }
    Ok(exit_code(failed.is_empty() && unfinished == 0))
}

fn compare(images: Vec<Image>, record: &DownloadRecord) -> Compared {
    let mut compared = Compared::default();
    for image in images {
        match record.existing(&image.path, &image.job) {
            Existing::Nothing => compared.missing.push(image),
            Existing::Image => compared.present += 1,
            Existing::Unknown => {
                compared.present += 1;
                compared.unknown.push(image.path);
            }
            Existing::OtherImage => {
                let reason = format!(
                    "{} is the image of another job; move it, or choose another directory",
                    image.path.display()
                );
                compared.conflicts.push((image.custom_id, reason));
            }
        }
    }
    compared
}

/// Downloads the missing ones of `total` images. Returns the custom id and the error of each failure.
async fn download_all(
    client: &NativeClient,
    missing: Vec<Image>,
    total: usize,
    record: &DownloadRecord,
) -> Vec<(String, String)> {
    let bar = progress::bar(total as u64, "downloading");
    bar.inc((total - missing.len()) as u64);
    let faults = stream::iter(missing)
        .map(|image| async {
            let outcome = download(client, &image, record).await;
            bar.inc(1);
            Some((image.custom_id, format!("{:#}", outcome.err()?)))
        })
        .buffered(CONCURRENT_DOWNLOADS)
        .filter_map(async |it| it)
        .collect()
        .await;
    bar.finish_and_clear();
    faults
}

async fn list(client: &NativeClient, id: BatchId, directory: &Path) -> anyhow::Result<Results> {
    let (mut results, mut names, mut position) = (Results::default(), FileNames::default(), 0);
    client
        .for_each_result(id, |line| {
            let result: BatchResult<'_> = serde_json::from_slice(line)
                .context("the response is not from Tintype; check --server")?;
            let custom_id = result.custom_id.into_owned();
            // Results without an image get a name too, so that names do not depend on the progress of the batch.
            let name = names.assign(&custom_id, position);
            position += 1;
            match (result.result, result.error) {
                (Some(it), _) => {
                    let url = String::from(it.image_url);
                    let file = format!("{name}.{}", extension(&url));
                    results.images.push(Image {
                        custom_id,
                        job: result.job_id.into(),
                        path: directory.join(file),
                        url,
                    });
                }
                (None, Some(error)) => results.failed.push((custom_id, error.into_owned())),
                (None, None) => results.unfinished += 1,
            }
            Ok(())
        })
        .await?;
    Ok(results)
}

fn extension(url: &str) -> String {
    let path = Url::parse(url).ok().map(|url| url.path().to_owned());
    let extension = path.as_deref().and_then(|it| it.rsplit_once('.'));
    match extension {
        Some((_, it))
            if (1..=5).contains(&it.len()) && it.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            it.to_owned()
        }
        _ => "png".to_owned(),
    }
}

/// Downloads to a partial file and renames it, so that a file under the final name is complete.
async fn download(
    client: &NativeClient,
    image: &Image,
    record: &DownloadRecord,
) -> anyhow::Result<()> {
    let mut url = image.url.clone();
    let mut delay = FIRST_RETRY_DELAY;
    let mut attempt = 1;
    let bytes = loop {
        match client.download(&url).await {
            Ok(bytes) => break bytes,
            Err(error) if attempt == MAX_ATTEMPTS || error.is::<ImageGone>() => return Err(error),
            Err(_) => {}
        }
        tokio::time::sleep(delay).await;
        (attempt, delay) = (attempt + 1, delay * 2);
        if let Ok(new_url) = client.image_url(&image.job).await {
            url = new_url;
        }
    };
    let mut partial = image.path.clone().into_os_string();
    partial.push(format!(".{PARTIAL}"));
    let partial = PathBuf::from(partial);
    umask::write_for_user(&partial, &bytes)
        // Recorded first: without a file, a line of the record means nothing.
        .and_then(|()| record.add(&image.path, &image.job))
        .and_then(|()| fs::rename(&partial, &image.path))
        .with_context(|| format!("cannot write {}", image.path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_extension_of_its_object() {
        for (url, wanted) in [
            (
                "http://a/files/results/1.png?expires=1&signature=a.jpg",
                "png",
            ),
            ("https://bucket/results/1.webp?X-Amz=1", "webp"),
            ("https://bucket/results/1", "png"),
            ("https://bucket/results.d/1", "png"),
            ("no URL", "png"),
        ] {
            assert_eq!(extension(url), wanted, "{url}");
        }
    }
}
