//! Space: nebulae, stars, planets, and a strange ground for those who need one.

use crate::figure::Stand;
use crate::ink::{Edge, Ink};
use crate::lexicon::Subject;
use crate::shape::Shape;
use crate::studio::{Studio, rough};

use super::{bank, cast, places, planet, sky};

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
    planet::draw(
        studio,
        (x, h * if only_planet { 0.48 } else { 0.34 }),
        r,
        colour,
        big.is_some() || seed.chance(0.6),
    );
    let moon = studio.palette.range[0].lift(0.2);
    planet::draw(studio, (w - x + s * 0.16, h * 0.16), s * 0.05, moon, false);
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
            planet::draw(
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
        bank::fill(
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
