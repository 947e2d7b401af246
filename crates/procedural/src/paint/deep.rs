//! Underwater scenes: light from above, a reef below, and swimming animals between them.

use crate::colour::hex;
use crate::figure::Stand;
use crate::fill::{Along, Fill, Gradient};
use crate::lexicon::Subject;
use crate::scene::Actor;
use crate::seed::Seed;
use crate::shape::Shape;
use crate::studio::{Studio, rough};

use super::{bank, cast, reef};

/// Paints the sea from inside.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(45);
    let (_, h, s) = studio.size();
    let [top, middle, low] = studio.palette.sky;
    let between = (top.to(middle, 0.6), middle.to(low, 0.5));
    let water = [top, between.0, middle, between.1, low, low.lift(-0.04)];
    studio.cover(&Fill::down(&water, 0.0, h).stippled(0.06));
    studio.sun = (studio.sun.0, -s * 0.15);
    studio.glow(studio.sun, s * 1.0, studio.palette.disc, 0.75);
    rays(studio, &mut seed);
    school(studio, &mut seed);
    for (i, level) in [0.80, 0.88].into_iter().enumerate() {
        let key = seed.bits() as u32;
        let base = h - s * (1.0 - level) * (h / s).min(1.6);
        let tone = studio.palette.ground[i].to(middle, 0.45 - 0.3 * i as f32);
        let tones = [tone.lift(0.05), tone, low.lift(-0.03)];
        let fill = Fill::down(&tones, base - s * 0.08, h).stippled(0.5);
        let line = |x: f32| base - s * 0.12 * (rough(key, x / s * 1.8) - 0.3);
        bank::fill(studio, line, h + s, &fill);
        reef::paint(studio, base + s * 0.03, i, &mut seed);
    }
    swimmers(studio, &mut seed);
    bubbles(studio, &mut seed);
}

fn rays(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let long = h.min(s * 1.3);
    let count = (9.0 * (w / s).max(1.0)) as usize;
    let fade = Gradient::fade(studio.palette.light, &[0.34, 0.16, 0.05, 0.0]);
    for i in 0..count {
        let x = w * (i as f32 + seed.unit()) / count as f32;
        let foot = x + (x - studio.sun.0) / w.max(s) * s * 0.7;
        let (thin, wide) = (s * seed.range(0.01, 0.03), s * seed.range(0.05, 0.14));
        let (left, right) = ((foot - wide, long), (foot + wide, long));
        let ray = vec![(x - thin, -2.0), (x + thin, -2.0), right, left];
        let span = Along::Line((0.0, 0.0), (0.0, long * seed.range(0.6, 1.0)));
        let fill = Fill::gradient(fade.clone(), span).stippled(0.2);
        studio.fill(&Shape::polygon(ray), &fill.faint(seed.range(0.4, 0.9)));
    }
}

/// Small fish in the distance.
fn school(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let tone = studio.palette.sky[1].to(studio.palette.range[2], 0.6);
    let centre = (w - studio.stage_x(), h * 0.32);
    for _ in 0..34 {
        let (a, b) = (seed.range(-1.0, 1.0), seed.range(-1.0, 1.0));
        let x = centre.0 + a * s * 0.22;
        let y = centre.1 + b * s * 0.10 * (1.2 - a.abs());
        let r = s * seed.range(0.007, 0.013);
        let fish = [
            (-1.6, 0.0),
            (-0.4, -0.6),
            (0.8, -0.1),
            (1.6, -0.6),
            (1.4, 0.5),
            (0.8, 0.1),
            (-0.4, 0.6),
        ];
        let fish = fish.map(|(dx, dy)| (x + r * dx, y + r * dy));
        studio.wash(Shape::polygon(fish.to_vec()), tone, 0.8);
    }
}

fn swimmers(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (_, h, s) = studio.size();
    let mut actors: Vec<Actor> = studio.plan.actors.clone();
    if actors.is_empty() {
        actors.push(Actor {
            subject: Subject::Fish,
            colour: None,
            count: 3,
            size: 0.8,
        });
    }
    let mut places = [
        (0.0, 0.52, 1.0),
        (-0.44, 0.68, 0.5),
        (0.36, 0.34, 0.42),
        (-0.30, 0.28, 0.34),
        (0.42, 0.74, 0.4),
        (-0.1, 0.8, 0.34),
    ]
    .into_iter()
    .cycle();
    for actor in actors {
        let tone = cast::colour(&actor, seed);
        let swims = matches!(
            actor.subject,
            Subject::Fish | Subject::Whale | Subject::Turtle | Subject::Jellyfish
        );
        for (dx, y, size) in places.by_ref().take(usize::from(actor.count.min(5))) {
            let x = studio.stage_x() - studio.side() * dx * s;
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
    let (w, h, s) = studio.size();
    let white = hex(0xFFFFFF);
    for _ in 0..(60.0 * (w * h / (s * s)).min(6.0)) as usize {
        let at = (seed.unit() * w, seed.unit() * h);
        studio.dot(at, s * seed.range(0.0008, 0.002), white, 0.35);
    }
    let column = studio.stage_x() - s * 0.26 * studio.side();
    for i in 0..16 {
        let x = column + s * seed.range(-0.04, 0.04);
        let y = h * 0.5 - i as f32 * s * 0.03;
        let r = s * seed.range(0.003, 0.012);
        studio.dot((x, y), r, white, 0.22);
        studio.dot((x - r * 0.35, y - r * 0.35), r * 0.28, white, 0.9);
    }
}
