//! Previews of images that backends are still generating.

use super::image_bytes;
use std::sync::Arc;
use tintype_actors::ports::Preview;
use tintype_imaging::ImageKind;

/// `None` for formats that browsers do not show.
pub fn preview(bytes: &[u8]) -> Option<Preview> {
    let kind = ImageKind::from_bytes(bytes)?;
    matches!(kind, ImageKind::Png | ImageKind::Jpeg | ImageKind::WebP).then(|| Preview {
        bytes: Arc::from(bytes),
        media_type: kind.mime(),
    })
}

/// The same for base64. CPU-heavy: call it on the blocking pool.
pub fn preview_of_text(text: &str) -> Option<Preview> {
    preview(&image_bytes(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_preview_is_recognized_by_its_bytes() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        assert_eq!(preview(png).unwrap().media_type, "image/png");
        let jpeg = preview_of_text("data:image/png;base64,/9j/4AAQSkZJRg==");
        assert_eq!(jpeg.unwrap().media_type, "image/jpeg");
        for other in [
            &b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..],
            b"<html>",
            b"",
        ] {
            assert_eq!(preview(other), None);
        }
        assert_eq!(preview_of_text("&&&"), None);
    }
}
