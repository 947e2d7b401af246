//! Under water: light from above, a reef below, and what swims between.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::figure::Stand;
use crate::ink::{Along, Ink, Ramp};
use crate::lexicon::Subject;
use crate::scene::Actor;
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke};
use crate::studio::{Studio, rough};

use super::{bank, cast};

/// Paints the sea from inside.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(45);
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let [top, middle, low] = studio.palette.sky;
    let ink = Ink::down(
        &[
            top,
            top.to(middle, 0.6),
            middle,
            middle.to(low, 0.5),
            low,
            low.lift(-0.04),
        ],
        0.0,
        h,
    )
    .stippled(0.06);
    studio.canvas.fill(&Shape::rect(0.0, 0.0, w, h), &ink);
    studio.sun = (studio.sun.0, -s * 0.15);
    let sun = studio.sun;
    studio.canvas.glow(sun, s * 1.0, studio.palette.disc, 0.75);
    rays(studio, &mut seed);
    school(studio, &mut seed);
    for (i, level) in [0.80, 0.88].into_iter().enumerate() {
        let key = seed.bits() as u32;
        let base = h - s * (1.0 - level) * (h / s).min(1.6);
        let tone = studio.palette.ground[i].to(middle, 0.45 - 0.3 * i as f32);
        let ink = Ink::down(
            &[tone.lift(0.05), tone, low.lift(-0.03)],
            base - s * 0.08,
            h,
        )
        .stippled(0.5);
        bank::fill(
            studio,
            |x| base - s * 0.12 * (rough(key, x / s * 1.8) - 0.3),
            h + s,
            &ink,
        );
        reef(studio, base + s * 0.03, i, &mut seed);
    }
    swimmers(studio, &mut seed);
    bubbles(studio, &mut seed);
}

fn rays(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let colour = studio.palette.light;
    let long = h.min(s * 1.3);
    let count = (9.0 * (w / s).max(1.0)) as usize;
    for i in 0..count {
        let x = w * (i as f32 + seed.unit()) / count as f32;
        let spread = (x - studio.sun.0) / w.max(s) * s * 0.7;
        let (thin, wide) = (s * seed.range(0.01, 0.03), s * seed.range(0.05, 0.14));
        let ray = Shape::polygon(vec![
            (x - thin, -2.0),
            (x + thin, -2.0),
            (x + spread + wide, long),
            (x + spread - wide, long),
        ]);
        let fade = Ramp::with_opacity(&[
            (colour, 0.34),
            (colour, 0.16),
            (colour, 0.05),
            (colour, 0.0),
        ]);
        let ink = Ink::ramp(
            fade,
            Along::Line((0.0, 0.0), (0.0, long * seed.range(0.6, 1.0))),
        )
        .stippled(0.2);
        studio.canvas.fill(&ray, &ink.faint(seed.range(0.4, 0.9)));
    }
}

/// Small fish in the distance.
fn school(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let tone = studio.palette.sky[1].to(studio.palette.range[2], 0.6);
    let centre = (w - studio.stage_x(), h * 0.32);
    for _ in 0..34 {
        let (a, b) = (seed.range(-1.0, 1.0), seed.range(-1.0, 1.0));
        let (x, y) = (
            centre.0 + a * s * 0.22,
            centre.1 + b * s * 0.10 * (1.2 - a.abs()),
        );
        let r = s * seed.range(0.007, 0.013);
        let fish = vec![
            (x - r * 1.6, y),
            (x - r * 0.4, y - r * 0.6),
            (x + r * 0.8, y - r * 0.1),
            (x + r * 1.6, y - r * 0.6),
            (x + r * 1.4, y + r * 0.5),
            (x + r * 0.8, y + r * 0.1),
            (x - r * 0.4, y + r * 0.6),
        ];
        studio
            .canvas
            .fill(&Shape::polygon(fish), &Ink::flat(tone).faint(0.8));
    }
}

/// Weed and corals.
fn reef(studio: &mut Studio<'_>, base: f32, bank: usize, seed: &mut Seed) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let near = bank as f32;
    let count = (w / s * 12.0) as usize;
    let corals = [
        hex(0xF0705A),
        hex(0xE88AB0),
        hex(0xF2A84A),
        hex(0x9A6AC8),
        hex(0x4AB8A0),
    ];
    let clear = studio.stage_x();
    for i in 0..count {
        let x = (i as f32 + seed.unit()) / count as f32 * w;
        let foot = (x, base + s * seed.range(0.0, 0.05));
        let size = s * (0.06 + 0.06 * near) * seed.range(0.6, 1.3);
        let coral = corals[seed.below(5)]
            .to(studio.palette.sky[1], 0.45 - 0.2 * near)
            .lift(-0.06);
        match seed.below(3) {
            0 if (x - clear).abs() > s * 0.12 => {
                let weed = studio.palette.range[2].to(hex(0x2F8A6A), 0.4 * near + 0.2);
                for k in 0..4 {
                    let (lean, tall) = (seed.range(-0.25, 0.25), size * seed.range(1.6, 3.2));
                    let blade: Vec<Point> = (0..=12)
                        .map(|j| j as f32 / 12.0)
                        .map(|t| {
                            (
                                foot.0
                                    + size * 0.2 * (k as f32 - 1.5)
                                    + tall * (lean * t + 0.07 * sin(t * 9.0 + k as f32)),
                                foot.1 - tall * t,
                            )
                        })
                        .collect();
                    studio.canvas.fill(
                        &stroke(&blade, size * 0.20, size * 0.03),
                        &Ink::flat(weed.lift(0.03 * k as f32)),
                    );
                }
            }
            1 => fan(studio, foot, size, coral, seed),
            _ => {
                let mut shape = Shape::default();
                for _ in 0..6 {
                    shape.add(Shape::ellipse(
                        foot.0 + size * seed.range(-0.6, 0.6),
                        foot.1 - size * seed.range(0.0, 0.4),
                        size * 0.28,
                        size * 0.26,
                    ));
                }
                studio.solid(&shape, coral, size * 0.12, 0.8);
            }
        }
    }
}

/// A coral that forks.
fn fan(studio: &mut Studio<'_>, foot: Point, size: f32, colour: Rgb, seed: &mut Seed) {
    let mut open = vec![(foot, -TURN / 4.0, size * 0.42, size * 0.16, 0)];
    let mut shape = Shape::default();
    while let Some((from, angle, length, width, depth)) = open.pop() {
        let to = (from.0 + length * cos(angle), from.1 + length * sin(angle));
        shape.add(stroke(&[from, to], width, width * 0.8));
        shape.add(Shape::ellipse(to.0, to.1, width * 0.42, width * 0.42));
        if depth < 4 {
            for side in [-1.0, 1.0] {
                open.push((
                    to,
                    angle + side * seed.range(0.25, 0.5),
                    length * 0.76,
                    width * 0.76,
                    depth + 1,
                ));
            }
        }
    }
    studio.solid(&shape, colour, size * 0.05, 0.8);
}

fn swimmers(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (h, s) = (studio.canvas.h(), studio.canvas.short());
    let mut actors: Vec<Actor> = studio.plan.actors.clone();
    if actors.is_empty() {
        actors.push(Actor {
            subject: Subject::Fish,
            colour: None,
            count: 3,
            size: 0.8,
        });
    }
    let mut slot = 0;
    let places = [
        (0.0, 0.52, 1.0),
        (-0.44, 0.68, 0.5),
        (0.36, 0.34, 0.42),
        (-0.30, 0.28, 0.34),
        (0.42, 0.74, 0.4),
        (-0.1, 0.8, 0.34),
    ];
    for actor in actors {
        let tone = cast::colour(&actor, seed);
        for _ in 0..actor.count.min(5) {
            let (dx, y, size) = places[slot % places.len()];
            slot += 1;
            let side = if studio.right { -1.0 } else { 1.0 };
            let x = studio.stage_x() + side * dx * s;
            let swims = matches!(
                actor.subject,
                Subject::Fish | Subject::Whale | Subject::Turtle | Subject::Jellyfish
            );
            let foot = if swims { h * y } else { h * (y + 0.2) };
            let tall = s * cast::height(actor.subject) * size * actor.size;
            let stand = Stand::at(x, foot, tall)
                .flipped(!studio.right)
                .far(0.28 * (1.0 - size))
                .leaning(seed.range(-0.08, 0.08));
            cast::draw(studio, actor.subject, stand, tone, seed);
        }
    }
}

fn bubbles(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let white = hex(0xFFFFFF);
    for _ in 0..(60.0 * (w * h / (s * s)).min(6.0)) as usize {
        let at = (seed.unit() * w, seed.unit() * h);
        studio
            .canvas
            .dot(at, s * seed.range(0.0008, 0.002), white, 0.35);
    }
    let x = studio.stage_x() - s * if studio.right { 0.26 } else { -0.26 };
    for i in 0..16 {
        let at = (
            x + s * seed.range(-0.04, 0.04),
            h * 0.5 - i as f32 * s * 0.03,
        );
        let r = s * seed.range(0.003, 0.012);
        studio.canvas.dot(at, r, white, 0.22);
        studio
            .canvas
            .dot((at.0 - r * 0.35, at.1 - r * 0.35), r * 0.28, white, 0.9);
    }
}
