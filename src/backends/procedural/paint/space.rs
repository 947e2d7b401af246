//! Space: nebulae, stars, planets, and a strange ground for those who need one.

use crate::backends::procedural::colour::{Rgb, hex};
use crate::backends::procedural::exact::{TURN, cos, sin};
use crate::backends::procedural::figure::Stand;
use crate::backends::procedural::ink::{Along, Edge, Ink, Ramp};
use crate::backends::procedural::lexicon::Subject;
use crate::backends::procedural::shape::{Point, Shape};
use crate::backends::procedural::studio::{Studio, rough};

use super::{cast, land, places, sky};

/// Paints a view of space with its actors.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(40);
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let [top, middle, low] = studio.palette.sky;
    let ink = Ink::down(
        &[top, middle.to(top, 0.45), middle, middle.to(low, 0.5)],
        0.0,
        h,
    )
    .stippled(0.06);
    studio.canvas.fill(&Shape::rect(0.0, 0.0, w, h), &ink);
    let lit = [
        low,
        studio.palette.range[0],
        studio.palette.accent.to(low, 0.5),
        middle.lift(0.12),
    ];
    let key = seed.bits() as u32;
    let clouds = (26.0 * (w * h / (s * s)).min(5.0)) as usize;
    for i in 0..clouds {
        let t = i as f32 / clouds as f32;
        let (x, y) = if w > h {
            (t * w, h * (0.25 + 0.5 * rough(key, t * 4.0)))
        } else {
            (w * (0.15 + 0.7 * rough(key, t * 4.0)), t * h)
        };
        let at = (
            x + s * seed.range(-0.15, 0.15),
            y + s * seed.range(-0.15, 0.15),
        );
        studio.canvas.glow(
            at,
            s * seed.range(0.12, 0.42),
            lit[seed.below(4)],
            seed.range(0.12, 0.42),
        );
    }
    studio.horizon = h;
    sky::stars(studio, 2.2);
    let ground = studio.plan.actors.iter().any(|a| {
        !matches!(
            a.subject,
            Subject::Rocket | Subject::Planet | Subject::Astronaut | Subject::Balloon
        )
    });
    let big = studio
        .plan
        .actors
        .iter()
        .find(|a| a.subject == Subject::Planet)
        .map(|a| cast::colour(a, &mut seed));
    let only_planet = big.is_some() && studio.plan.actors.len() == 1;
    let colour = big.unwrap_or(studio.palette.ground[0]);
    let x = if only_planet {
        studio.stage_x()
    } else {
        w - studio.stage_x()
    };
    let r = s * if only_planet { 0.27 } else { 0.20 };
    studio.sun = (x - r * 3.0, h * 0.1);
    planet(
        studio,
        (x, h * if only_planet { 0.48 } else { 0.34 }),
        r,
        colour,
        big.is_some() || seed.chance(0.6),
    );
    let moon = studio.palette.range[0].lift(0.2);
    planet(studio, (w - x + s * 0.16, h * 0.16), s * 0.05, moon, false);
    let mut far = s * 1.6;
    while far < w.max(h) - s * 0.8 {
        // A long picture passes more worlds on its way.
        let along = far + s * seed.range(-0.2, 0.2);
        let across = seed.range(0.25, 0.75);
        let at = if w > h {
            (along, h * across)
        } else {
            (w * across, along)
        };
        let tone = studio.palette.range[0]
            .turn(seed.range(-2.5, 2.5))
            .lift(0.12);
        let own = if w > h {
            [x, studio.stage_x()]
        } else {
            [h * 0.34, h * 0.78]
        };
        if own.iter().all(|p| (along - p).abs() > s * 0.7) {
            planet(
                studio,
                at,
                s * seed.range(0.05, 0.13),
                tone,
                seed.chance(0.4),
            );
        }
        far += s * 1.1;
    }
    if ground {
        surface(studio);
        places::front(studio, studio.front_y() + s * 0.015, &mut seed);
        return;
    }
    let others: Vec<_> = studio
        .plan
        .actors
        .iter()
        .filter(|a| a.subject != Subject::Planet)
        .copied()
        .collect();
    for (i, actor) in others.iter().enumerate() {
        let tone = cast::colour(actor, &mut seed);
        for n in 0..actor.count.min(4) {
            let k = i + usize::from(n);
            let x = studio.stage_x() + s * [0.0, -0.36, 0.3, 0.12][k % 4];
            let y = h * [0.78, 0.55, 0.92, 0.4][k % 4];
            let tall = s * cast::height(actor.subject) * actor.size * [1.0, 0.5, 0.4, 0.3][k % 4];
            let stand = Stand::at(x, y, tall)
                .flipped(!studio.right)
                .leaning(if studio.right { -0.12 } else { 0.12 });
            cast::draw(studio, actor.subject, stand, tone, &mut seed);
        }
    }
}

/// A banded planet, perhaps with rings.
pub fn planet(studio: &mut Studio<'_>, at: Point, r: f32, colour: Rgb, rings: bool) {
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

/// Bare hills with craters.
fn surface(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(42);
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let [bright, shade] = studio.palette.ground;
    for (i, level) in [0.66, 0.76].into_iter().enumerate() {
        let key = seed.bits() as u32;
        let base = h * level;
        let tone = if i == 0 {
            shade.to(studio.palette.sky[2], 0.2)
        } else {
            bright
        };
        let ink = Ink::down(
            &[tone, tone.to(shade, 0.6), shade.lift(-0.06)],
            base - s * 0.05,
            base + h * 0.25,
        )
        .stippled(0.5);
        let lit = ink.lit(Edge {
            toward: (0.0, -1.0),
            reach: s * 0.018,
            colour: studio.palette.light,
            strength: 0.6,
        });
        land::bank(
            studio,
            |x| base - s * 0.09 * (rough(key, x / s * 1.6) - 0.3),
            h + s,
            &lit,
        );
    }
    for _ in 0..(w / s * 9.0) as usize {
        let (x, y) = (seed.unit() * w, h * seed.range(0.83, 0.99));
        let r = s * seed.range(0.01, 0.045);
        studio.canvas.fill(
            &Shape::ellipse(x, y, r, r * 0.26),
            &Ink::flat(shade.lift(-0.06)).faint(0.8),
        );
        studio.canvas.fill(
            &Shape::ellipse(x, y + r * 0.09, r * 0.9, r * 0.19),
            &Ink::flat(bright.to(shade, 0.4)).faint(0.9),
        );
    }
}
