//! Shores: the cliff of a lighthouse, sand, reeds.

use crate::colour::{Rgb, hex};
use crate::figure::Stand;
use crate::fill::{Along, Fill, Gradient};
use crate::lexicon::{Subject, Time};
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke, trace};
use crate::studio::{Studio, rough};

use super::waves::lens;
use super::{bank, cast, flora};

/// A cliff with the lighthouse on it.
pub fn headland(studio: &mut Studio<'_>, seed: &mut Seed) {
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
pub fn bank(studio: &mut Studio<'_>, inland: bool, seed: &mut Seed) {
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
        bank::fill(studio, surf, base + s * 0.06, &foam);
    }
    let tones = [bright.to(shade, 0.25), shade, shade.lift(-0.10)];
    let fill = Fill::down(&tones, base - s * 0.05, h + s * 0.02)
        .stippled(0.55)
        .lit(studio.rim((0.0, -1.0), s * 0.012, 0.5));
    bank::fill(studio, line, h + s, &fill);
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
