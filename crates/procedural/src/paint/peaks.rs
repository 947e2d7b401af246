//! Mountains: separate peaks, each with a lit and a shaded face, and snow on the higher ones.

use crate::colour::{Rgb, hex};
use crate::fill::Fill;
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke};
use crate::studio::{Studio, rough};

/// A chain of peaks, higher on tall images.
pub fn range(studio: &mut Studio<'_>, distance: f32, base: f32, height: f32, seed: &mut Seed) {
    let stretch = 0.55 + 0.45 * (studio.h() / studio.w()).clamp(1.0, 2.2);
    paint(studio, distance, base, height * stretch, 1.0, seed);
}

/// Separate peaks; `width` 1 is as wide as high.
pub fn paint(
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
