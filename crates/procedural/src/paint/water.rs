//! Sea, lakes and rivers: waves, shores with a lighthouse, and boats.

use super::{cast, flora, land, mirror, places, sky, weather};
use crate::colour::{Rgb, hex};
use crate::exact::{TURN, sin};
use crate::figure::Stand;
use crate::fill::{Along, Edge, Fill, Gradient};
use crate::lexicon::{Place, Subject, Time, Weather};
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke, trace};
use crate::studio::{Studio, noise, rough};

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
    waves(studio, line, h, inland, &mut seed);
    mirror::glitter(studio, line, h, calm);
    headland(studio, &mut seed);
    fleet(studio, &mut seed);
    let standing = plan.actors.iter().any(|a| {
        let floats = matches!(a.subject, Subject::Boat | Subject::Lighthouse);
        !floats && cast::spot(a.subject) != cast::Spot::Sky
    });
    if standing || inland || plan.at(Place::Beach) {
        shore(studio, inland, &mut seed);
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

/// Crests and troughs as thin lenses, wider toward the viewer.
fn waves(studio: &mut Studio<'_>, line: f32, bottom: f32, calm: bool, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let stormy = studio.plan.weather == Weather::Storm;
    let bright = studio.palette.sky[2].to(studio.palette.light, 0.4);
    let dim = studio.palette.range[2].to(studio.palette.dark, 0.3);
    let count = (w / s * if calm { 46.0 } else { 150.0 }) as usize;
    for i in 0..count.min(1200) {
        let t = seed.unit();
        let y = line + (bottom - line) * t * t + 1.0;
        let near = ((y - line) / (s * 0.42)).clamp(0.02, 1.0);
        let x = seed.unit() * w;
        let half = s * (0.012 + 0.10 * near) * seed.range(0.5, 1.3);
        let thick = s * (0.0010 + 0.0058 * near) * if stormy { 2.2 } else { 1.0 };
        let (colour, opacity) = if i % 3 == 0 {
            (dim, 0.20 + 0.16 * near)
        } else {
            (bright, 0.22 + 0.2 * near)
        };
        let fill = Fill::flat(colour).faint(opacity);
        lens(studio, (x, y), half, thick, &fill);
    }
    if stormy {
        breakers(studio, line, bottom, [dim, bright], seed);
    }
}

/// Rows of steep waves with foam on their crests.
fn breakers(
    studio: &mut Studio<'_>,
    line: f32,
    bottom: f32,
    [dim, bright]: [Rgb; 2],
    seed: &mut Seed,
) {
    let (w, _, s) = studio.size();
    let foam = bright.to(hex(0xFFFFFF), 0.5);
    for row in 0..6 {
        let near = row as f32 / 5.0;
        let base = line + (bottom - line) * (0.10 + 0.82 * near);
        let (key, wide) = (seed.bits() as u32, s * (0.14 + 0.26 * near));
        let high = s * (0.03 + 0.085 * near);
        let crest = move |x: f32| {
            let p = x / wide + 0.9 * noise(key, x / wide * 0.6);
            let swell = 1.0 - sin(p * TURN / 2.0).abs();
            swell * swell.sqrt() * (0.45 + 0.75 * noise(key ^ 9, x / wide * 0.9))
        };
        let surface = move |x: f32| base - high * crest(x) - high * 0.10 * rough(key, x / s * 9.0);
        let tone = dim.to(bright, 0.40 - 0.20 * near);
        let crest_tone = tone.to(bright, 0.45);
        let tones = [crest_tone, tone, tone.lift(-0.05), tone.lift(-0.08)];
        let fill = Fill::down(&tones, base - high, base + high * 1.2)
            .stippled(0.5)
            .lit(Edge::new((0.2, -0.98), s * 0.010, foam, 0.8));
        studio.fill_below(surface, bottom + s, &fill.faint(0.96));
        for _ in 0..(w / s * 620.0) as usize {
            let x = seed.unit() * w;
            let top = crest(x);
            if top < 0.3 || seed.unit() > top {
                continue;
            }
            let drop = high * 0.5 * seed.unit() * seed.unit();
            let r = s * (0.0007 + 0.0017 * near) * seed.range(0.5, 1.4);
            studio.dot((x, surface(x) + drop - r), r, foam, 0.75);
        }
    }
}

/// A flat drop of light or shade on the water.
pub fn lens(studio: &mut Studio<'_>, (x, y): Point, half: f32, thick: f32, fill: &Fill) {
    let shape = Shape::polygon(vec![
        (x - half, y),
        (x - half * 0.45, y - thick * 0.8),
        (x + half * 0.3, y - thick * 0.9),
        (x + half, y),
        (x + half * 0.4, y + thick * 0.4),
        (x - half * 0.5, y + thick * 0.5),
    ]);
    studio.fill(&shape, fill);
}

/// A cliff with the lighthouse on it.
fn headland(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let (line, side) = (studio.horizon, studio.side());
    let Some(actor) = studio.plan.actor(Subject::Lighthouse) else {
        return;
    };
    let key = seed.bits() as u32;
    let x = studio.stage_x() + side * (s * 0.10);
    let edge = if studio.right { w + s * 0.1 } else { -s * 0.1 };
    let tip = x - side * (s * 0.22);
    let mut points = trace(60, |t| {
        let rise = (t * 4.5).min(1.0) * s * (0.13 + 0.06 * t);
        let bumps = (rough(key, t * 9.0) - 0.5) * s * 0.05 * (t * 6.0).min(1.0);
        (tip + (edge - tip) * t, line + s * 0.05 - rise - bumps)
    });
    points.push((edge, line + s * 0.10));
    points.push((tip - (edge - tip) * 0.03, line + s * 0.062));
    let rock = studio.palette.range[2].to(studio.palette.dark, 0.2);
    let grass = studio.palette.ground[0].to(rock, 0.35);
    let tones = [grass, rock, rock.lift(-0.05), rock.lift(-0.08)];
    let fill = Fill::down(&tones, line - s * 0.16, line + s * 0.12).stippled(0.5);
    let fill = studio.modelled(fill, (x, line), s * 0.012, 0.8);
    studio.fill(&Shape::polygon(points), &fill);
    let foam = Fill::flat(hex(0xFFFFFF)).faint(0.6);
    for _ in 0..26 {
        let t = seed.unit();
        let y = line + s * (0.07 + 0.08 * t) + s * seed.range(-0.01, 0.012);
        let at = (tip + (edge - tip) * t, y);
        lens(studio, at, s * seed.range(0.02, 0.06), s * 0.005, &foam);
    }
    let tone = cast::colour(&actor, seed);
    let tall = (s * cast::height(actor.subject) * actor.size).min((line - s * 0.085) * 0.84);
    let foot = line - s * 0.060 + tall * 0.13;
    let stand = Stand::at(x, foot, tall).flipped(!studio.right);
    cast::draw(studio, actor.subject, stand, tone, seed);
}

/// The near shore: sand by the sea, grass and reeds inland.
fn shore(studio: &mut Studio<'_>, inland: bool, seed: &mut Seed) {
    let (_, h, s) = studio.size();
    let key = seed.bits() as u32;
    let base = h - s * if inland { 0.13 } else { 0.19 };
    let [bright, shade] = if inland {
        studio.palette.ground
    } else {
        sand(studio)
    };
    let line = |x: f32| base - s * 0.07 * (rough(key, x / s * 0.9) - 0.4);
    if !inland {
        let gradient = Gradient::fade(hex(0xFFFFFF), &[0.0, 0.85]);
        let span = Along::Line((0.0, base - s * 0.06), (0.0, base));
        let surf = |x: f32| line(x) - s * 0.016 - s * 0.012 * rough(key ^ 3, x / s * 6.0);
        let foam = Fill::gradient(gradient, span).faint(0.8);
        studio.fill_below(surf, base + s * 0.06, &foam);
    }
    let tones = [bright.to(shade, 0.25), shade, shade.lift(-0.10)];
    let fill = Fill::down(&tones, base - s * 0.05, h + s * 0.02)
        .stippled(0.55)
        .lit(studio.rim((0.0, -1.0), s * 0.012, 0.5));
    studio.fill_below(line, h + s, &fill);
    if inland {
        grass(studio, &line, shade, seed);
        reeds(studio, &line, shade, seed);
    }
}

/// Sand in the light and in shade.
fn sand(studio: &Studio<'_>) -> [Rgb; 2] {
    let night = studio.plan.time == Time::Night;
    let sand = hex(0xE8CFA0)
        .to(studio.palette.ground[0], 0.08)
        .to(studio.palette.dark, if night { 0.5 } else { 0.08 });
    [sand, sand.lift(-0.14)]
}

fn grass(studio: &mut Studio<'_>, line: &dyn Fn(f32) -> f32, shade: Rgb, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    for _ in 0..(w / s * 46.0) as usize {
        let x = seed.unit() * w;
        let away = ((x - studio.stage_x()).abs() / s).min(1.0);
        let tone = studio.palette.dark.to(shade, seed.range(0.1, 0.6));
        if away > 0.12 {
            let foot = (x, line(x) + s * seed.range(0.01, 0.10));
            let height = s * seed.range(0.03, 0.10) * (0.5 + away);
            flora::tuft(studio, foot, height, tone, seed);
        }
    }
}

fn reeds(studio: &mut Studio<'_>, line: &dyn Fn(f32) -> f32, shade: Rgb, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let tone = studio.palette.dark.to(shade, 0.25);
    for _ in 0..(w / s * 12.0) as usize {
        let x = seed.unit() * w;
        if (x - studio.stage_x()).abs() < s * 0.26 {
            continue;
        }
        let (tall, lean) = (s * seed.range(0.12, 0.24), seed.range(-0.1, 0.1));
        let y = line(x) + s * 0.05;
        let point = |side: f32, up: f32| -> Point { (x + lean * tall * side, y - tall * up) };
        let head = (x + lean * tall, y - tall);
        let reed = stroke(&[(x, y), point(0.4, 0.6), head], s * 0.004, s * 0.002);
        studio.wash(reed, tone, 1.0);
        let head = Shape::ellipse(head.0, head.1, s * 0.0055, s * 0.024);
        studio.wash(head, tone.to(hex(0x6A4428), 0.5), 1.0);
    }
}
