//! Flowers near the viewer.

use crate::colour::{Rgb, hex};
use crate::figure::{Figure, Stand, drawing};
use crate::seed::Seed;
use crate::studio::Studio;
use crate::swatches::Swatches;

/// A single flower on its stalk. `kind` is 0 for a tulip, 1 for a daisy, 2 for a poppy.
pub fn flower(studio: &mut Studio<'_>, stand: Stand, petal: Rgb, kind: usize) {
    let drawing = match kind {
        0 => drawing!("tulip"),
        1 => drawing!("daisy"),
        _ => drawing!("poppy"),
    };
    let swatches = Swatches::of(studio, petal);
    Figure::new(studio, stand).draw(drawing, &swatches);
}

/// Many small flowers over a strip of ground, larger toward the viewer.
pub fn carpet(
    studio: &mut Studio<'_>,
    top: f32,
    bottom: f32,
    petal: Rgb,
    density: f32,
    seed: &mut Seed,
) {
    let (w, _, s) = studio.size();
    let kind = seed.below(3);
    let stalk = studio.palette.range[1].tint(hex(0x4E9A4A), 0.4).lift(-0.05);
    for row in 0..9 {
        let t = row as f32 / 8.0;
        let size = s * (0.012 + 0.075 * t * t);
        let y = top + (bottom - top) * t;
        let count = (w / size * 0.55 * density) as usize;
        for i in 0..count.min(600) {
            let x = (i as f32 + seed.unit()) / count as f32 * w;
            let foot = y + s * 0.03 * seed.unit() * (0.3 + t);
            let tone = petal
                .turn(seed.range(-0.25, 0.25))
                .lift(seed.range(-0.08, 0.08));
            let far = 1.0 - t;
            if size > s * 0.03 {
                let stand = Stand::at(x, foot, size * seed.range(0.8, 1.25))
                    .leaning(seed.range(-0.18, 0.18))
                    .far(0.35 * far);
                flower(studio, stand, tone, kind);
            } else {
                let colour = studio.palette.seen(tone, 0.45 * far);
                studio.dot((x, foot - size * 0.3), size * 0.16, stalk, 0.6);
                studio.dot((x, foot - size * 0.6), size * 0.30, colour, 0.95);
            }
        }
    }
}
