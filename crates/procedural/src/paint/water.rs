//! Sea, lakes and rivers, and the boats on them.

use crate::figure::Stand;
use crate::fill::Fill;
use crate::lexicon::{Place, Subject, Weather};
use crate::seed::Seed;
use crate::shape::{Shape, trace};
use crate::studio::{Studio, rough};

use super::{cast, land, mirror, places, shore, sky, waves, weather};

/// Paints a scene by the water.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(35);
    let (w, h, s) = studio.size();
    let plan = studio.plan;
    let inland = (plan.at(Place::Lake) || plan.at(Place::River)) && !plan.at(Place::Sea);
    let (level, tint, calm) = if inland {
        (0.60, 0.22, 0.5)
    } else {
        (0.58, 0.5, 1.0)
    };
    studio.horizon = (h * level).max(h - 1.5 * s);
    let line = studio.horizon;
    sky::paint(studio);
    if inland || plan.at(Place::Mountain) {
        land::backdrop(studio, &mut seed);
    } else {
        islands(studio, &mut seed);
    }
    mirror::flip(studio, (0.0, w), line, h, tint, calm);
    waves::paint(studio, line, h, inland, &mut seed);
    mirror::glitter(studio, line, h, calm);
    shore::headland(studio, &mut seed);
    fleet(studio, &mut seed);
    let standing = plan.actors.iter().any(|a| {
        let floats = matches!(a.subject, Subject::Boat | Subject::Lighthouse);
        !floats && cast::spot(a.subject) != cast::Spot::Sky
    });
    if standing || inland || plan.at(Place::Beach) {
        shore::bank(studio, inland, &mut seed);
    }
    let front = studio.front_y() + s * 0.015;
    places::cast_all(studio, front, line + s * 0.015, &mut seed);
    let rough = matches!(plan.weather, Weather::Storm | Weather::Snow);
    if !rough && !plan.shows(Subject::Bird) {
        sky::birds(studio, 6);
    }
}

/// Far islands at sea.
fn islands(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let line = studio.horizon;
    let count = if studio.plan.at(Place::Island) { 4 } else { 2 };
    for i in 0..count {
        let key = seed.bits() as u32;
        let (x, half) = (w * seed.range(0.05, 0.95), s * seed.range(0.14, 0.34));
        let tall = s * seed.range(0.03, 0.085);
        let mut points = trace(40, |t| {
            let rise = tall * (4.0 * t * (1.0 - t)) * (0.4 + rough(key, t * 5.0));
            (x + (t * 2.0 - 1.0) * half, line - rise)
        });
        points.extend([(x + half, line + 2.0), (x - half, line + 2.0)]);
        let colour = studio.palette.at_distance(0.92 - 0.12 * i as f32);
        let tones = [colour, colour.to(studio.palette.sky[2], 0.4)];
        let fill = Fill::down(&tones, line - tall, line).stippled(0.4);
        studio.fill(&Shape::polygon(points), &fill);
    }
    weather::mist(studio, line, s * 0.035, 0.6);
}

/// Positions of boats: across, down, size.
const BERTHS: [(f32, f32, f32); 5] = [
    (0.0, 0.36, 1.0),
    (0.36, 0.14, 0.45),
    (-0.34, 0.10, 0.36),
    (0.2, 0.07, 0.26),
    (-0.2, 0.2, 0.5),
];

/// Boats, each with its own reflection.
fn fleet(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let line = studio.horizon;
    let Some(actor) = studio.plan.actor(Subject::Boat) else {
        return;
    };
    let tone = cast::colour(&actor, seed);
    let alone = studio.plan.actors.len() == 1;
    let (home, spread, scale) = if alone {
        (studio.stage_x(), 1.0, 1.25)
    } else {
        (w - studio.stage_x(), 0.6, 0.8)
    };
    let count = usize::from(actor.count.clamp(1, 5));
    for &(dx, dy, size) in BERTHS[..count].iter().rev() {
        let x = home + dx * s;
        let y = line + (h - line).min(s * 0.6) * dy * spread;
        let tall = s * cast::height(actor.subject) * actor.size * size * scale;
        let stand = Stand::at(x, y, tall)
            .flipped(!studio.right)
            .leaning(seed.range(-0.04, 0.04))
            .far(0.4 * (1.0 - size));
        let before = studio.canvas.copy_rows(y - tall * 1.1, y + tall * 0.1);
        cast::draw(studio, actor.subject, stand, tone, seed);
        mirror::reflect(studio, &before, (x, y + tall * 0.012), tall);
    }
}
