//! The file in which `tintype generate` saves its image.

use super::{image_format, umask};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// File systems limit a name to 255 bytes, including the number and the extension.
const MAX_STEM_BYTES: usize = 200;

pub enum OutputFile {
    /// The user has named it.
    Named(PathBuf),
    /// An unused file with this name, and the extension of the image.
    AfterPrompt(String),
}

impl OutputFile {
    /// # Errors
    /// No file can have the path that the user has named.
    pub fn new(named: Option<&Path>, prompt: &str) -> anyhow::Result<Self> {
        let Some(file) = named else {
            return Ok(Self::AfterPrompt(file_stem(prompt)));
        };
        check(file)?;
        Ok(Self::Named(file.to_owned()))
    }

    /// Writes the image, in the format that the file is named after, and returns the path. If that fails, writes it to the temporary
    /// directory, because the user has paid for it.
    pub fn save(self, image: Bytes) -> anyhow::Result<PathBuf> {
        let (file, image) = match self {
            Self::Named(file) => {
                let image = image_format::for_file(&file, image);
                (file, image)
            }
            Self::AfterPrompt(stem) => (unused_file(&stem, image_format::extension(&image)), image),
        };
        let Err(error) = umask::write_for_user(&file, &image) else {
            return Ok(file);
        };
        let failed = format!("cannot write {}", file.display());
        let rescued = tempfile::Builder::new()
            .prefix("tintype-")
            .suffix(&format!(".{}", image_format::extension(&image)))
            .tempfile()
            .and_then(|mut file| file.write_all(&image).map(|()| file))
            .and_then(|file| Ok(file.keep()?.1));
        match rescued {
            Ok(path) => Err(error).context(format!("{failed}; the image is in {}", path.display())),
            Err(_) => Err(error).context(failed),
        }
    }
}

/// Checks the output path before the image is generated and charged.
fn check(output: &Path) -> anyhow::Result<()> {
    if output.is_dir() {
        bail!(
            "--output {} is a directory; give a file name",
            output.display()
        );
    }
    if output == Path::new("-") {
        bail!("--output -: the image cannot be written to standard output; give a file name");
    }
    if let Some(extension) = output.extension()
        && image_format::of_extension(output).is_none()
    {
        bail!(
            "--output {}: unknown image format `{}`; use png, jpg, jpeg or webp",
            output.display(),
            extension.display()
        );
    }
    match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            bail!(
                "--output: the directory {} does not exist",
                parent.display()
            )
        }
        _ => Ok(()),
    }
}

/// The first unused file name, so that an image without --output replaces no file.
fn unused_file(stem: &str, extension: &str) -> PathBuf {
    let names = std::iter::once(format!("{stem}.{extension}"))
        .chain((2..).map(|number| format!("{stem}-{number}.{extension}")));
    let unused = names.map(PathBuf::from).find(|path| !path.exists());
    unused.unwrap_or_else(|| PathBuf::from(format!("image.{extension}")))
}

/// The first words of a prompt as a file name without extension.
fn file_stem(prompt: &str) -> String {
    let words: Vec<String> = prompt
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(6)
        .map(|word| word.chars().take(20).collect::<String>().to_lowercase())
        .collect();
    if words.is_empty() {
        return "image".to_owned();
    }
    let mut stem = words.join("-");
    stem.truncate(stem.floor_char_boundary(MAX_STEM_BYTES));
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_the_prompt() {
        assert_eq!(
            file_stem("A red fox, in the snow!"),
            "a-red-fox-in-the-snow"
        );
        assert_eq!(file_stem("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_stem("\u{1f98a}"), "image");
        let long = file_stem(&format!(
            "a {}",
            "狐狸在雪地里奔跑穿过森林和田野、".repeat(20)
        ));
        assert!(
            long.starts_with("a-狐狸") && (190..=200).contains(&long.len()),
            "{long}"
        );
    }

    #[test]
    fn a_file_that_cannot_have_the_image_is_refused() {
        for name in ["fox", "fox.png", "fox.JPG", "fox.jpeg", "a.b/fox.webp"] {
            let directory = tempfile::tempdir().unwrap();
            std::fs::create_dir(directory.path().join("a.b")).unwrap();
            check(&directory.path().join(name)).unwrap();
        }
        for (name, wanted) in [
            ("fox.bmp", "bmp"),
            ("fox.png.bak", "bak"),
            ("-", "standard output"),
        ] {
            let fault = check(Path::new(name)).unwrap_err().to_string();
            assert!(fault.contains(wanted), "{fault}");
        }
    }

    #[test]
    fn an_existing_file_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let stem = directory.path().join("fox").display().to_string();
        for expected in ["fox.png", "fox-2.png", "fox-3.png"] {
            let path = unused_file(&stem, "png");
            assert_eq!(path, directory.path().join(expected));
            std::fs::write(path, b"").unwrap();
        }
    }
}
