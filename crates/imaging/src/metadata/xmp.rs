//! XMP within pictures (ISO 16684-1): some programs write a mark of origin into it, others the prompt.

/// What a mark is told by: the IPTC's property for what a picture was made by, and C2PA's link to a manifest.
const MARKS: [&[u8]; 2] = [b"DigitalSourceType", b"dcterms:provenance"];

/// Does the packet say what made the picture? Then it stays; any other goes.
pub fn is_mark_of_origin(packet: &[u8]) -> bool {
    let holds = |mark: &&[u8]| packet.windows(mark.len()).any(|it| it == *mark);
    MARKS.iter().any(holds)
}
