//! Small files of every format, built byte by byte, so that tests can damage them.
#![allow(dead_code, reason = "each test program uses a part")]

use tintype_imaging::ImageKind;

fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
    let mut all = (data.len() as u32).to_be_bytes().to_vec();
    all.extend_from_slice(kind);
    all.extend_from_slice(data);
    // No test checks checksums.
    all.extend_from_slice(&[0; 4]);
    all
}

/// A PNG with extra chunks between header and data, and after the data.
pub fn png_with(
    width: u32,
    height: u32,
    before: &[(&[u8], Vec<u8>)],
    after: &[(&[u8], Vec<u8>)],
) -> Vec<u8> {
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut all = b"\x89PNG\r\n\x1a\n".to_vec();
    all.extend(chunk(b"IHDR", &header));
    before
        .iter()
        .for_each(|(kind, data)| all.extend(chunk(kind, data)));
    all.extend(chunk(b"IDAT", &[1, 2, 3]));
    after
        .iter()
        .for_each(|(kind, data)| all.extend(chunk(kind, data)));
    all.extend(chunk(b"IEND", &[]));
    all
}

pub fn png(width: u32, height: u32) -> Vec<u8> {
    png_with(width, height, &[], &[])
}

/// A PNG with this length in bytes.
pub fn png_of(bytes: usize) -> Vec<u8> {
    let bare = png(3, 2).len() + 12;
    png_with(3, 2, &[(b"tEXt", vec![b'x'; bytes - bare])], &[])
}

/// An Exif block that contains only the orientation.
pub fn exif(orientation: u16) -> Vec<u8> {
    let mut all = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01".to_vec();
    all.extend_from_slice(&orientation.to_be_bytes());
    all.extend_from_slice(&[0; 6]);
    all
}

fn segment(marker: u8, data: &[u8]) -> Vec<u8> {
    let mut all = vec![0xff, marker];
    all.extend_from_slice(&(data.len() as u16 + 2).to_be_bytes());
    all.extend_from_slice(data);
    all
}

/// A JPEG with extra segments before its frame header.
pub fn jpeg_with(width: u16, height: u16, before: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut frame = vec![8];
    frame.extend_from_slice(&height.to_be_bytes());
    frame.extend_from_slice(&width.to_be_bytes());
    frame.extend_from_slice(&[1, 1, 0x11, 0]);
    let mut all = vec![0xff, 0xd8];
    before
        .iter()
        .for_each(|(marker, data)| all.extend(segment(*marker, data)));
    all.extend(segment(0xdb, &[0; 65]));
    all.extend(segment(0xc0, &frame));
    all.extend(segment(0xda, &[1, 1, 0, 0, 63, 0]));
    all.extend_from_slice(&[0x55, 0xff, 0xd9]);
    all
}

pub fn jpeg(width: u16, height: u16) -> Vec<u8> {
    jpeg_with(width, height, &[])
}

/// The segment that holds an Exif block.
pub fn app1(block: &[u8]) -> (u8, Vec<u8>) {
    (0xe1, [b"Exif\0\0", block].concat())
}

pub fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut all = b"GIF89a".to_vec();
    all.extend_from_slice(&width.to_le_bytes());
    all.extend_from_slice(&height.to_le_bytes());
    all.extend_from_slice(&[0, 0, 0]);
    // An extension, an image of one pixel, and the trailer, all in ASCII.
    all.extend_from_slice(&[0x21, 0x01, 4, 0, 0, 0, 0, 0]);
    all.extend_from_slice(&[0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]);
    all.push(0x3b);
    all
}

/// A RIFF file of WebP chunks.
pub fn riff(chunks: &[(&[u8], Vec<u8>)]) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    for (kind, data) in chunks {
        body.extend_from_slice(kind);
        body.extend_from_slice(&(data.len() as u32).to_le_bytes());
        body.extend_from_slice(data);
        body.resize(body.len().next_multiple_of(2), 0);
    }
    [
        b"RIFF".as_slice(),
        &(body.len() as u32).to_le_bytes(),
        &body,
    ]
    .concat()
}

/// The data of a lossy key frame.
pub fn vp8(width: u16, height: u16) -> Vec<u8> {
    let mut data = vec![0x30, 1, 0, 0x9d, 1, 0x2a];
    data.extend_from_slice(&width.to_le_bytes());
    data.extend_from_slice(&height.to_le_bytes());
    data.extend_from_slice(&[0; 7]);
    data
}

pub fn vp8l(width: u32, height: u32) -> Vec<u8> {
    let mut data = vec![0x2f];
    data.extend_from_slice(&((width - 1) | ((height - 1) << 14)).to_le_bytes());
    data.extend_from_slice(&[0; 6]);
    data
}

pub fn vp8x(width: u32, height: u32) -> Vec<u8> {
    let mut data = vec![0x08, 0, 0, 0];
    data.extend_from_slice(&(width - 1).to_le_bytes()[..3]);
    data.extend_from_slice(&(height - 1).to_le_bytes()[..3]);
    data
}

pub fn webp(width: u16, height: u16) -> Vec<u8> {
    riff(&[(b"VP8 ", vp8(width, height))])
}

pub fn boxed(kind: &[u8], data: &[u8]) -> Vec<u8> {
    [&(data.len() as u32 + 8).to_be_bytes(), kind, data].concat()
}

/// The boxes of an ISO base media image: brands, and a description with the properties of its items.
pub fn ftyp(brands: &[u8; 4], compatible: &[u8]) -> Vec<u8> {
    boxed(b"ftyp", &[brands, &[0; 4], compatible].concat())
}

pub fn ispe(width: u32, height: u32) -> Vec<u8> {
    boxed(
        b"ispe",
        &[[0; 4], width.to_be_bytes(), height.to_be_bytes()].concat(),
    )
}

pub fn meta(properties: &[Vec<u8>]) -> Vec<u8> {
    let handler = boxed(b"hdlr", b"\0\0\0\0\0\0\0\0pict\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let container = boxed(b"ipco", &properties.concat());
    let associations = boxed(b"ipma", &[0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0x81]);
    let properties = boxed(b"iprp", &[container, associations].concat());
    boxed(b"meta", &[vec![0; 4], handler, properties].concat())
}

pub fn heif(brand: &[u8; 4], width: u32, height: u32) -> Vec<u8> {
    [
        ftyp(brand, b"mif1"),
        meta(&[ispe(width, height)]),
        boxed(b"mdat", &[0; 32]),
    ]
    .concat()
}

/// One image of every kind, all of 300 by 200.
pub fn one_of_each() -> [(ImageKind, Vec<u8>); 6] {
    [
        (ImageKind::Png, png(300, 200)),
        (ImageKind::Jpeg, jpeg(300, 200)),
        (ImageKind::WebP, webp(300, 200)),
        (ImageKind::Gif, gif(300, 200)),
        (ImageKind::Heic, heif(b"heic", 300, 200)),
        (ImageKind::Avif, heif(b"avif", 300, 200)),
    ]
}
