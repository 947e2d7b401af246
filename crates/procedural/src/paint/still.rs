//! Still lifes: a table in window light, with fruit and vessels.

use crate::colour::{Rgb, hex};
use crate::figure::Stand;
use crate::ink::{Along, Edge, Ink, Ramp};
use crate::lexicon::{Subject, Time};
use crate::scene::Actor;
use crate::seed::Seed;
use crate::shape::{Shape, stroke};
use crate::studio::Studio;

use super::{cast, objects};

/// Paints the table with its things.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(55);
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let night = studio.plan.time == Time::Night;
    let wall = [
        hex(0x3E6A70),
        hex(0xC98A5E),
        hex(0x6E7A5A),
        hex(0x8A4A44),
        hex(0x3A4A6E),
    ][seed.below(5)]
    .to(studio.palette.sky[1], 0.22);
    let wall = if night { wall.lift(-0.2) } else { wall };
    let wood = hex(0xB98250)
        .to(studio.palette.ground[0], 0.12)
        .lift(if night { -0.16 } else { 0.0 });
    let edge = h - s * (0.33 + 0.05 * (h / w).clamp(1.0, 2.0));
    studio.sun = (
        if studio.right { -s * 0.3 } else { w + s * 0.3 },
        edge - s * 0.9,
    );
    studio.canvas.fill(
        &Shape::rect(0.0, 0.0, w, h),
        &Ink::down(&[wall.lift(-0.08), wall, wall.lift(0.05)], 0.0, edge).stippled(0.35),
    );
    window_light(studio, wall, edge);
    let ink = Ink::down(&[wood.lift(0.06), wood, wood.lift(-0.14)], edge, h)
        .stippled(0.5)
        .lit(Edge {
            toward: (0.0, -1.0),
            reach: s * 0.02,
            colour: studio.palette.light,
            strength: 0.5,
        });
    studio
        .canvas
        .fill(&Shape::rect(-10.0, edge, w + 20.0, h), &ink);
    for i in 0..16 {
        let y = edge + s * 0.02 + (h - edge) * i as f32 / 16.0;
        let (x, long) = (seed.unit() * w, s * seed.range(0.1, 0.6));
        studio.canvas.fill(
            &Shape::rect(x, y, long, s * 0.0022),
            &Ink::flat(wood.lift(-0.12)).faint(0.5),
        );
    }
    if edge > s * 1.6 {
        lamp(studio, edge - s * 1.15);
    }
    cloth(studio, edge, &mut seed);
    arrange(studio, edge, &mut seed);
}

/// The slanted light of a window on the wall.
fn window_light(studio: &mut Studio<'_>, wall: Rgb, edge: f32) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let bright = wall.to(hex(0xFFE9B8), 0.55);
    let side = if studio.right { 1.0 } else { -1.0 };
    let left = w / 2.0 - side * s * 0.28;
    let rows = ((edge / s - 0.1) / 0.215).clamp(3.0, 7.0) as usize;
    for column in 0..2 {
        for row in 0..rows {
            let (x, y) = (
                left + side * s * (0.25 * column as f32),
                edge - s * (0.075 + 0.215 * (rows - row) as f32),
            );
            let (pw, ph, slant) = (side * s * 0.225, s * 0.19, s * 0.075);
            let lower = |px: f32| y + slant * ((px - left) * side / (s * 0.25));
            let pane = Shape::polygon(vec![
                (x, lower(x)),
                (x + pw, lower(x + pw)),
                (x + pw, lower(x + pw) + ph),
                (x, lower(x) + ph),
            ]);
            studio.canvas.fill(&pane, &Ink::flat(bright).faint(0.42));
        }
    }
    studio
        .canvas
        .glow((w / 2.0, edge - s * 0.3), s * 0.6, hex(0xFFE2A8), 0.16);
}

/// A lamp on a long cord, for tall pictures.
fn lamp(studio: &mut Studio<'_>, y: f32) {
    let (s, x) = (studio.canvas.short(), studio.canvas.w() / 2.0);
    let (metal, warm) = (hex(0x2C3034), hex(0xFFD993));
    let trapeze = |top: f32, half: f32, bottom: f32, wide: f32| {
        Shape::polygon(vec![
            (x - half, top),
            (x + half, top),
            (x + wide, bottom),
            (x - wide, bottom),
        ])
    };
    let fade = Ramp::with_opacity(&[(warm, 0.30), (warm, 0.12), (warm, 0.0)]);
    let ink = Ink::ramp(fade, Along::Line((0.0, y), (0.0, y + s * 1.1))).stippled(0.2);
    studio
        .canvas
        .fill(&trapeze(y, s * 0.16, y + s * 1.1, s * 0.46), &ink);
    studio.canvas.fill(
        &Shape::rect(x - s * 0.004, 0.0, s * 0.008, y),
        &Ink::flat(metal),
    );
    studio.canvas.glow((x, y), s * 0.4, warm, 0.7);
    studio.canvas.fill(
        &Shape::ellipse(x, y, s * 0.05, s * 0.05),
        &Ink::flat(hex(0xFFF3D0)),
    );
    studio.solid(
        &trapeze(y - s * 0.15, s * 0.03, y, s * 0.17),
        hex(0xB8492E),
        s * 0.02,
        1.0,
    );
}

fn cloth(studio: &mut Studio<'_>, edge: f32, seed: &mut Seed) {
    let (s, x) = (studio.canvas.short(), studio.canvas.w() / 2.0);
    let linen = hex(0xF4ECDC).to(studio.palette.accent, 0.06 + 0.1 * seed.unit());
    let side = if studio.right { 1.0 } else { -1.0 };
    let p = |dx: f32, dy: f32| (x + side * dx * s, edge + dy * s);
    let spread = Shape::polygon(vec![
        p(-0.38, 0.075),
        p(-0.10, 0.045),
        p(0.30, 0.06),
        p(0.36, 0.12),
        p(0.22, 0.17),
        p(0.06, 0.19),
        p(-0.16, 0.185),
        p(-0.30, 0.15),
    ]);
    let ink = studio.modelled(
        Ink::down(&[linen, linen.lift(-0.08)], edge, edge + s * 0.2).stippled(0.5),
        (x, edge),
        s * 0.01,
        0.7,
    );
    studio.canvas.fill(&spread, &ink);
    for (a, b) in [
        ((-0.28, 0.10), (-0.06, 0.18)),
        ((0.05, 0.06), (0.16, 0.17)),
        ((0.24, 0.075), (0.27, 0.14)),
    ] {
        let fold = stroke(&[p(a.0, a.1), p(b.0, b.1)], s * 0.003, s * 0.012);
        studio
            .canvas
            .fill(&fold, &Ink::flat(linen.lift(-0.13)).faint(0.55));
    }
}

/// Tall things behind, low things before them.
fn arrange(studio: &mut Studio<'_>, edge: f32, seed: &mut Seed) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let mut things: Vec<Actor> = Vec::new();
    for actor in &studio.plan.actors {
        if actor.subject == Subject::Vase && studio.plan.shows(Subject::Flower) {
            continue;
        }
        let bouquet = actor.subject == Subject::Flower;
        for _ in 0..if bouquet { 1 } else { actor.count.min(4) } {
            things.push(*actor);
        }
    }
    let asked = things.len();
    let extra = [
        Subject::Vase,
        Subject::Apple,
        Subject::Pear,
        Subject::Lemon,
        Subject::Cup,
        Subject::Book,
        Subject::Orange,
    ];
    let start = seed.below(extra.len());
    for k in 0..extra.len() {
        let subject = extra[(start + k) % extra.len()];
        let second_vase = subject == Subject::Vase && studio.plan.shows(Subject::Flower);
        if things.len() < 6 && !studio.plan.shows(subject) && !second_vase {
            things.push(Actor {
                subject,
                colour: None,
                count: 1,
                size: 0.82,
            });
        }
    }
    things.truncate(9);
    let tall = |a: &Actor| matches!(a.subject, Subject::Vase | Subject::Candle | Subject::Flower);
    let mut order: Vec<(usize, Actor)> = things.into_iter().enumerate().collect();
    order.sort_by_key(|(i, a)| (!tall(a), *i >= asked, *i));
    let rows = [
        (-0.15, 0.07, 1.0),
        (0.14, 0.095, 1.0),
        (-0.02, 0.15, 1.0),
        (0.30, 0.15, 0.95),
        (-0.31, 0.135, 0.95),
        (0.15, 0.205, 0.95),
        (-0.19, 0.215, 0.95),
        (0.42, 0.10, 0.9),
        (-0.43, 0.09, 0.9),
    ];
    let side = if studio.right { 1.0 } else { -1.0 };
    let mut placed: Vec<(f32, Actor, f32, f32)> = order
        .into_iter()
        .zip(rows)
        .map(|((_, a), (x, y, k))| (y, a, x, k))
        .collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (y, actor, x, k) in placed {
        let tone = cast::colour(&actor, seed);
        let stand = Stand::at(
            w / 2.0 + side * x * s,
            edge + y * s,
            s * 0.60 * k * actor.size.clamp(0.8, 1.15),
        )
        .flipped(!studio.right);
        objects::draw(studio, actor.subject, stand, tone, seed);
    }
}
