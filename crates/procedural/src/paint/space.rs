//! Space: nebulae, stars, planets, and an alien ground for subjects that need one.

use crate::colour::Rgb;
use crate::figure::Stand;
use crate::fill::Fill;
use crate::lexicon::Subject;
use crate::scene::Actor;
use crate::seed::Seed;
use crate::shape::{Point, Shape};
use crate::studio::{Studio, rough};

use super::{bank, cast, places, planet, sky};

/// Paints a view of space with its actors.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(40);
    nebula(studio, &mut seed);
    studio.horizon = studio.h();
    sky::stars(studio, 2.2);
    worlds(studio, &mut seed);
    let floats = |a: &Actor| {
        matches!(
            a.subject,
            Subject::Rocket | Subject::Planet | Subject::Astronaut | Subject::Balloon
        )
    };
    if studio.plan.actors.iter().all(floats) {
        return travellers(studio, &mut seed);
    }
    surface(studio);
    let y = studio.front_y() + studio.short() * 0.015;
    places::front(studio, y, &mut seed);
}

fn nebula(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let [top, middle, low] = studio.palette.sky;
    let tones = [top, middle.to(top, 0.45), middle, middle.to(low, 0.5)];
    studio.cover(&Fill::down(&tones, 0.0, h).stippled(0.06));
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
        let x = x + s * seed.range(-0.15, 0.15);
        let y = y + s * seed.range(-0.15, 0.15);
        let (radius, colour) = (s * seed.range(0.12, 0.42), lit[seed.below(4)]);
        studio.glow((x, y), radius, colour, seed.range(0.12, 0.42));
    }
}

/// A planet, its moon, and more worlds on a long image.
fn worlds(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let actors = &studio.plan.actors;
    let named = actors.iter().find(|a| a.subject == Subject::Planet);
    let named = named.map(|a| cast::colour(a, seed));
    let alone = named.is_some() && actors.len() == 1;
    let (x, y, r) = if alone {
        (studio.stage_x(), h * 0.48, s * 0.27)
    } else {
        (w - studio.stage_x(), h * 0.34, s * 0.20)
    };
    studio.sun = (x - r * 3.0, h * 0.1);
    let colour = named.unwrap_or(studio.palette.ground[0]);
    let rings = named.is_some() || seed.chance(0.6);
    planet::draw(studio, (x, y), r, colour, rings);
    let far = studio.palette.range[0];
    let moon = (w - x + s * 0.16, h * 0.16);
    planet::draw(studio, moon, s * 0.05, far.lift(0.2), false);
    let taken = if w > h {
        [x, studio.stage_x()]
    } else {
        [h * 0.34, h * 0.78]
    };
    let mut next = s * 1.6;
    while next < w.max(h) - s * 0.8 {
        let along = next + s * seed.range(-0.2, 0.2);
        let across = seed.range(0.25, 0.75);
        let tone = far.turn(seed.range(-2.5, 2.5)).lift(0.12);
        if taken.iter().all(|p| (along - p).abs() > s * 0.7) {
            let wide = (along, h * across);
            let at = if w > h { wide } else { (w * across, along) };
            world(studio, at, tone, seed);
        }
        next += s * 1.1;
    }
}

fn world(studio: &mut Studio<'_>, at: Point, tone: Rgb, seed: &mut Seed) {
    let r = studio.short() * seed.range(0.05, 0.13);
    planet::draw(studio, at, r, tone, seed.chance(0.4));
}

/// Floating subjects: astronauts, rockets, balloons.
fn travellers(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (_, h, s) = studio.size();
    let actors = studio.plan.actors.iter();
    let others = actors.filter(|a| a.subject != Subject::Planet);
    for (i, actor) in others.enumerate() {
        let tone = cast::colour(actor, seed);
        for n in 0..actor.count.min(4) {
            let k = (i + usize::from(n)) % 4;
            let x = studio.stage_x() + s * [0.0, -0.36, 0.3, 0.12][k];
            let y = h * [0.78, 0.55, 0.92, 0.4][k];
            let tall = s * cast::height(actor.subject) * actor.size * [1.0, 0.5, 0.4, 0.3][k];
            let stand = Stand::at(x, y, tall)
                .flipped(!studio.right)
                .leaning(-0.12 * studio.side());
            cast::draw(studio, actor.subject, stand, tone, seed);
        }
    }
}

/// Bare hills with craters.
fn surface(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(42);
    let (w, h, s) = studio.size();
    let [bright, shade] = studio.palette.ground;
    let tones = [shade.to(studio.palette.sky[2], 0.2), bright];
    for (level, tone) in [0.66, 0.76].into_iter().zip(tones) {
        let key = seed.bits() as u32;
        let base = h * level;
        let tones = [tone, tone.to(shade, 0.6), shade.lift(-0.06)];
        let fill = Fill::down(&tones, base - s * 0.05, base + h * 0.25)
            .stippled(0.5)
            .lit(studio.rim((0.0, -1.0), s * 0.018, 0.6));
        let line = |x: f32| base - s * 0.09 * (rough(key, x / s * 1.6) - 0.3);
        bank::fill(studio, line, h + s, &fill);
    }
    for _ in 0..(w / s * 9.0) as usize {
        let (x, y) = (seed.unit() * w, h * seed.range(0.83, 0.99));
        let r = s * seed.range(0.01, 0.045);
        let crater = Shape::ellipse(x, y, r, r * 0.26);
        studio.wash(crater, shade.lift(-0.06), 0.8);
        let floor = Shape::ellipse(x, y + r * 0.09, r * 0.9, r * 0.19);
        studio.wash(floor, bright.to(shade, 0.4), 0.9);
    }
}
