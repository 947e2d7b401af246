//! Large leaves around a portrait.

use crate::colour::Rgb;
use crate::exact::{TURN, cos, sin};
use crate::seed::Seed;
use crate::shape::{Point, Shape, curve, knots, stroke};
use crate::studio::{Studio, noise};

/// A wreath behind the shoulders.
pub fn wreath(studio: &mut Studio<'_>, centre: Point, seed: &mut Seed) {
    let s = studio.short();
    let [_, middle, near] = studio.palette.range;
    let tones = [middle, near, middle.to(studio.palette.accent, 0.3)];
    for i in 0..40 {
        let a = -TURN / 2.0 * (i as f32 + 0.5) / 40.0 + seed.range(-0.1, 0.1);
        let from = s * seed.range(0.16, 0.34);
        let long = s * seed.range(0.14, 0.26);
        let at = (centre.0 + from * 1.1 * cos(a), centre.1 + from * sin(a));
        let angle = a + seed.range(-0.35, 0.35);
        leaf(studio, at, angle, long, tones[seed.below(3)]);
    }
}

/// Leaves before the shoulders.
pub fn foot(studio: &mut Studio<'_>, x: f32, seed: &mut Seed) {
    let (_, h, s) = studio.size();
    for side in [-1.0, 1.0] {
        for i in 0..6 {
            let at = (x + side * s * (0.30 + 0.05 * i as f32), h + s * 0.03);
            let a = -TURN / 4.0 + side * seed.range(-0.5, 0.6);
            let near = studio.palette.range[2];
            let tone = studio.palette.dark.to(near, seed.range(0.3, 0.9));
            leaf(studio, at, a, s * seed.range(0.14, 0.28), tone);
        }
    }
}

/// Leaves along the rest of a long image: up both sides of a tall one, along the foot of a wide one.
pub fn garland(studio: &mut Studio<'_>, x: f32, top: f32, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let [_, middle, near] = studio.palette.range;
    let mut spots = Vec::new();
    if h > 1.5 * w {
        for (side, key) in [(0.0, 1), (w, 2)] {
            let lean = |y: f32| (noise(key, y / s * 2.2) - 0.5) * s * 0.07;
            let vine: Vec<Point> = (0..=80)
                .map(|k| top * k as f32 / 80.0)
                .map(|y| (side + lean(y), y))
                .collect();
            studio.wash(stroke(&vine, s * 0.010, s * 0.022), near, 1.0);
        }
        let count = (top / (s * 0.075)) as usize;
        for i in 0..count {
            let y = top - top * (i as f32 + 0.5) / count as f32;
            let lean = seed.range(-0.9, 0.2);
            let left = i % 2 == 0;
            let right = ((w, y), TURN / 2.0 - lean);
            spots.push(if left { ((0.0, y), lean) } else { right });
        }
    } else if w > 1.3 * h {
        let count = (w / (s * 0.055)) as usize;
        for i in 0..count {
            let at = w * (i as f32 + 0.5) / count as f32;
            if (at - x).abs() > s * 0.5 {
                let angle = -TURN / 4.0 + seed.range(-0.6, 0.6);
                spots.push(((at, h + s * 0.02), angle));
            }
        }
    }
    for (at, angle) in spots {
        let tone = near.to(middle, seed.unit());
        leaf(studio, at, angle, s * seed.range(0.16, 0.34), tone);
    }
}

/// One pointed leaf with its rib.
fn leaf(studio: &mut Studio<'_>, at: Point, angle: f32, long: f32, tone: Rgb) {
    let (c, s) = (cos(angle), sin(angle));
    let place = |(x, y): Point| {
        let (along, across) = (x * c - y * s, x * s + y * c);
        (at.0 + long * along, at.1 + long * across)
    };
    let outline = knots("0,0! 0.3,-0.17 0.65,-0.15 1,0! 0.65,0.13 0.3,0.15");
    let points = curve(&outline, true, 10).into_iter().map(place).collect();
    studio.solid(&Shape::polygon(points), tone, long * 0.05, 0.8);
    let rib = [place((0.02, 0.0)), place((0.92, 0.0))];
    let rib = stroke(&rib, long * 0.016, long * 0.004);
    studio.wash(rib, tone.lift(0.12), 0.8);
}
