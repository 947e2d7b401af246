//! The last pass over the whole image: vignette, paper grain, and the techniques that a prompt can request.

use super::canvas::Canvas;
use super::colour::{Rgb, hex};
use super::exact::{mix, smooth};
use super::lexicon::Style;
use super::seed::lattice;
use super::studio::Studio;

/// Textures the image and returns the canvas.
pub fn finish(studio: Studio<'_>) -> Canvas {
    let (style, key) = (studio.plan.style, studio.seed.branch(90).bits() as u32);
    let accent = studio.plan.tint.unwrap_or(studio.palette.accent);
    let mut canvas = studio.canvas;
    match style {
        Style::Watercolour => watercolour(&mut canvas, key),
        Style::Woodcut => woodcut(&mut canvas, accent),
        _ => {}
    }
    paper(&mut canvas, style);
    canvas
}

/// Darker corners and the tooth of paper, in one pass of integers per pixel.
fn paper(canvas: &mut Canvas, style: Style) {
    let (w, h) = (canvas.w(), canvas.h());
    let columns = canvas.grain.mask();
    let dark = if matches!(style, Style::Watercolour | Style::Woodcut) {
        12.0
    } else {
        62.0
    };
    let bend = |t: f32| smooth(0.55, 1.25, (2.0 * t - 1.0).abs());
    let across: Vec<u32> = (0..canvas.width)
        .map(|x| (bend(x as f32 / w) * dark) as u32)
        .collect();
    for (y, row) in canvas.pixels.chunks_exact_mut(canvas.width * 3).enumerate() {
        let down = (bend(y as f32 / h) * dark) as u32;
        let (fine, other) = (canvas.grain.row(y), canvas.grain.row(y / 2 + 77));
        for (x, pixel) in row.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let noise =
                i32::from(fine[x & columns]) + i32::from(other[(x / 2 + 31) & columns]) - 255;
            let keep = 1024 - across[x] - down;
            let tooth = noise / 52;
            for value in pixel {
                let v = ((u32::from(*value) * keep) >> 10) as i32 + tooth;
                *value = v.clamp(0, 255) as u8;
            }
        }
    }
}

/// Smooth noise over the plane, from 0 to 1.
fn cloud(key: u32, x: f32, y: f32) -> f32 {
    let (cx, cy) = (x.floor(), y.floor());
    let (fx, fy) = (x - cx, y - cy);
    let (fx, fy) = (fx * fx * (3.0 - 2.0 * fx), fy * fy * (3.0 - 2.0 * fy));
    let at = |dx: i32, dy: i32| lattice(key, cx as i32 + dx, cy as i32 + dy);
    mix(mix(at(0, 0), at(1, 0), fx), mix(at(0, 1), at(1, 1), fx), fy)
}

/// A field of [`cloud`] noise at a quarter of the resolution or less, which is fine enough for these effects.
struct Field {
    values: Vec<f32>,
    columns: usize,
    pitch: f32,
}

impl Field {
    fn new(canvas: &Canvas, key: u32, grain: f32) -> Self {
        let pitch = (canvas.short() / 256.0).max(1.0);
        let columns = (canvas.w() / pitch) as usize + 3;
        let rows = (canvas.h() / pitch) as usize + 3;
        let values = (0..columns * rows)
            .map(|i| {
                let x = (i % columns) as f32 * pitch / grain;
                let y = (i / columns) as f32 * pitch / grain;
                0.55 * cloud(key, x, y)
                    + 0.3 * cloud(key ^ 1, x * 2.3, y * 2.3)
                    + 0.15 * cloud(key ^ 2, x * 5.1, y * 5.1)
            })
            .collect();
        Self {
            values,
            columns,
            pitch,
        }
    }

    fn at(&self, x: usize, y: usize) -> f32 {
        let (px, py) = (x as f32 / self.pitch, y as f32 / self.pitch);
        let (cx, cy) = (px as usize, py as usize);
        let (fx, fy) = (px - cx as f32, py - cy as f32);
        let v = |dx: usize, dy: usize| self.values[(cy + dy) * self.columns + cx + dx];
        mix(mix(v(0, 0), v(1, 0), fx), mix(v(0, 1), v(1, 1), fx), fy)
    }
}

/// Wandering edges, pools of pigment and a margin of bare paper.
fn watercolour(canvas: &mut Canvas, key: u32) {
    let (w, h, s) = (canvas.width, canvas.height, canvas.short());
    let dx = Field::new(canvas, key, s * 0.035);
    let dy = Field::new(canvas, key ^ 77, s * 0.035);
    let pool = Field::new(canvas, key ^ 31, s * 0.12);
    let source = canvas.pixels.clone();
    let paper = hex(0xFBF7EE).array();
    let swing = s * 0.014;
    let margin = s * 0.045;
    for y in 0..h {
        let row = canvas.grain.row(y).to_vec();
        let columns = canvas.grain.mask();
        for x in 0..w {
            let (a, b, p) = (dx.at(x, y) - 0.5, dy.at(x, y) - 0.5, pool.at(x, y));
            let sx = (x as f32 + a * swing * 2.0).clamp(0.0, (w - 1) as f32) as usize;
            let sy = (y as f32 + b * swing * 2.0).clamp(0.0, (h - 1) as f32) as usize;
            let from = (sy * w + sx) * 3;
            let near = (x.min(w - 1 - x).min(y.min(h - 1 - y))) as f32 + (a + b) * margin * 1.5;
            let wash = smooth(margin * 0.55, margin * 0.75, near);
            let rim = wash * (1.0 - smooth(margin * 0.75, margin * 1.25, near));
            let speck = f32::from(row[x & columns]) / 255.0;
            let pigment =
                wash * (0.90 - 0.34 * (p - 0.35).max(0.0) - 0.10 * speck * (1.0 - p)) + 0.06 * rim;
            for c in 0..3 {
                let value = f32::from(source[from + c]);
                let value = value - rim * 14.0 - (p - 0.5) * 22.0 * wash;
                canvas.pixels[(y * w + x) * 3 + c] =
                    mix(paper[c], value, pigment.clamp(0.0, 0.97)).clamp(0.0, 255.0) as u8;
            }
        }
    }
}

/// Two blocks: ink lines whose width follows the darkness, and one flat colour where the image is most colourful.
fn woodcut(canvas: &mut Canvas, accent: Rgb) {
    let (w, s) = (canvas.width, canvas.short());
    let [accent, paper, ink] = [accent, hex(0xF3EBDA), hex(0x1E1B1C)].map(Rgb::array);
    let pitch = (s / 150.0).max(3.0);
    let columns = canvas.grain.mask();
    for y in 0..canvas.height {
        let row = canvas.grain.row(y).to_vec();
        for x in 0..w {
            let at = (y * w + x) * 3;
            let [r, g, b] = [0, 1, 2].map(|c| f32::from(canvas.pixels[at + c]));
            let light = (0.299 * r + 0.587 * g + 0.114 * b) / 255.0;
            let vivid = (r.max(g).max(b) - r.min(g).min(b)) / 255.0;
            let warm = vivid > 0.36 && r > b + 40.0;
            let slope = y as f32 + 0.35 * x as f32 * if light < 0.5 { 1.0 } else { -1.0 };
            let phase = slope / pitch - (slope / pitch).floor();
            let ridge = (2.0 * phase - 1.0).abs();
            let rough = (f32::from(row[x & columns]) - 128.0) / 900.0;
            let level = smooth(0.04, 0.74, light + rough);
            let soft = 1.4 / pitch;
            let inked = 1.0 - smooth(ridge - soft, ridge + soft, level * 1.08 - 0.02);
            for (c, own) in [r, g, b].into_iter().enumerate() {
                let ground = if warm {
                    mix(accent[c], own, 0.6)
                } else {
                    paper[c]
                };
                canvas.pixels[at + c] = mix(ground, ink[c], inked) as u8;
            }
        }
    }
}
