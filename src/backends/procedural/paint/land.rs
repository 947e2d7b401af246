//! Landscapes: ranges, woods and ground, from the far to the near.

use crate::backends::procedural::colour::hex;
use crate::backends::procedural::exact::smooth;
use crate::backends::procedural::figure::Stand;
use crate::backends::procedural::ink::{Edge, Ink};
use crate::backends::procedural::lexicon::{Place, Season, Style, Subject, Weather};
use crate::backends::procedural::seed::Seed;
use crate::backends::procedural::shape::{Point, Shape};
use crate::backends::procedural::studio::{Studio, rough};

use super::cast::{self, Spot};
use super::{flora, plants, relief, sky, weather};

/// Paints a landscape with its actors.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(30);
    let s = studio.canvas.short();
    sky::paint(studio);
    backdrop(studio, &mut seed);
    ground(studio, &mut seed);
    front(studio, studio.front_y(), &mut seed);
    if !studio.plan.is_snowy() && !studio.plan.is_desert() && studio.plan.style != Style::Minimal {
        verge(studio, &mut seed);
    }
    if studio.plan.weather == Weather::Fog {
        weather::mist(studio, studio.horizon + s * 0.08, s * 0.26, 0.85);
    }
    if !studio.plan.shows(Subject::Bird) && studio.plan.weather == Weather::Clear {
        sky::birds(studio, 5);
    }
}

/// What lies beyond the first bank: mountains or hills, then woods.
pub fn backdrop(studio: &mut Studio<'_>, seed: &mut Seed) {
    let s = studio.canvas.short();
    let horizon = studio.horizon;
    if studio.plan.is_desert() {
        relief::mesas(studio, seed);
        return;
    }
    scroll(studio, seed);
    if studio.plan.at(Place::Mountain) || (studio.plan.is_snowy() && !studio.plan.at(Place::Hill)) {
        relief::range(studio, 0.95, horizon + s * 0.02, s * 0.26, seed);
        relief::range(studio, 0.70, horizon + s * 0.04, s * 0.38, seed);
    } else {
        relief::hills(studio, 0.98, horizon - s * 0.05, s * 0.15, seed);
        relief::hills(studio, 0.80, horizon - s * 0.02, s * 0.11, seed);
        relief::hills(studio, 0.62, horizon + s * 0.01, s * 0.09, seed);
    }
    weather::mist(studio, horizon, s * 0.12, 0.7);
    if studio.plan.style == Style::Minimal {
        return;
    }
    for (i, distance) in [0.60, 0.40].into_iter().enumerate() {
        let key = seed.bits() as u32;
        let base = horizon + s * (0.012 + 0.022 * i as f32);
        let colour = studio.palette.at_distance(distance);
        let tall = s * (0.085 + 0.06 * i as f32);
        let ink = Ink::down(
            &[colour, colour, colour.to(studio.palette.sky[2], 0.4)],
            base - tall,
            base + s * 0.03,
        )
        .stippled(0.4);
        let line = |x: f32| base - s * 0.03 * rough(key, x / s * 2.0);
        if flora::wants_pines(studio) {
            flora::far_pines(studio, line, tall, &ink, seed);
        } else {
            flora::far_broad(studio, line, tall * 0.6, &ink, seed);
        }
        weather::mist(studio, base + s * 0.01, s * 0.06, 0.6);
    }
}

/// On a tall picture, ranges with woods and mist rise one behind the other, as on a hanging scroll.
fn scroll(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (h, w, s) = (studio.canvas.h(), studio.canvas.w(), studio.canvas.short());
    if h < 1.9 * w {
        return;
    }
    let top = h * 0.27;
    let count = ((studio.horizon - top) / (s * 0.80)) as usize;
    for i in 0..count.min(9) {
        let t = (i as f32 + 0.5) / count as f32;
        let step = (studio.horizon - top) / count as f32;
        let base = top + step * (i as f32 + 0.75 + seed.range(-0.22, 0.22));
        let distance = 1.02 - 0.34 * t;
        relief::peaks(
            studio,
            distance,
            base,
            s * seed.range(0.45, 0.95),
            0.62,
            seed,
        );
        weather::mist(studio, base - s * 0.02, s * 0.16, 0.9);
        let key = seed.bits() as u32;
        let line = |x: f32| base + s * (0.05 - 0.06 * rough(key, x / s * 2.0));
        let colour = studio.palette.at_distance(distance - 0.12);
        let ink = Ink::down(
            &[colour, colour.to(studio.palette.sky[2], 0.6)],
            base - s * 0.1,
            base + s * 0.08,
        )
        .stippled(0.5);
        if flora::wants_pines(studio) {
            flora::far_pines(studio, line, s * (0.07 + 0.05 * t), &ink, seed);
        } else {
            flora::far_broad(studio, line, s * (0.05 + 0.03 * t), &ink, seed);
        }
        weather::mist(studio, base + s * 0.10, s * 0.13, 0.95);
    }
}

/// Everything below a line, down to `bottom`.
pub fn bank(studio: &mut Studio<'_>, line: impl Fn(f32) -> f32, bottom: f32, ink: &Ink) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let step = s / 130.0;
    let margin = s * 0.12;
    let mut points: Vec<Point> = Vec::new();
    let mut x = -margin;
    while x < w + margin {
        points.push((x, line(x)));
        x += step;
    }
    points.push((w + margin, bottom));
    points.push((-margin, bottom));
    studio.canvas.fill(&Shape::polygon(points), ink);
}

/// The ground, as three banks, each with a lit brow and trees on the outer ones.
fn ground(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let [bright, shade] = studio.palette.ground;
    let (top, deep) = (studio.horizon + s * 0.045, h - studio.horizon - s * 0.045);
    for (i, start) in [0.0, 0.20, 0.56].into_iter().enumerate() {
        let key = seed.bits() as u32;
        let base = top + deep * start;
        let swell = s * (0.05 + 0.045 * i as f32);
        let far = 1.0 - i as f32 / 2.0;
        let near = bright.to(studio.palette.sky[2], 0.40 * far);
        let low = shade.to(studio.palette.sky[2], 0.30 * far);
        let tilt = seed.range(-0.06, 0.06);
        let line = move |x: f32| {
            base - swell * (rough(key, x / s * (1.0 - 0.2 * i as f32)) - 0.35)
                + (x - w / 2.0).clamp(-s, s) * tilt
        };
        let end = base + deep * 0.6;
        let ink = Ink::down(
            &[near, near.to(low, 0.4), low, low.lift(-0.05)],
            base - swell,
            end,
        )
        .stippled(0.55);
        let light = Edge {
            toward: (0.15, -0.98),
            reach: s * 0.022,
            colour: studio.palette.light,
            strength: 0.6,
        };
        bank(studio, line, h + s, &ink.lit(light));
        if i == 1 {
            back(studio, &line, seed);
        }
        if studio.plan.style != Style::Minimal || i == 1 {
            trees(studio, &line, i, seed);
        }
    }
    let grassy = studio.plan.at(Place::Meadow) || studio.plan.shows(Subject::Flower);
    if (grassy || studio.plan.at(Place::Field)) && !studio.plan.is_snowy() {
        let ripe = bright.to(hex(if grassy { 0x7DB356 } else { 0xE8C25A }), 0.5);
        let ripe =
            studio
                .plan
                .ground_colour
                .unwrap_or(if grassy { ripe.to(shade, 0.35) } else { ripe });
        relief::crop(studio, top + deep * 0.18, ripe, seed);
    }
    if studio.plan.at(Place::Meadow)
        && !studio.plan.is_snowy()
        && !studio.plan.shows(Subject::Flower)
    {
        let tone = studio.palette.accent.to(hex(0xFFF4E0), 0.45);
        plants::carpet(studio, top + deep * 0.2, h * 1.02, tone, 0.22, seed);
    }
    if studio.plan.is_snowy() {
        snowfield(studio, top + deep * 0.5, seed);
    }
    let Some(actor) = studio
        .plan
        .actors
        .iter()
        .find(|a| cast::spot(a.subject) == Spot::Carpet)
        .copied()
    else {
        return;
    };
    let tone = cast::colour(&actor, seed);
    plants::carpet(studio, top + deep * 0.14, h * 1.02, tone, 1.0, seed);
}

/// What makes snow look deep: a trail of prints that comes from between the trees, dry stalks, glints.
fn snowfield(studio: &mut Studio<'_>, top: f32, seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let shade = studio.palette.ground[1];
    let (stage, side) = (studio.stage_x(), if studio.right { 1.0 } else { -1.0 });
    let creature = studio
        .plan
        .actors
        .iter()
        .any(|a| cast::spot(a.subject) == Spot::Front);
    if creature {
        for i in 0..26 {
            let t = i as f32 / 26.0;
            let bend = (t * 3.4 + 0.4) * t;
            let x = stage - side * s * (0.16 + 0.62 * t - 0.10 * bend);
            let start = studio.front_y() + s * 0.01;
            let y = start - (start - top) * (t * 1.05).min(1.0)
                + if i % 2 == 0 { s * 0.008 } else { 0.0 };
            let size = s * 0.0135 * (1.0 - 0.78 * t);
            studio
                .canvas
                .pool((x, y), size * 1.25, size * 0.62, shade.lift(-0.14), 0.8);
            studio.canvas.pool(
                (x, y + size * 0.42),
                size * 1.1,
                size * 0.3,
                studio.palette.light,
                0.5,
            );
        }
    }
    for _ in 0..(w / s * 16.0) as usize {
        let x = seed.unit() * w;
        let away = (x - stage).abs() / s;
        if away < 0.24 {
            continue;
        }
        let y = h * seed.range(0.90, 1.0);
        let tone = studio.palette.dark.to(hex(0xB98A52), seed.range(0.35, 0.7));
        studio
            .canvas
            .pool((x, y), s * 0.04, s * 0.008, shade.lift(-0.10), 0.6);
        flora::tuft(studio, (x, y), s * seed.range(0.03, 0.075), tone, seed);
    }
    for _ in 0..(w / s * 70.0) as usize {
        let at = (seed.unit() * w, top + (h - top) * seed.unit());
        studio
            .canvas
            .dot(at, s * seed.range(0.0006, 0.0014), hex(0xFFFFFF), 0.9);
    }
}

/// Buildings behind the first bank.
fn back(studio: &mut Studio<'_>, line: &dyn Fn(f32) -> f32, seed: &mut Seed) {
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
fn taken(studio: &Studio<'_>, x: f32, bank: usize) -> bool {
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

/// Trees on a bank; the nearer the bank, the more they keep to the sides.
fn trees(studio: &mut Studio<'_>, line: &dyn Fn(f32) -> f32, bank: usize, seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    if studio.plan.is_desert() {
        return relief::cacti(studio, line, bank, seed);
    }
    let dense = if studio.plan.at(Place::Forest) {
        2.0
    } else if studio.plan.at(Place::Field) {
        0.4
    } else {
        1.0
    };
    let count = (w / s * [9.0, 5.0, 2.6][bank] * dense) as usize;
    let stretch = (h / w).clamp(1.0, 3.0).sqrt();
    let middle = studio.stage_x().min(w - s * 0.3).max(s * 0.3);
    for i in 0..count {
        let x = (i as f32 + seed.unit()) / count as f32 * w;
        let framing = bank == 2 && w < 2.0 * s && smooth(0.26, 0.40, (x - middle).abs() / s) < 0.5;
        if taken(studio, x, bank) || framing {
            continue;
        }
        let distance = [0.34, 0.18, 0.02][bank];
        let tall = s * [0.17, 0.32, 0.68][bank] * seed.range(0.65, 1.2) * stretch;
        let foot = (x, line(x) + s * [0.010, 0.02, 0.05][bank]);
        flora::of_place(studio, foot, tall, distance, seed);
    }
}

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
    if keep && studio.plan.stage != crate::backends::procedural::scene::Stage::City {
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

/// Grass at the lower edge, dark and near.
fn verge(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let deep = studio.palette.dark.to(studio.palette.ground[1], 0.25);
    let autumn = studio.plan.season == Season::Autumn;
    for _ in 0..(w / s * 60.0) as usize {
        let x = seed.unit() * w;
        let away = smooth(0.1, 0.5, (x - studio.stage_x()).abs() / s);
        let tone = deep.to(studio.palette.ground[1], seed.range(0.0, 0.5));
        let tone = if autumn {
            tone.to(hex(0x8A4A1E), 0.3)
        } else {
            tone
        };
        flora::tuft(
            studio,
            (x, h + s * 0.015),
            s * seed.range(0.04, 0.09) * (0.55 + 0.9 * away),
            tone,
            seed,
        );
    }
}
