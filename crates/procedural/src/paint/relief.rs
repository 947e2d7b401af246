//! Terrain: hills, mesas, dunes with cacti, and fields of corn.

use crate::colour::{Rgb, hex};
use crate::fill::Fill;
use crate::lexicon::Weather;
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke, trace};
use crate::studio::{Studio, rough};

use super::bank;

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
    bank::fill(studio, line, base + height * 2.0, &fill);
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
        bank::fill(studio, line, base + s, &fill);
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
