//! Portraits: a head and shoulders before a disc and leaves, as on a poster.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::figure::{Figure, Stand, drawing};
use crate::ink::Ink;
use crate::seed::Seed;
use crate::shape::{Shape, curve, stroke};
use crate::studio::{Studio, noise};
use crate::swatches::Swatches;

use super::{cast, sky};

/// Paints a portrait.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(58);
    let (w, h, s) = studio.size();
    let [top, middle, low] = studio.palette.sky;
    studio.fill(
        &Shape::rect(0.0, 0.0, w, h),
        &Ink::down(&[top, middle, low], 0.0, h).stippled(0.2),
    );
    let x = if w > h * 1.4 {
        studio.stage_x()
    } else {
        w / 2.0
    };
    let foot = h;
    studio.sun = (x + if studio.right { -s } else { s }, foot - s * 1.25);
    let disc = studio.palette.disc.to(studio.palette.accent, 0.18);
    let centre = (x, foot - s * 0.58);
    studio.glow(centre, s * 0.75, studio.palette.disc, 0.4);
    studio.fill(
        &Shape::ellipse(centre.0, centre.1, s * 0.385, s * 0.385),
        &Ink::down(
            &[disc, disc.to(low, 0.35)],
            centre.1 - s * 0.4,
            centre.1 + s * 0.4,
        )
        .stippled(0.4),
    );
    sky::stars(studio, 0.25);
    leaves(studio, (x, foot - s * 0.3), &mut seed);
    let said = studio.plan.actors.first().copied();
    let coat = said.map_or(studio.palette.accent, |a| cast::colour(&a, &mut seed));
    let skins = [0xF3D2B4, 0xE2B088, 0xC68A5E, 0x9A6440, 0x6E452E];
    let hairs = [0x2A1E20, 0x5A3424, 0x8A4A26, 0xC98A44, 0xA83A22, 0x3A3440];
    let (skin, hair) = (hex(skins[seed.below(5)]), hex(hairs[seed.below(6)]));
    let long = seed.chance(0.6);
    let swatches = Swatches::of(studio, coat)
        .with("skin", skin)
        .with("hair", hair)
        .when(if long { "long" } else { "short" });
    let stand = Stand::at(x, foot + s * 0.02, s * 0.88).flipped(studio.right);
    Figure::new(studio, stand).draw(drawing!("bust"), &swatches);
    leaves_front(studio, x, foot, &mut seed);
    garland(studio, x, foot - s * 1.05, &mut seed);
}

/// Leaves along the rest of a long picture: up both sides of a tall one, along the foot of a wide one.
fn garland(studio: &mut Studio<'_>, x: f32, top: f32, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let mut spots = Vec::new();
    if h > 1.5 * w {
        for (side, key) in [(0.0, 1), (w, 2)] {
            let lean = |y: f32| (noise(key, y / s * 2.2) - 0.5) * s * 0.07;
            let vine: Vec<_> = (0..=80)
                .map(|k| top * k as f32 / 80.0)
                .map(|y| (side + lean(y), y))
                .collect();
            let tone = studio.palette.range[2];
            studio.fill(&stroke(&vine, s * 0.010, s * 0.022), &Ink::flat(tone));
        }
        let count = (top / (s * 0.075)) as usize;
        for i in 0..count {
            let y = top - top * (i as f32 + 0.5) / count as f32;
            let left = i % 2 == 0;
            let lean = seed.range(-0.9, 0.2);
            spots.push((
                (if left { 0.0 } else { w }, y),
                if left { lean } else { TURN / 2.0 - lean },
            ));
        }
    } else if w > 1.3 * h {
        let count = (w / (s * 0.055)) as usize;
        for i in 0..count {
            let at = w * (i as f32 + 0.5) / count as f32;
            if (at - x).abs() > s * 0.5 {
                spots.push(((at, h + s * 0.02), -TURN / 4.0 + seed.range(-0.6, 0.6)));
            }
        }
    }
    for (at, angle) in spots {
        let far = seed.unit();
        let tone = studio.palette.range[2].to(studio.palette.range[1], far);
        leaf(studio, at, angle, s * seed.range(0.16, 0.34), tone);
    }
}

/// A wreath of large leaves behind the shoulders.
fn leaves(studio: &mut Studio<'_>, centre: (f32, f32), seed: &mut Seed) {
    let s = studio.short();
    let tones = [
        studio.palette.range[1],
        studio.palette.range[2],
        studio.palette.range[1].to(studio.palette.accent, 0.3),
    ];
    for i in 0..40 {
        let a = -TURN / 2.0 * (i as f32 + 0.5) / 40.0 + seed.range(-0.1, 0.1);
        let from = s * seed.range(0.16, 0.34);
        let long = s * seed.range(0.14, 0.26);
        leaf(
            studio,
            (centre.0 + from * 1.1 * cos(a), centre.1 + from * sin(a)),
            a + seed.range(-0.35, 0.35),
            long,
            tones[seed.below(3)],
        );
    }
}

fn leaves_front(studio: &mut Studio<'_>, x: f32, foot: f32, seed: &mut Seed) {
    let s = studio.short();
    for side in [-1.0, 1.0] {
        for i in 0..6 {
            let at = (x + side * s * (0.30 + 0.05 * i as f32), foot + s * 0.03);
            let a = -TURN / 4.0 + side * seed.range(-0.5, 0.6);
            let tone = studio
                .palette
                .dark
                .to(studio.palette.range[2], seed.range(0.3, 0.9));
            leaf(studio, at, a, s * seed.range(0.14, 0.28), tone);
        }
    }
}

/// One pointed leaf with its rib.
fn leaf(studio: &mut Studio<'_>, at: (f32, f32), angle: f32, long: f32, tone: Rgb) {
    let (c, sn) = (cos(angle), sin(angle));
    let place = |(x, y): (f32, f32)| {
        (
            at.0 + long * (x * c - y * sn),
            at.1 + long * (x * sn + y * c),
        )
    };
    let outline = [
        ((0.0, 0.0), true),
        ((0.3, -0.17), false),
        ((0.65, -0.15), false),
        ((1.0, 0.0), true),
        ((0.65, 0.13), false),
        ((0.3, 0.15), false),
    ];
    let points = curve(&outline, true, 10).into_iter().map(place).collect();
    studio.solid(&Shape::polygon(points), tone, long * 0.05, 0.8);
    let rib = stroke(
        &[place((0.02, 0.0)), place((0.92, 0.0))],
        long * 0.016,
        long * 0.004,
    );
    studio.fill(&rib, &Ink::flat(tone.lift(0.12)).faint(0.8));
}
