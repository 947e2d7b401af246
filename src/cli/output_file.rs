//! The file in which `tintype generate` saves its image.

use super::umask;
use anyhow::{Context as _, bail};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// File systems limit a name to 255 bytes, including the number and the extension.
const MAX_STEM_BYTES: usize = 200;

/// The file that the user named, or else an unused one named after the prompt.
///
/// # Errors
/// No file can have this path.
pub fn of(named: Option<&Path>, prompt: &str) -> anyhow::Result<PathBuf> {
    let file = match named {
        Some(file) => file.to_owned(),
        None => unused_file(&file_stem(prompt)),
    };
    check(&file)?;
    Ok(file)
}

/// Writes the image. If that fails, writes it to the temporary directory, because the user has paid for it.
pub fn save(output: &Path, image: &[u8]) -> anyhow::Result<()> {
    let Err(error) = umask::write_for_user(output, image) else {
        return Ok(());
    };
    let failed = format!("cannot write {}", output.display());
    let rescued = tempfile::Builder::new()
        .prefix("tintype-")
        .suffix(".png")
        .tempfile()
        .and_then(|mut file| file.write_all(image).map(|()| file))
        .and_then(|file| Ok(file.keep()?.1));
    match rescued {
        Ok(path) => Err(error).context(format!("{failed}; the image is in {}", path.display())),
        Err(_) => Err(error).context(failed),
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
fn unused_file(stem: &str) -> PathBuf {
    let names = std::iter::once(format!("{stem}.png"))
        .chain((2..).map(|number| format!("{stem}-{number}.png")));
    let unused = names.map(PathBuf::from).find(|path| !path.exists());
    unused.unwrap_or_else(|| PathBuf::from("image.png"))
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
    fn an_existing_file_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let stem = directory.path().join("fox").display().to_string();
        for expected in ["fox.png", "fox-2.png", "fox-3.png"] {
            let path = unused_file(&stem);
            assert_eq!(path, directory.path().join(expected));
            std::fs::write(path, b"").unwrap();
        }
    }
}
