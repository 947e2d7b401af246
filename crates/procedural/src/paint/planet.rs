//! Planets.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::fill::{Along, Fill, Gradient};
use crate::shape::{Point, Shape, arc};
use crate::studio::Studio;

/// The rings: from, to, opacity.
const RINGS: [(f32, f32, f32); 3] = [(1.32, 1.5, 0.5), (1.53, 1.80, 0.85), (1.84, 2.0, 0.45)];

/// A banded planet, perhaps with rings.
pub fn draw(studio: &mut Studio<'_>, at: Point, r: f32, colour: Rgb, rings: bool) {
    let mut seed = studio.seed.branch(41);
    let toward = studio.toward_light(at);
    studio.glow(at, r * 2.1, colour, 0.38);
    let tilt = seed.range(-0.45, -0.2);
    let (s, c) = (sin(tilt), cos(tilt));
    let tilted = |(x, y): Point| (at.0 + x * c - y * s, at.1 + x * s + y * c);
    let ring = |from: f32, to: f32, start: f32| {
        let edge = |d: f32| arc((0.0, 0.0), (d * r, d * r * 0.26), start, TURN / 2.0, 60);
        let mut points = edge(to);
        points.extend(edge(from).into_iter().rev());
        Shape::polygon(points.into_iter().map(tilted).collect())
    };
    let pale = colour.to(hex(0xFFF2DA), 0.6);
    for (from, to, opacity) in RINGS.into_iter().filter(|_| rings) {
        studio.wash(ring(from, to, TURN / 2.0), pale, opacity * 0.8);
    }
    let ball = Shape::circle(at, r);
    let light = Along::Line(
        (at.0 + toward.0 * r, at.1 + toward.1 * r),
        (at.0 - toward.0 * r, at.1 - toward.1 * r),
    );
    let tones = [
        colour.lift(0.14),
        colour,
        colour.lift(-0.10),
        colour.lift(-0.26),
        colour.lift(-0.36),
    ];
    let fill = Fill::gradient(Gradient::of(&tones), light).stippled(0.35);
    studio.fill(&ball, &fill);
    for band in 0..7 {
        let y = -0.8 + 0.25 * band as f32 + seed.range(-0.04, 0.04);
        let thick = seed.range(0.04, 0.13);
        let tone = if band % 2 == 0 {
            colour.lift(0.09)
        } else {
            colour.lift(-0.08).turn(0.2)
        };
        let points = parallel(y, 1.0).chain(parallel((y + thick).min(0.97), -1.0));
        let points = points.map(|(x, y)| {
            let (x, y) = (r * (x * c - y * s), r * (x * s + y * c));
            (at.0 + x, at.1 + y)
        });
        let fade = Gradient::fade(tone, &[0.7, 0.45, 0.15, 0.0]);
        let fill = Fill::gradient(fade, light).stippled(0.35);
        studio.fill(&Shape::polygon(points.collect()), &fill);
    }
    let bright = Gradient::fade(studio.palette.light, &[0.35, 0.0, 0.0]);
    let centre = (at.0 + toward.0 * r * 0.75, at.1 + toward.1 * r * 0.75);
    let fill = Fill::gradient(bright, Along::Radius(centre, r))
        .lit(studio.rim(toward, r * 0.16, 0.75))
        .stippled(0.4);
    studio.fill(&ball, &fill);
    for (from, to, opacity) in RINGS.into_iter().filter(|_| rings) {
        studio.wash(ring(from, to, 0.0), pale, opacity);
    }
}

/// A bent line across the unit disc at a height, from left to right or back.
fn parallel(y: f32, sign: f32) -> impl Iterator<Item = Point> {
    let half = (1.0 - y * y).max(0.0).sqrt();
    (0..=30).map(move |k| {
        let t = sign * (k as f32 / 15.0 - 1.0);
        (t * half * 0.995, y + 0.10 * (1.0 - t * t) * half)
    })
}
