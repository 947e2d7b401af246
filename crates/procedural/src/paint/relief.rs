//! Terrain: mountains, hills, mesas, dunes with cacti, and fields of corn.

use crate::colour::{Rgb, hex};
use crate::fill::Fill;
use crate::lexicon::Weather;
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke, trace};
use crate::studio::{Studio, rough};

/// Rolling hills at a distance.
pub fn hills(studio: &mut Studio<'_>, distance: f32, base: f32, height: f32, seed: &mut Seed) {
    let key = seed.bits() as u32;
    let colour = studio.palette.at_distance(distance);
    let (w, h, s) = studio.size();
    let height = height * (h / w).clamp(1.0, 3.0).sqrt();
    let haze = colour.to(studio.palette.sky[2], 0.5);
    let fill = Fill::down(&[colour, colour, haze], base - height, base + height * 0.6)
        .stippled(0.4)
        .lit(studio.rim((0.2, -0.97), s * 0.016, 0.35));
    let line = |x: f32| base - height * (rough(key, x / s * 1.3) * 1.5 - 0.3);
    studio.fill_below(line, base + height * 2.0, &fill);
}

/// Table mountains and dunes.
pub fn desert(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    for (layer, distance) in [0.92, 0.66].into_iter().enumerate() {
        for _ in 0..(w / s * 2.2) as usize + 1 {
            let (x, half) = (seed.unit() * w, s * seed.range(0.07, 0.20));
            let tall = s * seed.range(0.08, 0.24) * (1.0 - 0.2 * layer as f32);
            mesa(studio, distance, x, (half, tall), seed.bits() as u32);
        }
    }
    for (k, distance) in [0.55, 0.35].into_iter().enumerate() {
        let key = seed.bits() as u32;
        let base = studio.horizon + s * (0.0 + 0.03 * k as f32);
        let [sand, shade] = studio.palette.ground;
        let tone = sand.to(studio.palette.sky[2], distance);
        let fill = Fill::down(
            &[tone, tone.to(shade, 0.6)],
            base - s * 0.05,
            base + s * 0.1,
        )
        .stippled(0.6)
        .lit(studio.rim((0.3, -0.95), s * 0.03, 0.6));
        let line = |x: f32| base - s * 0.07 * (1.0 - (2.0 * rough(key, x / s * 0.9) - 1.0).abs());
        studio.fill_below(line, base + s, &fill);
    }
}

/// One table mountain, with the lines of its strata.
fn mesa(studio: &mut Studio<'_>, distance: f32, x: f32, (half, tall): Point, key: u32) {
    let (s, horizon) = (studio.short(), studio.horizon);
    let colour = studio.palette.at_distance(distance);
    let haze = colour.to(studio.palette.sky[2], 0.55);
    let (foot, shoulder) = (horizon + s * 0.05, horizon - tall * 0.35);
    let mut points = vec![(x - half * 1.5, foot), (x - half * 1.15, shoulder)];
    points.extend(trace(24, |t| {
        let y = horizon - tall + (rough(key, t * 6.0) - 0.5) * tall * 0.18;
        (x + (t * 2.0 - 1.0) * half, y)
    }));
    points.extend([(x + half * 1.15, shoulder), (x + half * 1.5, foot)]);
    let (top, tones) = (horizon - tall, [colour, colour.lift(-0.02), haze]);
    let fill = Fill::down(&tones, top, horizon + s * 0.04).stippled(0.4);
    let fill = studio.modelled(fill, (x, top), half * 0.3, 0.55);
    studio.fill(&Shape::polygon(points), &fill);
    for k in 1..4 {
        let y = horizon - tall * (1.0 - 0.17 * k as f32);
        let stratum = Shape::rect(x - half * 1.02, y, half * 2.04, tall * 0.022);
        studio.wash(stratum, colour.lift(-0.06), 0.55);
    }
}

/// Saguaros on a bank of the desert.
pub fn cacti(studio: &mut Studio<'_>, line: &dyn Fn(f32) -> f32, bank: usize, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let land = studio.palette.at_distance(0.3 - 0.12 * bank as f32);
    let colour = hex(0x3E7A5A).to(land, 0.45);
    for _ in 0..(w / s * [4.0, 3.0, 1.2][bank]).max(1.0) as usize {
        let x = seed.unit() * w;
        if (x - studio.stage_x()).abs() < s * 0.25 {
            continue;
        }
        let tall = s * [0.05, 0.11, 0.26][bank] * seed.range(0.7, 1.2);
        let y = line(x) + s * 0.01;
        let shape = cactus((x, y), tall, seed);
        let away = if studio.sun.0 < x {
            tall * 0.4
        } else {
            -tall * 0.4
        };
        let shadow = Shape::ellipse(x + away, y, tall * 0.5, tall * 0.03);
        studio.wash(shadow, studio.palette.ground[1].lift(-0.1), 0.6);
        studio.solid(&shape, colour, tall * 0.05, 1.0);
    }
}

fn cactus((x, y): Point, tall: f32, seed: &mut Seed) -> Shape {
    let mut shape = stroke(&[(x, y), (x, y - tall)], tall * 0.16, tall * 0.15);
    shape.add(Shape::circle((x, y - tall), tall * 0.075));
    for side in [-1.0, 1.0] {
        let h = tall * seed.range(0.35, 0.55);
        let up = tall * seed.range(0.22, 0.36);
        let out = x + side * tall * 0.22;
        let tip = (out, y - h - up);
        let elbow = (x + side * tall * 0.16, y - h);
        let arm = [(x, y - h), elbow, (out, y - h - tall * 0.06), tip];
        shape.add(stroke(&arm, tall * 0.11, tall * 0.10));
        shape.add(Shape::circle(tip, tall * 0.05));
    }
    shape
}

/// Ripe corn in rows that run to the horizon.
pub fn crop(studio: &mut Studio<'_>, top: f32, colour: Rgb, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let stormy = studio.plan.weather == Weather::Storm;
    let windy = if stormy { 0.5 } else { 0.2 };
    for row in 0..26 {
        let t = row as f32 / 25.0;
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
        let tones = [tone.to(studio.palette.light, 0.25), tone, tone.lift(-0.10)];
        studio.fill(
            &shape,
            &Fill::down(&tones, y - tall, y + tall).stippled(0.5),
        );
    }
}

/// A chain of peaks, higher on tall images.
pub fn mountains(studio: &mut Studio<'_>, distance: f32, base: f32, height: f32, seed: &mut Seed) {
    let stretch = 0.55 + 0.45 * (studio.h() / studio.w()).clamp(1.0, 2.2);
    peaks(studio, distance, base, height * stretch, 1.0, seed);
}

/// Separate peaks; `width` 1 is as wide as high.
pub fn peaks(
    studio: &mut Studio<'_>,
    distance: f32,
    base: f32,
    height: f32,
    width: f32,
    seed: &mut Seed,
) {
    let (w, _, s) = studio.size();
    let count = ((w / s) * 2.6 + 2.0) as usize;
    let mut peak = |i: usize| {
        let x = (i as f32 + seed.range(0.1, 0.9)) / count as f32 * w * 1.1 - w * 0.05;
        (x, height * seed.range(0.42, 1.0), seed.bits() as u32)
    };
    let mut peaks: Vec<_> = (0..count).map(&mut peak).collect();
    peaks.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (x, tall, key) in peaks {
        let half = tall * 1.15 * width;
        #[rustfmt::skip]
        let peak = Peak { x, base, tall, half, key };
        peak.paint(studio, distance);
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
        let x = self.x + side * self.half * t;
        (x, self.base - self.tall * slope + wobble)
    }

    /// The arête between the lit and the shaded face.
    fn crest(&self, i: usize) -> Point {
        let t = i as f32 / STEPS as f32;
        let lean = (rough(self.key ^ 9, 0.5) - 0.5) * 0.7 * t;
        let zigzag = (rough(self.key ^ 5, t * 8.0) - 0.5) * 0.42 * (t * 6.0).min(1.0);
        let x = self.x + self.half * (lean + zigzag * (0.3 + t));
        (x, self.base - self.tall * (1.0 - t))
    }

    fn paint(&self, studio: &mut Studio<'_>, distance: f32) {
        let colour = studio.palette.at_distance(distance);
        let haze = colour.to(studio.palette.sky[2], 0.7);
        let sun_left = studio.sun.0 < self.x;
        let (near, far) = if sun_left { (-1.0, 1.0) } else { (1.0, -1.0) };
        let top = self.base - self.tall;
        let body =
            |c: Rgb| Fill::down(&[c, c, c.to(haze, 0.4), haze], top, self.base).stippled(0.35);
        let left = (0..=STEPS).rev().map(|i| self.flank(-1.0, i));
        let whole = left.chain((0..=STEPS).map(|i| self.flank(1.0, i)));
        studio.fill(&Shape::polygon(whole.collect()), &body(colour.lift(-0.05)));
        let flank = (0..=STEPS).map(|i| self.flank(near, i));
        let face = flank.chain((0..=STEPS).rev().map(|i| self.crest(i)));
        let bright = colour.to(studio.palette.light, 0.24);
        studio.fill(&Shape::polygon(face.collect()), &body(bright));
        for k in 0..5 {
            let from = self.crest(6 + 6 * k);
            let to = (from.0 + far * self.half * 0.20, from.1 + self.tall * 0.16);
            let crack = stroke(&[from, to], self.tall * 0.028, 0.2);
            studio.fill(&crack, &body(colour.lift(-0.09)));
        }
        if self.tall > studio.short() * 0.15 {
            self.snow(studio, colour, distance, sun_left);
        }
    }

    /// The white summit, with a ragged lower edge.
    fn snow(&self, studio: &mut Studio<'_>, colour: Rgb, distance: f32, sun_left: bool) {
        let line = if studio.plan.is_snowy() { 0.58 } else { 0.32 };
        let cut = (STEPS as f32 * line) as usize;
        let inner = (cut as f32 * 0.8) as usize;
        let white = hex(0xFFFFFF).to(studio.palette.sky[2], 0.2 + 0.3 * distance);
        let lit = white.to(studio.palette.light, 0.35);
        let shaded = white.to(colour, 0.5);
        let tones = if sun_left {
            [lit, shaded]
        } else {
            [shaded, lit]
        };
        for (side, tone) in [-1.0, 1.0].into_iter().zip(tones) {
            let mut points: Vec<Point> = (0..=cut).map(|i| self.flank(side, i)).collect();
            let (edge, end) = (points[cut], self.crest(inner));
            for k in 1..6 {
                let t = (k as f32 + 0.6 * (rough(self.key ^ 11, k as f32 * 2.3) - 0.5)) / 6.0;
                let drop = if k % 2 == 0 { -0.05 } else { 0.07 }
                    * self.tall
                    * (0.5 + rough(self.key ^ 3, k as f32 * 1.3 + side));
                let x = edge.0 + (end.0 - edge.0) * t;
                points.push((x, edge.1 + (end.1 - edge.1) * t + drop));
            }
            points.extend((0..=inner).rev().map(|i| self.crest(i)));
            let (top, low) = (self.base - self.tall, self.base - self.tall * (0.9 - line));
            let fill = Fill::down(&[tone, tone, tone.to(colour, 0.35)], top, low).stippled(0.4);
            studio.fill(&Shape::polygon(points), &fill);
        }
    }
}
