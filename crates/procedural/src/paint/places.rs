//! Who stands where: creatures near the viewer, buildings behind them, balloons in the sky.

use crate::figure::Stand;
use crate::ink::Ink;
use crate::lexicon::Subject;
use crate::scene::Stage;
use crate::seed::Seed;
use crate::shape::Shape;
use crate::studio::Studio;

use super::cast::{self, Spot};

/// Actors near the viewer and in the sky, for places whose ground is `y`.
pub fn front(studio: &mut Studio<'_>, y: f32, seed: &mut Seed) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let actors = studio.plan.actors.clone();
    let mut slot = 0;
    let mut high = 0;
    let mut plan: Vec<(f32, f32, f32, usize)> = Vec::new();
    for (index, actor) in actors.iter().enumerate() {
        match cast::spot(actor.subject) {
            Spot::Front if actor.subject != Subject::Boat => {
                for _ in 0..actor.count.clamp(1, 5) {
                    let (dx, dy, size) = [
                        (0.0, 0.0, 1.0),
                        (0.36, -0.055, 0.66),
                        (-0.34, -0.04, 0.74),
                        (0.58, -0.09, 0.46),
                        (-0.56, -0.085, 0.5),
                        (0.2, 0.03, 0.8),
                    ][slot % 6];
                    slot += 1;
                    let side = if studio.right { -1.0 } else { 1.0 };
                    let x = (studio.stage_x() + side * dx * s)
                        .clamp(w.min(s * 0.16), (w - s * 0.16).max(w * 0.5));
                    plan.push((y + dy * s, x, size, index));
                }
            }
            Spot::Sky => {
                let tone = cast::colour(actor, seed);
                for _ in 0..actor.count.clamp(1, 5) {
                    let (dx, up, size) = [
                        (0.0, 0.44, 1.0),
                        (0.42, 0.52, 0.46),
                        (-0.36, 0.56, 0.34),
                        (0.2, 0.62, 0.24),
                        (0.66, 0.42, 0.3),
                    ][high % 5];
                    let side = if studio.right { -1.0 } else { 1.0 };
                    let far = if actor.subject == Subject::Butterfly {
                        0.0
                    } else {
                        0.3 * (1.0 - size)
                    };
                    let (x, size) = (
                        (studio.stage_x() + side * dx * s)
                            .clamp(w.min(s * 0.16), (w - s * 0.16).max(w * 0.5)),
                        size * if slot > 0 { 0.62 } else { 1.0 },
                    );
                    let tall = s * cast::height(actor.subject) * actor.size * size;
                    let foot = studio.horizon - s * (up - 0.40) - s * 0.09
                        + if actor.subject == Subject::Planet {
                            -s * 0.2
                        } else {
                            0.0
                        };
                    high += 1;
                    cast::draw(
                        studio,
                        actor.subject,
                        Stand::at(x, foot.max(tall * 1.02), tall)
                            .flipped(!studio.right)
                            .far(far),
                        tone,
                        seed,
                    );
                }
            }
            _ => {}
        }
    }
    plan.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tones: Vec<_> = actors.iter().map(|a| cast::colour(a, seed)).collect();
    for (foot, x, size, index) in plan {
        let actor = actors[index];
        let lift = if actor.subject == Subject::Bird {
            -s * 0.14
        } else {
            0.0
        };
        let stand = Stand::at(
            x,
            foot + lift,
            s * cast::height(actor.subject) * size * actor.size,
        )
        .flipped(!studio.right)
        .far(0.3 * (1.0 - size));
        cast::draw(studio, actor.subject, stand, tones[index], seed);
    }
}

/// Buildings at `back_y` and creatures at `front_y`, for places without banks of their own.
pub fn cast_all(studio: &mut Studio<'_>, front_y: f32, back_y: f32, seed: &mut Seed) {
    let keep = studio
        .plan
        .actors
        .iter()
        .any(|a| cast::spot(a.subject) == Spot::Back && a.subject != Subject::Lighthouse);
    if keep && studio.plan.stage != Stage::City {
        let s = studio.canvas.short();
        let actors: Vec<_> = studio
            .plan
            .actors
            .iter()
            .filter(|a| cast::spot(a.subject) == Spot::Back && a.subject != Subject::Lighthouse)
            .copied()
            .collect();
        for (slot, actor) in actors.iter().enumerate() {
            let (x, size) = back_place(studio, slot, true);
            let tone = cast::colour(actor, seed);
            let tall = s * cast::height(actor.subject) * size * actor.size;
            let ink = Ink::flat(studio.palette.at_distance(0.3));
            studio.canvas.fill(
                &Shape::ellipse(x, back_y + s * 0.012, tall * 0.95, s * 0.03),
                &ink,
            );
            cast::draw(
                studio,
                actor.subject,
                Stand::at(x, back_y, tall).far(0.15),
                tone,
                seed,
            );
        }
    }
    front(studio, front_y, seed);
}

/// Buildings behind the first bank.
pub fn back(studio: &mut Studio<'_>, line: &dyn Fn(f32) -> f32, seed: &mut Seed) {
    let s = studio.canvas.short();
    let actors = studio.plan.actors.clone();
    let busy = actors.iter().any(|a| cast::spot(a.subject) == Spot::Front);
    let mut slot = 0;
    for actor in actors
        .iter()
        .filter(|a| cast::spot(a.subject) == Spot::Back)
    {
        let tone = cast::colour(actor, seed);
        for _ in 0..actor.count.clamp(1, 4) {
            let (x, size) = back_place(studio, slot, busy);
            slot += 1;
            let far = (0.30 - 0.25 * size).max(0.0) + if busy { 0.10 } else { 0.0 };
            let stand = Stand::at(
                x,
                line(x) + s * 0.025,
                s * cast::height(actor.subject) * size * actor.size,
            )
            .flipped(!studio.right)
            .far(far);
            cast::draw(studio, actor.subject, stand, tone, seed);
        }
    }
}

/// Where the n-th building stands and how large it is.
fn back_place(studio: &Studio<'_>, slot: usize, busy: bool) -> (f32, f32) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let side = if studio.right { -1.0 } else { 1.0 };
    let home = if busy {
        w - studio.stage_x() + side * s * 0.08
    } else {
        studio.stage_x()
    };
    let (dx, size) = [(0.0, 1.0), (0.42, 0.55), (-0.44, 0.5), (0.72, 0.4)][slot % 4];
    (
        (home + side * dx * s).clamp(s * 0.08, w - s * 0.08),
        size * if busy { 0.62 } else { 1.0 },
    )
}

/// Whether something stands at `x`, so that no tree may hide it.
pub fn taken(studio: &Studio<'_>, x: f32, bank: usize) -> bool {
    let s = studio.canvas.short();
    let has = |spot: Spot| {
        studio
            .plan
            .actors
            .iter()
            .any(|a| cast::spot(a.subject) == spot)
    };
    let near_stage = (x - studio.stage_x()).abs() < [0.15, 0.27, 0.36][bank] * s;
    let (house, size) = back_place(studio, 0, has(Spot::Front));
    (has(Spot::Front) && near_stage)
        || (has(Spot::Back) && bank > 0 && (x - house).abs() < 0.42 * size * s)
}
