//! Records in a directory which of its files is the image of which job. Batches may use the same custom ids, which give their images
//! the same names.

use crate::cli::umask;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = ".tintype-images";

/// What is known about the file under the name of an image.
#[derive(Debug, PartialEq, Eq)]
pub enum Existing {
    Nothing,
    /// The image itself, which the user may have edited.
    Image,
    /// The image of another job.
    OtherImage,
    /// A file that the command did not download.
    Unknown,
}

/// One line per image, with the id of its job and its file name. The last line about a file is the valid one.
pub struct DownloadRecord {
    path: PathBuf,
    /// Job ids by file name.
    jobs: HashMap<String, String>,
}

impl DownloadRecord {
    /// # Errors
    /// The record exists, but cannot be read.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(FILE_NAME);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let jobs = lines.map(|(job, name)| (name.to_owned(), job.to_owned()));
        Ok(Self {
            jobs: jobs.collect(),
            path,
        })
    }

    /// What exists under `image`, the path at which the image of `job` belongs.
    pub fn existing(&self, image: &Path, job: &str) -> Existing {
        if !image.exists() {
            return Existing::Nothing;
        }
        match name_of(image).and_then(|name| self.jobs.get(name)) {
            Some(recorded) if recorded == job => Existing::Image,
            Some(_) => Existing::OtherImage,
            None => Existing::Unknown,
        }
    }

    /// Records that the file at `image` becomes the image of `job`.
    pub fn add(&self, image: &Path, job: &str) -> io::Result<()> {
        let name = name_of(image).unwrap_or_default();
        umask::append_for_user(&self.path, format!("{job} {name}\n").as_bytes())
    }
}

fn name_of(image: &Path) -> Option<&str> {
    image.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_image_of_the_job_that_was_recorded_last() {
        let directory = tempfile::tempdir().unwrap();
        let fox = directory.path().join("fox.png");
        let existing = |job: &str| {
            let record = DownloadRecord::open(directory.path()).unwrap();
            record.existing(&fox, job)
        };
        assert_eq!(existing("job-1"), Existing::Nothing);
        fs::write(&fox, "a fox").unwrap();
        assert_eq!(existing("job-1"), Existing::Unknown);
        for job in ["job-1", "job-2"] {
            let record = DownloadRecord::open(directory.path()).unwrap();
            record.add(&fox, job).unwrap();
            assert_eq!(existing(job), Existing::Image);
        }
        assert_eq!(existing("job-1"), Existing::OtherImage);
        fs::remove_file(&fox).unwrap();
        assert_eq!(existing("job-1"), Existing::Nothing);
    }
}
