//! Planets.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::ink::{Along, Edge, Ink, Ramp};
use crate::shape::{Point, Shape};
use crate::studio::Studio;

/// A banded planet, perhaps with rings.
pub fn draw(studio: &mut Studio<'_>, at: Point, r: f32, colour: Rgb, rings: bool) {
    let mut seed = studio.seed.branch(41);
    let toward = studio.toward_light(at);
    studio.canvas.glow(at, r * 2.1, colour, 0.38);
    let tilt = seed.range(-0.45, -0.2);
    let ring = |from: f32, to: f32, front: bool| {
        let (s, c) = (sin(tilt), cos(tilt));
        let place = |a: f32, d: f32| {
            let (x, y) = (d * r * cos(a), d * r * 0.26 * sin(a));
            (at.0 + x * c - y * s, at.1 + x * s + y * c)
        };
        let start = if front { 0.0 } else { TURN / 2.0 };
        let arc = |d: f32| (0..=60).map(move |k| (start + TURN / 2.0 * k as f32 / 60.0, d));
        let outer: Vec<Point> = arc(to).map(|(a, d)| place(a, d)).collect();
        let inner: Vec<Point> = arc(from).map(|(a, d)| place(a, d)).collect();
        Shape::polygon(outer.into_iter().chain(inner.into_iter().rev()).collect())
    };
    let bands = [(1.32, 1.5, 0.5), (1.53, 1.80, 0.85), (1.84, 2.0, 0.45)];
    let pale = colour.to(hex(0xFFF2DA), 0.6);
    if rings {
        for (from, to, opacity) in bands {
            studio.canvas.fill(
                &ring(from, to, false),
                &Ink::flat(pale).faint(opacity * 0.8),
            );
        }
    }
    let ball = Shape::ellipse(at.0, at.1, r, r);
    let light = Along::Line(
        (at.0 + toward.0 * r, at.1 + toward.1 * r),
        (at.0 - toward.0 * r, at.1 - toward.1 * r),
    );
    let ramp = Ramp::of(&[
        colour.lift(0.14),
        colour,
        colour.lift(-0.10),
        colour.lift(-0.26),
        colour.lift(-0.36),
    ]);
    studio
        .canvas
        .fill(&ball, &Ink::ramp(ramp, light).stippled(0.35));
    let (s, c) = (sin(tilt), cos(tilt));
    for band in 0..7 {
        let y = -0.8 + 0.25 * band as f32 + seed.range(-0.04, 0.04);
        let thick = seed.range(0.04, 0.13);
        let tone = if band % 2 == 0 {
            colour.lift(0.09)
        } else {
            colour.lift(-0.08).turn(0.2)
        };
        let edge = |y: f32, sign: f32| {
            let half = (1.0 - y * y).max(0.0).sqrt();
            (0..=30).map(move |k| {
                let t = sign * (k as f32 / 15.0 - 1.0);
                let (px, py) = (t * half * 0.995, y + 0.10 * (1.0 - t * t) * half);
                (px, py)
            })
        };
        let points = edge(y, 1.0)
            .chain(edge((y + thick).min(0.97), -1.0))
            .map(|(x, y)| (at.0 + r * (x * c - y * s), at.1 + r * (x * s + y * c)))
            .collect();
        let fade = Ramp::with_opacity(&[(tone, 0.7), (tone, 0.45), (tone, 0.15), (tone, 0.0)]);
        studio.canvas.fill(
            &Shape::polygon(points),
            &Ink::ramp(fade, light).stippled(0.35),
        );
    }
    let edge = Edge {
        toward,
        reach: r * 0.16,
        colour: studio.palette.light,
        strength: 0.75,
    };
    let clear = Ink::ramp(
        Ramp::with_opacity(&[
            (studio.palette.light, 0.35),
            (studio.palette.light, 0.0),
            (studio.palette.light, 0.0),
        ]),
        Along::Radius((at.0 + toward.0 * r * 0.75, at.1 + toward.1 * r * 0.75), r),
    )
    .lit(edge);
    studio.canvas.fill(&ball, &clear.stippled(0.4));
    if rings {
        for (from, to, opacity) in bands {
            studio
                .canvas
                .fill(&ring(from, to, true), &Ink::flat(pale).faint(opacity));
        }
    }
}
