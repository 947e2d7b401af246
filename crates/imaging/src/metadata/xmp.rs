//! XMP in images (ISO 16684-1): some programs write a provenance mark into it, others the prompt.

/// The IPTC property for the source of an image, and C2PA's link to a manifest.
const MARKS: [&[u8]; 2] = [b"DigitalSourceType", b"dcterms:provenance"];

/// Does the packet contain a provenance mark?
pub fn is_provenance(packet: &[u8]) -> bool {
    let holds = |mark: &&[u8]| packet.windows(mark.len()).any(|it| it == *mark);
    MARKS.iter().any(holds)
}
