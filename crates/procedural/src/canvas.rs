//! The canvas: an 8-bit RGB image, painted shape by shape.
//!
//! The rasteriser computes only the coverage of polygons. This module colours each pixel, because stippled ramps, edge light and
//! dither make the images look printed instead of computed.

use tiny_skia::{FillRule, Mask, PathBuilder, Transform};

use super::colour::Rgb;
use super::fill::{Along, Edge, Fill};
use super::grain::Grain;
use super::shape::{Point, Shape};

/// Shapes are filled in tiles of this many pixels a side, so that the coverage stays in the cache.
const TILE: i32 = 1024;

/// The image and its grain.
#[derive(Debug)]
pub struct Canvas {
    pub width: usize,
    pub height: usize,
    /// Rows of red, green, blue.
    pub pixels: Vec<u8>,
    /// The noise used for stipple and dither.
    pub grain: Grain,
}

/// A rectangle in pixels: left, top, right, bottom.
type Area = (i32, i32, i32, i32);

impl Canvas {
    /// A black image.
    pub fn new(width: u32, height: u32) -> Self {
        let (width, height) = (width as usize, height as usize);
        let speck = (width.min(height) + 300) / 1100;
        Self {
            width,
            height,
            pixels: vec![0; width * height * 3],
            grain: Grain::new(speck.max(1) as u32),
        }
    }

    pub fn w(&self) -> f32 {
        self.width as f32
    }

    pub fn h(&self) -> f32 {
        self.height as f32
    }

    /// The short side, which is the unit for the sizes of subjects.
    pub fn short(&self) -> f32 {
        self.width.min(self.height) as f32
    }

    /// Copies the rows between two heights. Also returns the index of the first row.
    pub fn copy_rows(&self, top: f32, bottom: f32) -> (usize, Vec<u8>) {
        let first = (top.max(0.0) as usize).min(self.height);
        let end = (bottom.max(0.0) as usize).clamp(first, self.height);
        (
            first,
            self.pixels[first * self.width * 3..end * self.width * 3].to_vec(),
        )
    }

    pub fn fill(&mut self, shape: &Shape, fill: &Fill) {
        let (left, top, right, bottom) = shape.bounds();
        if !(left < right && top < bottom) || fill.opacity <= 0.0 {
            return;
        }
        let area: Area = (
            (left.floor() as i32).max(0),
            (top.floor() as i32).max(0),
            (right.ceil() as i32).min(self.width as i32),
            (bottom.ceil() as i32).min(self.height as i32),
        );
        let (right, bottom) = (area.2, area.3);
        for y in (area.1..bottom).step_by(TILE as usize) {
            for x in (area.0..right).step_by(TILE as usize) {
                let tile = (x, y, (x + TILE).min(right), (y + TILE).min(bottom));
                self.fill_tile(shape, fill, tile);
            }
        }
    }

    fn fill_tile(&mut self, shape: &Shape, fill: &Fill, area: Area) {
        let reaches = fill.edges.iter().flatten().map(|edge| edge.reach);
        let pad = reaches.fold(0.0, f32::max).ceil() as i32 + 1;
        let Some(mask) = coverage(shape, area, pad) else {
            return;
        };
        let (mask, mask_w) = (mask.data(), mask.width() as usize);
        let offsets = |edge| Offsets::new(&edge, mask_w);
        let edges = fill.edges.map(|edge| edge.map(offsets));
        let opacity = (fill.opacity.clamp(0.0, 1.0) * 256.0) as u32;
        let stipple = (fill.stipple * 256.0) as i32;
        let columns = self.grain.mask();
        for y in area.1..area.3 {
            let row = self.grain.row(y as usize);
            let other = self.grain.row(y as usize + 89);
            let start = (y - area.1 + pad) as usize * mask_w + pad as usize;
            let line = &mask[start..start + (area.2 - area.0) as usize];
            let out = (y as usize * self.width + area.0 as usize) * 3;
            let pixels = &mut self.pixels[out..out + line.len() * 3];
            let place = Place::new(&fill.along, area.0, y);
            for (i, (&cover, pixel)) in line.iter().zip(pixels.as_chunks_mut::<3>().0).enumerate() {
                if cover == 0 {
                    continue;
                }
                let x = area.0 as usize + i;
                let noise = i32::from(row[x & columns]);
                let step = place.at(i as f32) + (((noise - 128) * stipple) >> 8);
                let [mut r, mut g, mut b, a] = fill.gradient.at(step).map(u32::from);
                let reaches = [other[x & columns], row[(x + 53) & columns]];
                for (edge, noise) in edges.iter().zip(reaches) {
                    let Some(edge) = edge else { continue };
                    let beyond =
                        mask[(start + i).wrapping_add_signed(edge.table[usize::from(noise)])];
                    let amount = edge.strength * (255 - u32::from(beyond)) / 255;
                    if amount > 0 {
                        r = blend(r, edge.colour[0], amount);
                        g = blend(g, edge.colour[1], amount);
                        b = blend(b, edge.colour[2], amount);
                    }
                }
                let amount = ((u32::from(cover) * a * opacity) / 255 + 127) / 255;
                pixel[0] = blend(u32::from(pixel[0]), r, amount) as u8;
                pixel[1] = blend(u32::from(pixel[1]), g, amount) as u8;
                pixel[2] = blend(u32::from(pixel[2]), b, amount) as u8;
            }
        }
    }

    /// A small round dot with a soft edge, without the cost of a polygon.
    pub fn dot(&mut self, centre: Point, radius: f32, colour: Rgb, opacity: f32) {
        let colour = colour.array().map(|v| v as u32);
        self.around(
            centre,
            radius + 0.5,
            |d, _| ((radius + 0.5 - d).clamp(0.0, 1.0) * opacity * 256.0) as u32,
            |p, a| {
                for (value, ink) in p.iter_mut().zip(colour) {
                    *value = blend(u32::from(*value), ink, a) as u8;
                }
            },
        );
    }

    /// Light around a point that fades outward; it only ever brightens.
    pub fn glow(&mut self, centre: Point, radius: f32, colour: Rgb, strength: f32) {
        let colour = colour.array().map(|v| v as u32);
        let fade = |d: f32, noise: i32| {
            let t = 1.0 - d / radius;
            (t * t * t * strength * 256.0 + (noise - 128) as f32 / 80.0).max(0.0) as u32
        };
        self.around(centre, radius, fade, |p, a| {
            for (value, ink) in p.iter_mut().zip(colour) {
                let room = 255 - u32::from(*value);
                *value += (room * ink * a.min(256) / (255 * 256)) as u8;
            }
        });
    }

    /// A soft, flat pool of shadow or light, strongest in the middle.
    pub fn pool(&mut self, at: Point, rx: f32, ry: f32, colour: Rgb, opacity: f32) {
        if rx < 0.5 || ry < 0.5 {
            return;
        }
        let colour = colour.array().map(|v| v as u32);
        let bound = |v: f32, end: usize| (v.max(0.0) as usize).min(end);
        let left = bound(at.0 - rx, self.width);
        let right = bound(at.0 + rx + 1.0, self.width);
        let columns = self.grain.mask();
        for y in bound(at.1 - ry, self.height)..bound(at.1 + ry + 1.0, self.height) {
            let dy = (y as f32 + 0.5 - at.1) / ry;
            let row = self.grain.row(y + 11);
            for x in left..right {
                let dx = (x as f32 + 0.5 - at.0) / rx;
                let square = dx * dx + dy * dy;
                if square >= 1.0 {
                    continue;
                }
                let noise = (f32::from(row[x & columns]) - 128.0) / 255.0;
                let fade = ((1.0 - square) * 1.5 + noise * 0.35 * (1.0 - square)).clamp(0.0, 1.0);
                let amount = (fade * opacity * 256.0) as u32;
                let start = (y * self.width + x) * 3;
                for (value, ink) in self.pixels[start..start + 3].iter_mut().zip(colour) {
                    *value = blend(u32::from(*value), ink, amount) as u8;
                }
            }
        }
    }

    fn around(
        &mut self,
        at: Point,
        radius: f32,
        amount: impl Fn(f32, i32) -> u32,
        put: impl Fn(&mut [u8; 3], u32),
    ) {
        let top = ((at.1 - radius).floor().max(0.0) as usize).min(self.height);
        let bottom = ((at.1 + radius).ceil().max(0.0) as usize + 1).min(self.height);
        let columns = self.grain.mask();
        for y in top..bottom {
            let dy = y as f32 + 0.5 - at.1;
            let half = (radius * radius - dy * dy).max(0.0).sqrt();
            let left = ((at.0 - half).floor().max(0.0) as usize).min(self.width);
            let right = ((at.0 + half).ceil().max(0.0) as usize + 1).min(self.width);
            if left >= right {
                continue;
            }
            let row = self.grain.row(y + 31);
            let pixels =
                &mut self.pixels[(y * self.width + left) * 3..(y * self.width + right) * 3];
            for (i, pixel) in pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let dx = (left + i) as f32 + 0.5 - at.0;
                let d = (dx * dx + dy * dy).sqrt();
                if d >= radius {
                    continue;
                }
                let a = amount(d, i32::from(row[(left + i) & columns]));
                if a > 0 {
                    put(pixel, a);
                }
            }
        }
    }
}

/// How much of each pixel a shape covers, in an area and `pad` pixels around it.
fn coverage(shape: &Shape, area: Area, pad: i32) -> Option<Mask> {
    let (left, top) = (area.0 - pad, area.1 - pad);
    let width = (area.2 - area.0 + 2 * pad) as u32;
    let height = (area.3 - area.1 + 2 * pad) as u32;
    let mut path = PathBuilder::new();
    for contour in &shape.contours {
        let mut points = contour
            .iter()
            .map(|p| (p.0 - left as f32, p.1 - top as f32));
        if let Some((x, y)) = points.next() {
            path.move_to(x, y);
            points.for_each(|(x, y)| path.line_to(x, y));
            path.close();
        }
    }
    let (path, mut mask) = (path.finish()?, Mask::new(width, height)?);
    mask.fill_path(&path, FillRule::Winding, true, Transform::identity());
    Some(mask)
}

/// `a` with `amount` 256ths of `b`.
fn blend(a: u32, b: u32, amount: u32) -> u32 {
    (a * (256 - amount.min(256)) + b * amount.min(256) + 128) >> 8
}

/// For each grain value, the distance at which to read the coverage: often near the edge, seldom far from it.
struct Offsets {
    table: Vec<isize>,
    colour: [u32; 3],
    strength: u32,
}

impl Offsets {
    fn new(edge: &Edge, stride: usize) -> Self {
        let table = (0..256)
            .map(|n| {
                let t = n as f32 / 255.0;
                let far = edge.reach * (0.35 * t + 0.65 * t * t);
                let (x, y) = ((edge.toward.0 * far).round(), (edge.toward.1 * far).round());
                y as isize * stride as isize + x as isize
            })
            .collect();
        let strength = (edge.strength.clamp(0.0, 1.0) * 256.0) as u32;
        Self {
            table,
            colour: edge.colour.array().map(|v| v as u32),
            strength,
        }
    }
}

/// Position along the gradient for one row.
enum Place {
    Line { start: f32, step: f32 },
    Radius { x: f32, square: f32, scale: f32 },
}

impl Place {
    fn new(along: &Along, left: i32, y: i32) -> Self {
        let (x, y) = (left as f32 + 0.5, y as f32 + 0.5);
        match *along {
            Along::Line(a, b) => {
                let (dx, dy) = (b.0 - a.0, b.1 - a.1);
                let scale = 255.0 / (dx * dx + dy * dy).max(1e-3);
                Self::Line {
                    start: ((x - a.0) * dx + (y - a.1) * dy) * scale,
                    step: dx * scale,
                }
            }
            Along::Radius(c, r) => Self::Radius {
                x: x - c.0,
                square: (y - c.1) * (y - c.1),
                scale: 255.0 / r.max(1e-3),
            },
        }
    }

    fn at(&self, i: f32) -> i32 {
        match *self {
            Self::Line { start, step } => (start + i * step) as i32,
            Self::Radius { x, square, scale } => {
                (((x + i) * (x + i) + square).sqrt() * scale) as i32
            }
        }
    }
}
