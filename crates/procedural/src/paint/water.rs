//! Sea, lakes and rivers, and the boats on them.

use crate::figure::Stand;
use crate::ink::Ink;
use crate::lexicon::{Place, Subject, Weather};
use crate::seed::Seed;
use crate::shape::{Point, Shape};
use crate::studio::{Studio, rough};

use super::{cast, land, mirror, places, shore, sky, waves, weather};

/// Paints a scene at the water.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(35);
    let (w, h, s) = studio.size();
    let inland = (studio.plan.at(Place::Lake) || studio.plan.at(Place::River))
        && !studio.plan.at(Place::Sea);
    studio.horizon = (h * if inland { 0.60 } else { 0.58 }).max(studio.h() - 1.5 * s);
    let line = studio.horizon;
    sky::paint(studio);
    if inland || studio.plan.at(Place::Mountain) {
        land::backdrop(studio, &mut seed);
    } else {
        islands(studio, &mut seed);
    }
    let boats = studio.plan.shows(Subject::Boat);
    let standing = studio.plan.actors.iter().any(|a| {
        !matches!(a.subject, Subject::Boat | Subject::Lighthouse)
            && cast::spot(a.subject) != cast::Spot::Sky
    });
    mirror::flip(
        studio,
        (0.0, w),
        line,
        h,
        if inland { 0.22 } else { 0.5 },
        if inland { 0.5 } else { 1.0 },
    );
    waves::paint(studio, line, h, inland, &mut seed);
    mirror::glitter(studio, line, h, if inland { 0.5 } else { 1.0 });
    if studio.plan.shows(Subject::Lighthouse) {
        shore::headland(studio, &mut seed);
    }
    if boats {
        fleet(studio, &mut seed);
    }
    let shore = standing || studio.plan.at(Place::Beach) || inland;
    if shore {
        shore::bank(studio, inland, &mut seed);
    }
    places::cast_all(
        studio,
        studio.front_y() + s * 0.015,
        line + s * 0.015,
        &mut seed,
    );
    if !studio.plan.shows(Subject::Bird)
        && !matches!(studio.plan.weather, Weather::Storm | Weather::Snow)
    {
        sky::birds(studio, 6);
    }
}

/// Far islands at sea.
fn islands(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, s, line) = (studio.w(), studio.short(), studio.horizon);
    let count = if studio.plan.at(Place::Island) { 4 } else { 2 };
    for i in 0..count {
        let distance = 0.92 - 0.12 * i as f32;
        let key = seed.bits() as u32;
        let (x, half) = (w * seed.range(0.05, 0.95), s * seed.range(0.14, 0.34));
        let tall = s * seed.range(0.03, 0.085);
        let n = 40;
        let mut points: Vec<Point> = (0..=n)
            .map(|k| k as f32 / n as f32)
            .map(|t| {
                (
                    x + (t * 2.0 - 1.0) * half,
                    line - tall * (4.0 * t * (1.0 - t)) * (0.4 + rough(key, t * 5.0)),
                )
            })
            .collect();
        points.push((x + half, line + 2.0));
        points.push((x - half, line + 2.0));
        let colour = studio.palette.at_distance(distance);
        studio.fill(
            &Shape::polygon(points),
            &Ink::down(
                &[colour, colour.to(studio.palette.sky[2], 0.4)],
                line - tall,
                line,
            )
            .stippled(0.4),
        );
    }
    weather::mist(studio, line, s * 0.035, 0.6);
}

/// Boats, each with its own reflection.
fn fleet(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (h, s, line) = (studio.h(), studio.short(), studio.horizon);
    let Some(actor) = studio
        .plan
        .actors
        .iter()
        .find(|a| a.subject == Subject::Boat)
        .copied()
    else {
        return;
    };
    let tone = cast::colour(&actor, seed);
    let alone = studio.plan.actors.len() == 1;
    let places = [
        (0.0, 0.36, 1.0),
        (0.36, 0.14, 0.45),
        (-0.34, 0.10, 0.36),
        (0.2, 0.07, 0.26),
        (-0.2, 0.2, 0.5),
    ];
    let count = usize::from(actor.count.min(5)).max(1);
    for i in (0..count).rev() {
        let (dx, dy, size) = places[i];
        let x = if alone {
            studio.stage_x()
        } else {
            studio.w() - studio.stage_x()
        } + dx * s;
        let y = line + (h - line).min(s * 0.6) * dy * if alone { 1.0 } else { 0.6 };
        let tall =
            s * cast::height(Subject::Boat) * actor.size * size * if alone { 1.25 } else { 0.8 };
        let stand = Stand::at(x, y, tall)
            .flipped(!studio.right)
            .leaning(seed.range(-0.04, 0.04))
            .far(0.4 * (1.0 - size));
        let before = studio.canvas.copy_rows(y - tall * 1.1, y + tall * 0.1);
        cast::draw(studio, Subject::Boat, stand, tone, seed);
        mirror::reflect(studio, &before, (x, y + tall * 0.012), tall);
    }
}
