//! The table of a still life: a wall in window light, wood, linen, and a lamp on tall images.

use crate::colour::{Rgb, hex};
use crate::fill::{Along, Fill, Gradient};
use crate::lexicon::Time;
use crate::seed::Seed;
use crate::shape::{Shape, stroke};
use crate::studio::Studio;

const WALLS: [u32; 5] = [0x3E6A70, 0xC98A5E, 0x6E7A5A, 0x8A4A44, 0x3A4A6E];

/// Paints wall and table. Returns the height of the table's far edge.
pub fn paint(studio: &mut Studio<'_>, seed: &mut Seed) -> f32 {
    let (w, h, s) = studio.size();
    let night = studio.plan.time == Time::Night;
    let wall = hex(WALLS[seed.below(5)]).to(studio.palette.sky[1], 0.22);
    let wall = if night { wall.lift(-0.2) } else { wall };
    let wood = hex(0xB98250)
        .to(studio.palette.ground[0], 0.12)
        .lift(if night { -0.16 } else { 0.0 });
    let edge = h - s * (0.33 + 0.05 * (h / w).clamp(1.0, 2.0));
    let beside = if studio.right { -s * 0.3 } else { w + s * 0.3 };
    studio.sun = (beside, edge - s * 0.9);
    let tones = [wall.lift(-0.08), wall, wall.lift(0.05)];
    studio.cover(&Fill::down(&tones, 0.0, edge).stippled(0.35));
    window_light(studio, wall, edge);
    let fill = Fill::down(&[wood.lift(0.06), wood, wood.lift(-0.14)], edge, h)
        .stippled(0.5)
        .lit(studio.rim((0.0, -1.0), s * 0.02, 0.5));
    studio.fill(&Shape::rect(-10.0, edge, w + 20.0, h), &fill);
    for i in 0..16 {
        let y = edge + s * 0.02 + (h - edge) * i as f32 / 16.0;
        let (x, long) = (seed.unit() * w, s * seed.range(0.1, 0.6));
        let vein = Shape::rect(x, y, long, s * 0.0022);
        studio.wash(vein, wood.lift(-0.12), 0.5);
    }
    if edge > s * 1.6 {
        lamp(studio, edge - s * 1.15);
    }
    cloth(studio, edge, seed);
    edge
}

/// The slanted light of a window on the wall.
fn window_light(studio: &mut Studio<'_>, wall: Rgb, edge: f32) {
    let (w, _, s) = studio.size();
    let bright = wall.to(hex(0xFFE9B8), 0.55);
    let side = studio.side();
    let left = w / 2.0 - side * s * 0.28;
    let rows = ((edge / s - 0.1) / 0.215).clamp(3.0, 7.0) as usize;
    let (wide, tall, slant) = (side * s * 0.225, s * 0.19, s * 0.075);
    for pane in 0..2 * rows {
        let x = left + side * s * (0.25 * (pane / rows) as f32);
        let y = edge - s * (0.075 + 0.215 * (rows - pane % rows) as f32);
        let lower = |px: f32| y + slant * ((px - left) * side / (s * 0.25));
        let (near, far) = (lower(x), lower(x + wide));
        let upper = [(x, near), (x + wide, far)];
        let pane = [upper[0], upper[1], (x + wide, far + tall), (x, near + tall)];
        studio.wash(Shape::polygon(pane.to_vec()), bright, 0.42);
    }
    let middle = (w / 2.0, edge - s * 0.3);
    studio.glow(middle, s * 0.6, hex(0xFFE2A8), 0.16);
}

/// A lamp on a long cord, for tall images.
fn lamp(studio: &mut Studio<'_>, y: f32) {
    let (s, x) = (studio.short(), studio.w() / 2.0);
    let (metal, warm) = (hex(0x2C3034), hex(0xFFD993));
    let trapeze = |top: f32, half: f32, bottom: f32, wide: f32| {
        let upper = [(x - half, top), (x + half, top)];
        let lower = [(x + wide, bottom), (x - wide, bottom)];
        Shape::polygon([upper, lower].concat())
    };
    let fade = Gradient::fade(warm, &[0.30, 0.12, 0.0]);
    let fill = Fill::gradient(fade, Along::Line((0.0, y), (0.0, y + s * 1.1))).stippled(0.2);
    studio.fill(&trapeze(y, s * 0.16, y + s * 1.1, s * 0.46), &fill);
    studio.wash(Shape::rect(x - s * 0.004, 0.0, s * 0.008, y), metal, 1.0);
    studio.glow((x, y), s * 0.4, warm, 0.7);
    studio.wash(Shape::circle((x, y), s * 0.05), hex(0xFFF3D0), 1.0);
    let shade = trapeze(y - s * 0.15, s * 0.03, y, s * 0.17);
    studio.solid(&shade, hex(0xB8492E), s * 0.02, 1.0);
}

fn cloth(studio: &mut Studio<'_>, edge: f32, seed: &mut Seed) {
    let (s, x) = (studio.short(), studio.w() / 2.0);
    let linen = hex(0xF4ECDC).to(studio.palette.accent, 0.06 + 0.1 * seed.unit());
    let side = studio.side();
    let p = |(dx, dy): (f32, f32)| (x + side * dx * s, edge + dy * s);
    let spread = [
        (-0.38, 0.075),
        (-0.10, 0.045),
        (0.30, 0.06),
        (0.36, 0.12),
        (0.22, 0.17),
        (0.06, 0.19),
        (-0.16, 0.185),
        (-0.30, 0.15),
    ];
    let fill = Fill::down(&[linen, linen.lift(-0.08)], edge, edge + s * 0.2).stippled(0.5);
    let fill = studio.modelled(fill, (x, edge), s * 0.01, 0.7);
    studio.fill(&Shape::polygon(spread.map(p).to_vec()), &fill);
    for fold in [
        [(-0.28, 0.10), (-0.06, 0.18)],
        [(0.05, 0.06), (0.16, 0.17)],
        [(0.24, 0.075), (0.27, 0.14)],
    ] {
        let fold = stroke(&fold.map(p), s * 0.003, s * 0.012);
        studio.wash(fold, linen.lift(-0.13), 0.55);
    }
}
