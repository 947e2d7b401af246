//! The sea bed: weed and corals.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke, trace};
use crate::studio::Studio;

const CORALS: [u32; 5] = [0xF0705A, 0xE88AB0, 0xF2A84A, 0x9A6AC8, 0x4AB8A0];

/// Plants weed and corals along a bank; bank 1 is nearer than bank 0.
pub fn paint(studio: &mut Studio<'_>, base: f32, bank: usize, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let near = bank as f32;
    let count = (w / s * 12.0) as usize;
    for i in 0..count {
        let x = (i as f32 + seed.unit()) / count as f32 * w;
        let foot = (x, base + s * seed.range(0.0, 0.05));
        let size = s * (0.06 + 0.06 * near) * seed.range(0.6, 1.3);
        let colour = hex(CORALS[seed.below(5)])
            .to(studio.palette.sky[1], 0.45 - 0.2 * near)
            .lift(-0.06);
        match seed.below(3) {
            0 if (x - studio.stage_x()).abs() > s * 0.12 => weed(studio, foot, size, near, seed),
            1 => fan(studio, foot, size, colour, seed),
            _ => {
                let mut lumps = Shape::default();
                for _ in 0..6 {
                    let x = foot.0 + size * seed.range(-0.6, 0.6);
                    let y = foot.1 - size * seed.range(0.0, 0.4);
                    lumps.add(Shape::ellipse(x, y, size * 0.28, size * 0.26));
                }
                studio.solid(&lumps, colour, size * 0.12, 0.8);
            }
        }
    }
}

fn weed(studio: &mut Studio<'_>, foot: Point, size: f32, near: f32, seed: &mut Seed) {
    let colour = studio.palette.range[2].to(hex(0x2F8A6A), 0.4 * near + 0.2);
    for k in 0..4 {
        let (lean, tall) = (seed.range(-0.25, 0.25), size * seed.range(1.6, 3.2));
        let k = k as f32;
        let blade = trace(12, |t| {
            let sway = tall * (lean * t + 0.07 * sin(t * 9.0 + k));
            (foot.0 + size * 0.2 * (k - 1.5) + sway, foot.1 - tall * t)
        });
        let shape = stroke(&blade, size * 0.20, size * 0.03);
        studio.wash(shape, colour.lift(0.03 * k), 1.0);
    }
}

/// A coral that forks.
fn fan(studio: &mut Studio<'_>, foot: Point, size: f32, colour: Rgb, seed: &mut Seed) {
    let mut open = vec![(foot, -TURN / 4.0, size * 0.42, size * 0.16, 0)];
    let mut shape = Shape::default();
    while let Some((from, angle, length, width, depth)) = open.pop() {
        let to = (from.0 + length * cos(angle), from.1 + length * sin(angle));
        shape.add(stroke(&[from, to], width, width * 0.8));
        shape.add(Shape::circle(to, width * 0.42));
        for side in [-1.0, 1.0] {
            if depth < 4 {
                let next = angle + side * seed.range(0.25, 0.5);
                open.push((to, next, length * 0.76, width * 0.76, depth + 1));
            }
        }
    }
    studio.solid(&shape, colour, size * 0.05, 0.8);
}
