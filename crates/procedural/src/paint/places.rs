//! Positions of subjects: creatures near the viewer, buildings behind them, balloons in the sky.

use crate::figure::Stand;
use crate::lexicon::Subject;
use crate::scene::{Actor, Stage};
use crate::seed::Seed;
use crate::shape::Shape;
use crate::studio::Studio;

use super::cast::{self, Spot};

/// Near the viewer: across, down, size.
const NEAR: [(f32, f32, f32); 6] = [
    (0.0, 0.0, 1.0),
    (0.36, -0.055, 0.66),
    (-0.34, -0.04, 0.74),
    (0.58, -0.09, 0.46),
    (-0.56, -0.085, 0.5),
    (0.2, 0.03, 0.8),
];
/// In the sky: across, up, size.
const HIGH: [(f32, f32, f32); 5] = [
    (0.0, 0.44, 1.0),
    (0.42, 0.52, 0.46),
    (-0.36, 0.56, 0.34),
    (0.2, 0.62, 0.24),
    (0.66, 0.42, 0.3),
];
/// Behind: across, size.
const FAR: [(f32, f32); 4] = [(0.0, 1.0), (0.42, 0.55), (-0.44, 0.5), (0.72, 0.4)];

/// Actors near the viewer and in the sky, for places whose ground is `y`.
pub fn front(studio: &mut Studio<'_>, y: f32, seed: &mut Seed) {
    let s = studio.short();
    let actors = studio.plan.actors.clone();
    let (mut slot, mut high) = (0, 0);
    let mut near: Vec<(f32, f32, f32, usize)> = Vec::new();
    for (index, actor) in actors.iter().enumerate() {
        let count = actor.count.clamp(1, 5);
        match cast::spot(actor.subject) {
            Spot::Front if actor.subject != Subject::Boat => {
                for _ in 0..count {
                    let (dx, dy, size) = NEAR[slot % NEAR.len()];
                    slot += 1;
                    near.push((y + dy * s, beside_stage(studio, dx), size, index));
                }
            }
            Spot::Sky => {
                let tone = cast::colour(actor, seed);
                for _ in 0..count {
                    let place = HIGH[high % HIGH.len()];
                    high += 1;
                    let stand = in_sky(studio, actor, place, slot > 0);
                    cast::draw(studio, actor.subject, stand, tone, seed);
                }
            }
            _ => {}
        }
    }
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tones: Vec<_> = actors.iter().map(|a| cast::colour(a, seed)).collect();
    for (foot, x, size, index) in near {
        let actor = actors[index];
        let bird = actor.subject == Subject::Bird;
        let foot = foot + if bird { -s * 0.14 } else { 0.0 };
        let tall = s * cast::height(actor.subject) * size * actor.size;
        let stand = Stand::at(x, foot, tall)
            .flipped(!studio.right)
            .far(0.3 * (1.0 - size));
        cast::draw(studio, actor.subject, stand, tones[index], seed);
    }
}

/// The horizontal position at a distance from the stage, away from the sun, within the image.
fn beside_stage(studio: &Studio<'_>, dx: f32) -> f32 {
    let (w, _, s) = studio.size();
    let x = studio.stage_x() - studio.side() * dx * s;
    x.clamp(w.min(s * 0.16), (w - s * 0.16).max(w * 0.5))
}

fn in_sky(studio: &Studio<'_>, actor: &Actor, place: (f32, f32, f32), busy: bool) -> Stand {
    let s = studio.short();
    let (dx, up, size) = place;
    let shown = size * if busy { 0.62 } else { 1.0 };
    let tall = s * cast::height(actor.subject) * actor.size * shown;
    let (lift, haze) = match actor.subject {
        Subject::Planet => (-s * 0.2, 0.3),
        Subject::Butterfly => (0.0, 0.0),
        _ => (0.0, 0.3),
    };
    let foot = studio.horizon - s * (up - 0.40) - s * 0.09 + lift;
    Stand::at(beside_stage(studio, dx), foot.max(tall * 1.02), tall)
        .flipped(!studio.right)
        .far(haze * (1.0 - size))
}

/// Buildings at `back_y` and creatures at `front_y`, for places without banks.
pub fn cast_all(studio: &mut Studio<'_>, front_y: f32, back_y: f32, seed: &mut Seed) {
    let s = studio.short();
    let plan = studio.plan;
    let behind = |a: &&Actor| {
        let back = cast::spot(a.subject) == Spot::Back;
        back && a.subject != Subject::Lighthouse && plan.stage != Stage::City
    };
    for (slot, actor) in plan.actors.iter().filter(behind).enumerate() {
        let (x, size) = back_place(studio, slot, true);
        let tone = cast::colour(actor, seed);
        let tall = s * cast::height(actor.subject) * size * actor.size;
        let islet = Shape::ellipse(x, back_y + s * 0.012, tall * 0.95, s * 0.03);
        studio.wash(islet, studio.palette.at_distance(0.3), 1.0);
        let stand = Stand::at(x, back_y, tall).far(0.15);
        cast::draw(studio, actor.subject, stand, tone, seed);
    }
    front(studio, front_y, seed);
}

/// Buildings behind the first bank.
pub fn back(studio: &mut Studio<'_>, line: &dyn Fn(f32) -> f32, seed: &mut Seed) {
    let s = studio.short();
    let plan = studio.plan;
    let busy = cast::fills(plan, Spot::Front);
    let actors = plan.actors.iter();
    let mut slot = 0;
    for actor in actors.filter(|a| cast::spot(a.subject) == Spot::Back) {
        let tone = cast::colour(actor, seed);
        for _ in 0..actor.count.clamp(1, 4) {
            let (x, size) = back_place(studio, slot, busy);
            slot += 1;
            let far = (0.30 - 0.25 * size).max(0.0) + if busy { 0.10 } else { 0.0 };
            let tall = s * cast::height(actor.subject) * size * actor.size;
            let stand = Stand::at(x, line(x) + s * 0.025, tall)
                .flipped(!studio.right)
                .far(far);
            cast::draw(studio, actor.subject, stand, tone, seed);
        }
    }
}

/// The position and the size of the n-th building.
fn back_place(studio: &Studio<'_>, slot: usize, busy: bool) -> (f32, f32) {
    let (w, _, s) = studio.size();
    let (dx, size) = FAR[slot % FAR.len()];
    let (home, size) = if busy {
        let opposite = w - studio.stage_x() - studio.side() * s * 0.08;
        (opposite, size * 0.62)
    } else {
        (studio.stage_x(), size)
    };
    let x = home - studio.side() * dx * s;
    (x.clamp(s * 0.08, w - s * 0.08), size)
}

/// Is there a subject at `x`, which no tree may hide?
pub fn is_taken(studio: &Studio<'_>, x: f32, bank: usize) -> bool {
    let s = studio.short();
    let busy = cast::fills(studio.plan, Spot::Front);
    let near_stage = (x - studio.stage_x()).abs() < [0.15, 0.27, 0.36][bank] * s;
    let (house, size) = back_place(studio, 0, busy);
    let near_house = bank > 0 && (x - house).abs() < 0.42 * size * s;
    (busy && near_stage) || (near_house && cast::fills(studio.plan, Spot::Back))
}
