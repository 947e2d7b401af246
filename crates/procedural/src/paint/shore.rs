//! Shores: the cliff of a lighthouse, sand, reeds.

use crate::colour::hex;
use crate::figure::Stand;
use crate::ink::{Along, Ink, Ramp};
use crate::lexicon::{Subject, Time};
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke};
use crate::studio::{Studio, rough};

use super::waves::lens;
use super::{bank, cast, flora};

/// A cliff with the lighthouse on it.
pub fn headland(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, s, line) = (studio.w(), studio.short(), studio.horizon);
    let Some(actor) = studio
        .plan
        .actors
        .iter()
        .find(|a| a.subject == Subject::Lighthouse)
        .copied()
    else {
        return;
    };
    let right = studio.right;
    let key = seed.bits() as u32;
    let x = studio.stage_x() + if right { s * 0.10 } else { -s * 0.10 };
    let n = 60;
    let edge = if right { w + s * 0.1 } else { -s * 0.1 };
    let tip = if right { x - s * 0.22 } else { x + s * 0.22 };
    let mut points: Vec<Point> = (0..=n)
        .map(|k| k as f32 / n as f32)
        .map(|t| {
            let rise = (t * 4.5).min(1.0) * s * (0.13 + 0.06 * t);
            (
                tip + (edge - tip) * t,
                line + s * 0.05
                    - rise
                    - (rough(key, t * 9.0) - 0.5) * s * 0.05 * (t * 6.0).min(1.0),
            )
        })
        .collect();
    points.push((edge, line + s * 0.10));
    points.push((tip - (edge - tip) * 0.03, line + s * 0.062));
    let rock = studio.palette.range[2].to(studio.palette.dark, 0.2);
    let grass = studio.palette.ground[0].to(rock, 0.35);
    let ink = Ink::down(
        &[grass, rock, rock.lift(-0.05), rock.lift(-0.08)],
        line - s * 0.16,
        line + s * 0.12,
    )
    .stippled(0.5);
    let ink = studio.modelled(ink, (x, line), s * 0.012, 0.8);
    studio.fill(&Shape::polygon(points), &ink);
    for _ in 0..26 {
        let t = seed.unit();
        lens(
            studio,
            (
                tip + (edge - tip) * t,
                line + s * (0.07 + 0.08 * t) + s * seed.range(-0.01, 0.012),
            ),
            s * seed.range(0.02, 0.06),
            s * 0.005,
            &Ink::flat(hex(0xFFFFFF)).faint(0.6),
        );
    }
    let tone = cast::colour(&actor, seed);
    let tall = (s * cast::height(Subject::Lighthouse) * actor.size).min((line - s * 0.085) * 0.84);
    cast::draw(
        studio,
        Subject::Lighthouse,
        Stand::at(x, line - s * 0.060 + tall * 0.13, tall).flipped(!right),
        tone,
        seed,
    );
}

/// The near shore: sand at the sea, grass and reeds inland.
pub fn bank(studio: &mut Studio<'_>, inland: bool, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let key = seed.bits() as u32;
    let base = h - s * if inland { 0.13 } else { 0.19 };
    let sand = hex(0xE8CFA0).to(studio.palette.ground[0], 0.08).to(
        studio.palette.dark,
        if studio.plan.time == Time::Night {
            0.5
        } else {
            0.08
        },
    );
    let [bright, shade] = if inland {
        studio.palette.ground
    } else {
        [sand, sand.lift(-0.14)]
    };
    let line = |x: f32| base - s * 0.07 * (rough(key, x / s * 0.9) - 0.4);
    if !inland {
        let foam = Ink::ramp(
            Ramp::with_opacity(&[(hex(0xFFFFFF), 0.0), (hex(0xFFFFFF), 0.85)]),
            Along::Line((0.0, base - s * 0.06), (0.0, base)),
        );
        bank::fill(
            studio,
            |x| line(x) - s * 0.016 - s * 0.012 * rough(key ^ 3, x / s * 6.0),
            base + s * 0.06,
            &foam.faint(0.8),
        );
    }
    let ink = Ink::down(
        &[bright.to(shade, 0.25), shade, shade.lift(-0.10)],
        base - s * 0.05,
        h + s * 0.02,
    )
    .stippled(0.55);
    let ink = ink.lit(studio.rim((0.0, -1.0), s * 0.012, 0.5));
    bank::fill(studio, line, h + s, &ink);
    if !inland {
        return;
    }
    let stage = studio.stage_x();
    for _ in 0..(w / s * 46.0) as usize {
        let x = seed.unit() * w;
        let away = ((x - stage).abs() / s).min(1.0);
        let tone = studio.palette.dark.to(shade, seed.range(0.1, 0.6));
        if away > 0.12 {
            flora::tuft(
                studio,
                (x, line(x) + s * seed.range(0.01, 0.10)),
                s * seed.range(0.03, 0.10) * (0.5 + away),
                tone,
                seed,
            );
        }
    }
    for _ in 0..(w / s * 12.0) as usize {
        let x = seed.unit() * w;
        if (x - stage).abs() < s * 0.26 {
            continue;
        }
        let (tall, lean) = (s * seed.range(0.12, 0.24), seed.range(-0.1, 0.1));
        let foot = (x, line(x) + s * 0.05);
        let reed = [
            foot,
            (foot.0 + lean * tall * 0.4, foot.1 - tall * 0.6),
            (foot.0 + lean * tall, foot.1 - tall),
        ];
        let tone = studio.palette.dark.to(shade, 0.25);
        studio.fill(&stroke(&reed, s * 0.004, s * 0.002), &Ink::flat(tone));
        let head = reed[2];
        studio.fill(
            &Shape::ellipse(head.0, head.1, s * 0.0055, s * 0.024),
            &Ink::flat(tone.to(hex(0x6A4428), 0.5)),
        );
    }
}
