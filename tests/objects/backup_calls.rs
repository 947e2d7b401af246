//! The calls that a backup of a bucket makes, and what it does if the store denies some of them.

use super::backup::run;
use super::s3::S3;
use std::path::{Path, PathBuf};

const CONFIG: &str = "live.toml";
const PLACE: &str = "s3://pictures/kept";

/// A service whose objects are in a bucket, and a backup location in the same bucket.
struct Service {
    s3: S3,
    dir: tempfile::TempDir,
}

impl Service {
    async fn with_images(images: usize) -> Self {
        let service = Self {
            s3: S3::start().await,
            dir: tempfile::tempdir().unwrap(),
        };
        let config = "[storage]\nobjects = \"s3://pictures/live\"\n";
        std::fs::write(service.dir.path().join(CONFIG), config).unwrap();
        for _ in 0..images {
            service.generate().await;
        }
        service
    }

    async fn generate(&self) {
        let generate = ["generate", "a fox", "--tier", "fast", "--data-dir", "data"];
        self.well(&[&generate[..], &["--config", CONFIG]].concat())
            .await;
    }

    async fn well(&self, arguments: &[&str]) -> String {
        let (well, output) = run(&self.s3, self.dir.path(), arguments).await;
        assert!(well, "{arguments:?}: {output}");
        output
    }

    async fn back_up(&self, data: &str, options: &[&str]) -> (bool, String) {
        let backup = ["backup", PLACE, "--config", CONFIG, "--data-dir", data];
        run(&self.s3, self.dir.path(), &[&backup[..], options].concat()).await
    }

    async fn backed_up(&self, data: &str, options: &[&str]) -> String {
        let (well, output) = self.back_up(data, options).await;
        assert!(well, "{output}");
        output
    }

    fn path(&self, below_bucket: &str) -> PathBuf {
        self.s3.dir.path().join("pictures").join(below_bucket)
    }

    /// The names of the images of the service.
    fn images(&self) -> Vec<String> {
        let images = std::fs::read_dir(self.path("live/results")).unwrap();
        let mut images: Vec<_> = images
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        images.sort();
        images
    }
}

fn change_byte(file: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(file, &bytes).unwrap();
    bytes
}

/// The calls about an object, without the ones about the objects around it.
fn about<'a>(calls: &'a [String], name: &str) -> Vec<&'a str> {
    let about = calls.iter().filter(|it| it.ends_with(name));
    about.map(String::as_str).collect()
}

#[tokio::test]
async fn a_new_image_costs_a_read_and_a_write_and_an_old_one_costs_no_call() {
    let service = Service::with_images(2).await;
    service.s3.take_calls();
    let first = service.backed_up("data", &[]).await;
    assert!(first.contains("2 newly copied"), "{first}");
    let calls = service.s3.take_calls();
    for image in service.images() {
        let expected = [
            format!("GET /pictures/live/results/{image}"),
            format!("PUT /pictures/kept/pictures/results/{image}"),
        ];
        assert_eq!(about(&calls, &image), expected);
    }
    let second = service.backed_up("data", &[]).await;
    assert!(second.contains("0 newly copied"), "{second}");
    let calls = service.s3.take_calls();
    for image in service.images() {
        assert_eq!(about(&calls, &image), [""; 0]);
    }
}

#[tokio::test]
async fn a_copy_that_cannot_be_read_is_not_replaced() {
    let service = Service::with_images(1).await;
    service.backed_up("data", &[]).await;
    let image = service.images().remove(0);
    let copy = service.path(&format!("kept/pictures/results/{image}"));
    let copied = std::fs::read(&copy).unwrap();
    change_byte(&service.path(&format!("live/results/{image}")));
    let read = format!("GET /pictures/kept/pictures/results/{image}");
    let is_refused = async |options: &[&str]| {
        service.s3.deny_after(0, read.clone());
        let (well, output) = service.back_up("data", options).await;
        service.s3.take_calls();
        assert!(!well, "{output}");
        for words in ["403", PLACE, &image] {
            assert!(output.contains(words), "{words}: {output}");
        }
        assert_eq!(std::fs::read(&copy).unwrap(), copied);
    };
    is_refused(&["--repair"]).await;
    // As an interrupted backup leaves it.
    std::fs::remove_dir_all(service.path("kept/backups")).unwrap();
    is_refused(&[]).await;
}

#[tokio::test]
async fn a_repair_reports_every_copy_that_cannot_be_read_and_repairs_the_others() {
    let service = Service::with_images(3).await;
    service.backed_up("data", &[]).await;
    let images = service.images();
    let copy = |image: &String| service.path(&format!("kept/pictures/results/{image}"));
    let intact = std::fs::read(copy(&images[1])).unwrap();
    change_byte(&copy(&images[1]));
    let read = |image: &String| format!("GET /pictures/kept/pictures/results/{image}");
    service.s3.deny([&images[0], &images[2]].map(read));
    let (well, output) = service.back_up("data", &["--repair"]).await;
    service.s3.take_calls();
    assert!(!well, "{output}");
    for words in ["2 copies in s3://pictures/kept", &images[0], &images[2]] {
        assert!(output.contains(words), "{words}: {output}");
    }
    assert!(!output.contains(&images[1]), "{output}");
    assert_eq!(std::fs::read(copy(&images[1])).unwrap(), intact);
    let made = service.backed_up("data", &["--repair"]).await;
    assert!(made.contains("0 newly copied"), "{made}");
}

#[tokio::test]
async fn an_image_of_the_service_that_cannot_be_read_does_not_differ() {
    let service = Service::with_images(1).await;
    let data = |name: &str| service.dir.path().join(name);
    std::fs::create_dir(data("early")).unwrap();
    let copied = std::process::Command::new("cp")
        .args(["-a", "data/.", "early"])
        .current_dir(service.dir.path())
        .status();
    assert!(copied.unwrap().success());
    let early = service.images();
    service.generate().await;
    let images = service.images();
    let image = images.iter().find(|it| !early.contains(it)).unwrap();
    service.backed_up("data", &[]).await;
    // The newest backup does not list the second image.
    service.backed_up("early", &[]).await;
    let read = format!("GET /pictures/live/results/{image}");
    for answered in [0, 1] {
        service.s3.deny_after(answered, read.clone());
        let (well, output) = service.back_up("data", &[]).await;
        assert!(!output.contains("an older backup was restored"), "{output}");
        let is_named = output.contains("403") && output.contains(image.as_str());
        assert!(well || is_named, "{output}");
    }
    service.s3.take_calls();
    let made = service.backed_up("data", &[]).await;
    assert!(made.contains("images: 2 ("), "{made}");
}

#[tokio::test]
async fn a_repair_reads_the_lists_of_all_backups_once() {
    let service = Service::with_images(3).await;
    for _ in 0..2 {
        service.backed_up("data", &[]).await;
    }
    let backups = std::fs::read_dir(service.path("kept/backups")).unwrap();
    let mut backups: Vec<_> = backups.map(|it| it.unwrap().path()).collect();
    backups.sort();
    change_byte(&backups[1].join("pictures.jsonl"));
    for image in service.images() {
        change_byte(&service.path(&format!("kept/pictures/results/{image}")));
    }
    service.s3.take_calls();
    service.backed_up("data", &["--repair"]).await;
    let calls = service.s3.take_calls();
    // The list of the newest backup is read before.
    for (backup, reads) in backups.iter().zip([1, 2]) {
        let list = backup.join("pictures.jsonl");
        let list = list.strip_prefix(service.s3.dir.path()).unwrap();
        let read = format!("GET /{}", list.display());
        assert_eq!(calls.iter().filter(|it| **it == read).count(), reads);
    }
    service.well(&["verify", "--backup", PLACE]).await;
}
