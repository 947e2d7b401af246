//! The shape of the land: peaks, hills, mesas and dunes, fields of corn.

use crate::colour::{Rgb, hex};
use crate::ink::{Edge, Ink};
use crate::lexicon::Weather;
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke};
use crate::studio::{Studio, rough};

use super::bank;

/// A chain of peaks, higher on tall pictures.
pub fn range(studio: &mut Studio<'_>, distance: f32, base: f32, height: f32, seed: &mut Seed) {
    let stretch = 0.55 + 0.45 * (studio.canvas.h() / studio.canvas.w()).clamp(1.0, 2.2);
    peaks(studio, distance, base, height * stretch, 1.0, seed);
}

/// Separate peaks, each with a lit and a shaded face; `width` 1 is as wide as high.
pub fn peaks(
    studio: &mut Studio<'_>,
    distance: f32,
    base: f32,
    height: f32,
    width: f32,
    seed: &mut Seed,
) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let count = ((w / s) * 2.6 + 2.0) as usize;
    let mut peaks: Vec<(f32, f32, u32)> = (0..count)
        .map(|i| {
            let x = (i as f32 + seed.range(0.1, 0.9)) / count as f32 * w * 1.1 - w * 0.05;
            (x, height * seed.range(0.42, 1.0), seed.bits() as u32)
        })
        .collect();
    peaks.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (x, tall, key) in peaks {
        Peak {
            x,
            base,
            tall,
            half: tall * 1.15 * width,
            key,
        }
        .paint(studio, distance);
    }
}

/// Steps from the summit to the foot of a peak.
const STEPS: usize = 40;

struct Peak {
    x: f32,
    base: f32,
    tall: f32,
    half: f32,
    key: u32,
}

impl Peak {
    /// The outline on one side, from the summit down.
    fn flank(&self, side: f32, i: usize) -> Point {
        let t = i as f32 / STEPS as f32;
        let key = self.key ^ u32::from(side > 0.0);
        let free = (t * 9.0).min(1.0) * ((1.0 - t) * 4.0).min(1.0);
        let wobble = (rough(key, t * 4.5) - 0.5) * self.tall * 0.34 * free;
        let slope = 1.0 - t * (1.18 - 0.18 * t);
        (
            self.x + side * self.half * t,
            self.base - self.tall * slope + wobble,
        )
    }

    /// The arête between the lit and the shaded face.
    fn crest(&self, i: usize) -> Point {
        let t = i as f32 / STEPS as f32;
        let lean = (rough(self.key ^ 9, 0.5) - 0.5) * 0.7 * t;
        let zigzag = (rough(self.key ^ 5, t * 8.0) - 0.5) * 0.42 * (t * 6.0).min(1.0);
        (
            self.x + self.half * (lean + zigzag * (0.3 + t)),
            self.base - self.tall * (1.0 - t),
        )
    }

    fn paint(&self, studio: &mut Studio<'_>, distance: f32) {
        let left: Vec<Point> = (0..=STEPS).map(|i| self.flank(-1.0, i)).collect();
        let right: Vec<Point> = (0..=STEPS).map(|i| self.flank(1.0, i)).collect();
        let middle: Vec<Point> = (0..=STEPS).map(|i| self.crest(i)).collect();
        let colour = studio.palette.at_distance(distance);
        let haze = colour.to(studio.palette.sky[2], 0.7);
        let sun_left = studio.sun.0 < self.x;
        let (bright, dim) = (colour.to(studio.palette.light, 0.24), colour.lift(-0.05));
        let top = self.base - self.tall;
        let body =
            |c: Rgb| Ink::down(&[c, c, c.to(haze, 0.4), haze], top, self.base).stippled(0.35);
        let whole = left.iter().rev().chain(&right).copied().collect();
        studio.canvas.fill(&Shape::polygon(whole), &body(dim));
        let face = |side: &[Point]| {
            Shape::polygon(
                side.iter()
                    .copied()
                    .chain(middle.iter().rev().copied())
                    .collect(),
            )
        };
        studio
            .canvas
            .fill(&face(if sun_left { &left } else { &right }), &body(bright));
        for k in 0..5 {
            let from = self.crest(6 + 6 * k);
            let side = if sun_left { 1.0 } else { -1.0 };
            let to = (from.0 + side * self.half * 0.20, from.1 + self.tall * 0.16);
            studio.canvas.fill(
                &stroke(&[from, to], self.tall * 0.028, 0.2),
                &body(colour.lift(-0.09)),
            );
        }
        if self.tall > studio.canvas.short() * 0.15 {
            self.snow(studio, colour, distance, sun_left);
        }
    }

    /// The white summit, with a ragged lower edge.
    fn snow(&self, studio: &mut Studio<'_>, colour: Rgb, distance: f32, sun_left: bool) {
        let line = if studio.plan.is_snowy() { 0.58 } else { 0.32 };
        let cut = (STEPS as f32 * line) as usize;
        let inner = (cut as f32 * 0.8) as usize;
        let white = hex(0xFFFFFF).to(studio.palette.sky[2], 0.2 + 0.3 * distance);
        for (side, lit) in [(-1.0, sun_left), (1.0, !sun_left)] {
            let tone = if lit {
                white.to(studio.palette.light, 0.35)
            } else {
                white.to(colour, 0.5)
            };
            let mut points: Vec<Point> = (0..=cut).map(|i| self.flank(side, i)).collect();
            let (edge, end) = (points[cut], self.crest(inner));
            for k in 1..6 {
                let t = (k as f32 + 0.6 * (rough(self.key ^ 11, k as f32 * 2.3) - 0.5)) / 6.0;
                let drop = if k % 2 == 0 { -0.05 } else { 0.07 }
                    * self.tall
                    * (0.5 + rough(self.key ^ 3, k as f32 * 1.3 + side));
                points.push((
                    edge.0 + (end.0 - edge.0) * t,
                    edge.1 + (end.1 - edge.1) * t + drop,
                ));
            }
            points.extend((0..=inner).rev().map(|i| self.crest(i)));
            let top = self.base - self.tall;
            let ink = Ink::down(
                &[tone, tone, tone.to(colour, 0.35)],
                top,
                self.base - self.tall * (0.9 - line),
            )
            .stippled(0.4);
            studio.canvas.fill(&Shape::polygon(points), &ink);
        }
    }
}

/// Rolling hills at a distance.
pub fn hills(studio: &mut Studio<'_>, distance: f32, base: f32, height: f32, seed: &mut Seed) {
    let key = seed.bits() as u32;
    let colour = studio.palette.at_distance(distance);
    let s = studio.canvas.short();
    let height = height
        * (studio.canvas.h() / studio.canvas.w())
            .clamp(1.0, 3.0)
            .sqrt();
    let haze = colour.to(studio.palette.sky[2], 0.5);
    let lit = Edge {
        toward: (0.2, -0.97),
        reach: s * 0.016,
        colour: studio.palette.light,
        strength: 0.35,
    };
    let ink = Ink::down(&[colour, colour, haze], base - height, base + height * 0.6)
        .stippled(0.4)
        .lit(lit);
    bank::fill(
        studio,
        |x| base - height * (rough(key, x / s * 1.3) * 1.5 - 0.3),
        base + height * 2.0,
        &ink,
    );
}

/// Table mountains and dunes.
pub fn mesas(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, s, horizon) = (studio.canvas.w(), studio.canvas.short(), studio.horizon);
    for (layer, distance) in [0.92, 0.66].into_iter().enumerate() {
        let colour = studio.palette.at_distance(distance);
        let haze = colour.to(studio.palette.sky[2], 0.55);
        for _ in 0..(w / s * 2.2) as usize + 1 {
            let (x, half, tall) = (
                seed.unit() * w,
                s * seed.range(0.07, 0.20),
                s * seed.range(0.08, 0.24) * (1.0 - 0.2 * layer as f32),
            );
            let key = seed.bits() as u32;
            let n = 24;
            let mut points = vec![
                (x - half * 1.5, horizon + s * 0.05),
                (x - half * 1.15, horizon - tall * 0.35),
            ];
            points.extend((0..=n).map(|k| k as f32 / n as f32).map(|t| {
                (
                    x + (t * 2.0 - 1.0) * half,
                    horizon - tall + (rough(key, t * 6.0) - 0.5) * tall * 0.18,
                )
            }));
            points.extend([
                (x + half * 1.15, horizon - tall * 0.35),
                (x + half * 1.5, horizon + s * 0.05),
            ]);
            let at = (x, horizon - tall);
            let ink = studio.modelled(
                Ink::down(
                    &[colour, colour.lift(-0.02), haze],
                    horizon - tall,
                    horizon + s * 0.04,
                )
                .stippled(0.4),
                at,
                half * 0.3,
                0.55,
            );
            studio.canvas.fill(&Shape::polygon(points), &ink);
            for k in 1..4 {
                let y = horizon - tall * (1.0 - 0.17 * k as f32);
                studio.canvas.fill(
                    &Shape::rect(x - half * 1.02, y, half * 2.04, tall * 0.022),
                    &Ink::flat(colour.lift(-0.06)).faint(0.55),
                );
            }
        }
    }
    for (k, distance) in [0.55, 0.35].into_iter().enumerate() {
        let key = seed.bits() as u32;
        let base = horizon + s * (0.0 + 0.03 * k as f32);
        let tone = studio.palette.ground[0].to(studio.palette.sky[2], distance);
        let lit = Edge {
            toward: (0.3, -0.95),
            reach: s * 0.03,
            colour: studio.palette.light,
            strength: 0.6,
        };
        let ink = Ink::down(
            &[tone, tone.to(studio.palette.ground[1], 0.6)],
            base - s * 0.05,
            base + s * 0.1,
        )
        .stippled(0.6)
        .lit(lit);
        bank::fill(
            studio,
            |x| base - s * 0.07 * (1.0 - (2.0 * rough(key, x / s * 0.9) - 1.0).abs()),
            base + s,
            &ink,
        );
    }
}

/// Saguaros on a bank of the desert.
pub fn cacti(studio: &mut Studio<'_>, line: &dyn Fn(f32) -> f32, bank: usize, seed: &mut Seed) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let colour = hex(0x3E7A5A).to(studio.palette.at_distance(0.3 - 0.12 * bank as f32), 0.45);
    for _ in 0..(w / s * [4.0, 3.0, 1.2][bank]).max(1.0) as usize {
        let x = seed.unit() * w;
        if (x - studio.stage_x()).abs() < s * 0.25 {
            continue;
        }
        let tall = s * [0.05, 0.11, 0.26][bank] * seed.range(0.7, 1.2);
        let y = line(x) + s * 0.01;
        let mut shape = stroke(&[(x, y), (x, y - tall)], tall * 0.16, tall * 0.15);
        shape.add(Shape::ellipse(x, y - tall, tall * 0.075, tall * 0.075));
        for side in [-1.0, 1.0] {
            let (h, up) = (tall * seed.range(0.35, 0.55), tall * seed.range(0.22, 0.36));
            let arm = [
                (x, y - h),
                (x + side * tall * 0.16, y - h),
                (x + side * tall * 0.22, y - h - tall * 0.06),
                (x + side * tall * 0.22, y - h - up),
            ];
            shape.add(stroke(&arm, tall * 0.11, tall * 0.10));
            shape.add(Shape::ellipse(arm[3].0, arm[3].1, tall * 0.05, tall * 0.05));
        }
        let shadow = Shape::ellipse(
            x + if studio.sun.0 < x {
                tall * 0.4
            } else {
                -tall * 0.4
            },
            y,
            tall * 0.5,
            tall * 0.03,
        );
        studio.canvas.fill(
            &shadow,
            &Ink::flat(studio.palette.ground[1].lift(-0.1)).faint(0.6),
        );
        studio.solid(&shape, colour, tall * 0.05, 1.0);
    }
}

/// Ripe corn in rows that run to the horizon.
pub fn crop(studio: &mut Studio<'_>, top: f32, colour: Rgb, seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let windy = if studio.plan.weather == Weather::Storm {
        0.5
    } else {
        0.2
    };
    let rows = 26;
    for row in 0..rows {
        let t = row as f32 / (rows - 1) as f32;
        let y = top + (h * 1.03 - top) * t * (0.4 + 0.6 * t);
        let tall = s * (0.014 + 0.085 * t * t);
        let tone = colour
            .to(studio.palette.sky[2], 0.35 * (1.0 - t))
            .lift(seed.range(-0.05, 0.03) - 0.05 * t);
        let mut shape = Shape::default();
        let count = ((w / (tall * 0.18)) as usize).min(900);
        for i in 0..count {
            let x = (i as f32 + seed.unit()) / count as f32 * w;
            let (up, lean) = (tall * seed.range(0.6, 1.1), windy * seed.range(0.2, 1.4));
            let tip = (x + lean * up, y - up);
            shape.add(Shape::polygon(vec![
                (x - tall * 0.03, y + tall),
                (tip.0 - tall * 0.05, tip.1 + up * 0.25),
                tip,
                (tip.0 + tall * 0.07, tip.1 + up * 0.22),
                (x + tall * 0.04, y + tall),
            ]));
        }
        studio.canvas.fill(
            &shape,
            &Ink::down(
                &[tone.to(studio.palette.light, 0.25), tone, tone.lift(-0.10)],
                y - tall,
                y + tall,
            )
            .stippled(0.5),
        );
    }
}
