//! `tintype batch results -o DIR`: downloads the images of a batch, and goes on where an earlier run has stopped.

use super::note;
use crate::api::file_names::FileNames;
use crate::cli::native_client::NativeClient;
use crate::cli::output::printable;
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

/// Images that are downloaded side by side.
const AT_A_TIME: usize = 8;
/// Attempts for one image. Each after the first asks for a fresh URL, as the first may have expired.
const ATTEMPTS: u32 = 4;
/// The time before the second attempt; it doubles with each further one.
const PAUSE: Duration = Duration::from_millis(500);
/// What a file ends with until it is complete.
const PARTIAL: &str = "part";

/// An image that is to be there.
struct Image {
    custom_id: String,
    job: String,
    url: String,
    path: PathBuf,
}

/// What the results say.
#[derive(Default)]
struct Listed {
    images: Vec<Image>,
    /// Custom ids of failed requests, and why.
    failed: Vec<(String, String)>,
    /// Requests that have not ended yet.
    unfinished: usize,
}

/// Downloads what is not there yet. Fails if a request has failed, has not ended, or its image cannot be had.
pub async fn run(client: &NativeClient, id: BatchId, directory: &Path) -> anyhow::Result<ExitCode> {
    let created = fs::create_dir_all(directory);
    created.with_context(|| format!("cannot create {}", directory.display()))?;
    let Listed {
        images,
        mut failed,
        unfinished,
    } = list(client, id, directory).await?;
    let total = images.len();
    let bar = progress::bar(total as u64, "downloading");
    let missing = images.into_iter().filter(|it| {
        let is_there = it.path.exists();
        bar.inc(u64::from(is_there));
        !is_there
    });
    let missing: Vec<Image> = missing.collect();
    let there = total - missing.len();
    let outcomes = stream::iter(missing)
        .map(|image| async {
            let outcome = save(client, &image).await;
            bar.inc(1);
            (image, outcome)
        })
        .buffered(AT_A_TIME);
    let lost: Vec<(String, String)> = outcomes
        .filter_map(|(image, outcome)| async move {
            Some((image.custom_id, format!("{:#}", outcome.err()?)))
        })
        .collect()
        .await;
    bar.finish_and_clear();
    note(&format!(
        "{} of {total} images are in {}; {there} were there before",
        total - lost.len(),
        directory.display(),
    ));
    failed.extend(lost);
    for (custom_id, reason) in &failed {
        note(&format!(
            "failed: {}: {}",
            printable(custom_id),
            printable(reason)
        ));
    }
    if unfinished > 0 {
        note(&format!(
            "{unfinished} requests have not ended; repeat the command for their images, or use --wait"
        ));
    }
    Ok(match failed.is_empty() && unfinished == 0 {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

async fn list(client: &NativeClient, id: BatchId, directory: &Path) -> anyhow::Result<Listed> {
    let (mut listed, mut names, mut position) = (Listed::default(), FileNames::default(), 0);
    client
        .results(id, |line| {
            let result: BatchResult<'_> = serde_json::from_slice(line)
                .context("the answer is not from Tintype; check --server")?;
            let custom_id = result.custom_id.into_owned();
            // Also for those without an image, so that a name does not depend on how far the others are.
            let name = names.assign(&custom_id, position);
            position += 1;
            match (result.result, result.error) {
                (Some(it), _) => {
                    let url = String::from(it.image_url);
                    let file = format!("{name}.{}", extension(&url));
                    listed.images.push(Image {
                        custom_id,
                        job: result.job_id.into(),
                        path: directory.join(file),
                        url,
                    });
                }
                (None, Some(error)) => listed.failed.push((custom_id, error.into_owned())),
                (None, None) => listed.unfinished += 1,
            }
            Ok(())
        })
        .await?;
    Ok(listed)
}

/// That of the object, as the path of its URL ends.
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

/// Downloads one image. A file under its own name is complete: until then it has another one.
async fn save(client: &NativeClient, image: &Image) -> anyhow::Result<()> {
    let mut url = image.url.clone();
    let mut pause = PAUSE;
    let mut attempt = 1;
    let bytes = loop {
        match client.download(&url).await {
            Ok(bytes) => break bytes,
            Err(error) if attempt == ATTEMPTS => return Err(error),
            Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        (attempt, pause) = (attempt + 1, pause * 2);
        if let Ok(fresh) = client.image_url(&image.job).await {
            url = fresh;
        }
    };
    let mut partial = image.path.clone().into_os_string();
    partial.push(format!(".{PARTIAL}"));
    let partial = PathBuf::from(partial);
    umask::write_for_user(&partial, &bytes)
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
