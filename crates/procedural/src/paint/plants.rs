//! Flowers and mushrooms, near enough to be looked at.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::figure::{Figure, Stand};
use crate::seed::Seed;
use crate::studio::Studio;

/// A single flower on its stalk; `kind` 0 is a tulip, 1 a daisy, 2 a poppy.
pub fn flower(studio: &mut Studio<'_>, stand: Stand, petal: Rgb, kind: usize) {
    let stalk = studio.palette.range[1].tint(hex(0x4E9A4A), 0.5).lift(-0.03);
    let mut f = Figure::new(studio, stand);
    f.line("0,0 2,-30 -1,-56 0,-76", 2.6, 2.0, stalk);
    f.part("0,-8 -10,-20 -22,-40 -26,-54! -12,-40 -3,-22", stalk);
    f.part("1,-4 12,-16 20,-32 22,-46! 11,-34 3,-18", stalk.lift(-0.05));
    match kind {
        0 => {
            f.part(
                "-4,-74 -15,-80 -17,-94 -13,-108! -4,-98 2,-86",
                petal.lift(-0.06),
            );
            f.part(
                "4,-74 15,-80 17,-94 13,-108! 4,-98 -2,-86",
                petal.lift(-0.06),
            );
            f.part("0,-73 9,-78 11,-92 0,-110! -11,-92 -9,-78", petal);
        }
        1 => {
            for i in 0..12 {
                let a = TURN * i as f32 / 12.0;
                let p = |d: f32, w: f32| {
                    format!(
                        "{},{}",
                        d * cos(a) - w * sin(a),
                        -88.0 + d * sin(a) + w * cos(a)
                    )
                };
                f.patch(
                    &format!(
                        "{} {} {} {} {}",
                        p(3.0, -2.0),
                        p(14.0, -4.4),
                        p(21.0, 0.0),
                        p(14.0, 4.4),
                        p(3.0, 2.0)
                    ),
                    petal,
                );
            }
            f.oval((0.0, -88.0), 7.0, 7.0, hex(0xF0B432));
            f.oval((1.0, -87.0), 4.0, 4.0, hex(0xC98A24));
        }
        _ => {
            f.part(
                "-2,-76 -20,-80 -26,-94 -16,-106 -2,-102 4,-88",
                petal.lift(-0.05),
            );
            f.part(
                "2,-76 20,-80 26,-94 16,-106 2,-102 -4,-88",
                petal.lift(-0.03),
            );
            f.part(
                "0,-72 14,-77 19,-88 10,-98 0,-94 -10,-98 -19,-88 -14,-77",
                petal,
            );
            f.oval((0.0, -88.0), 4.6, 3.6, hex(0x2A2028));
        }
    }
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
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let kind = seed.below(3);
    let rows = 9;
    let stalk = studio.palette.range[1].tint(hex(0x4E9A4A), 0.4).lift(-0.05);
    for row in 0..rows {
        let t = row as f32 / (rows - 1) as f32;
        let size = s * (0.012 + 0.075 * t * t);
        let y = top + (bottom - top) * t;
        let count = (w / size * 0.55 * density) as usize;
        for i in 0..count.min(600) {
            let x = (i as f32 + seed.unit()) / count as f32 * w;
            let foot = y + s * 0.03 * seed.unit() * (0.3 + t);
            let tone = petal
                .turn(seed.range(-0.25, 0.25))
                .lift(seed.range(-0.08, 0.08));
            if size > s * 0.03 {
                flower(
                    studio,
                    Stand::at(x, foot, size * seed.range(0.8, 1.25))
                        .leaning(seed.range(-0.18, 0.18))
                        .far(0.35 * (1.0 - t)),
                    tone,
                    kind,
                );
            } else {
                let colour = studio.palette.seen(tone, 0.45 * (1.0 - t));
                studio
                    .canvas
                    .dot((x, foot - size * 0.3), size * 0.16, stalk, 0.6);
                studio
                    .canvas
                    .dot((x, foot - size * 0.6), size * 0.30, colour, 0.95);
            }
        }
    }
}

/// A toadstool.
pub fn mushroom(studio: &mut Studio<'_>, stand: Stand, cap: Rgb) {
    let shadow = studio.palette.ground[1].lift(-0.14);
    let mut f = Figure::new(studio, stand);
    let white = hex(0xFAF2E2);
    f.shadow(30.0, shadow);
    f.part(
        "-10,-56 -11,-30 -14,-6 -10,1 11,1 15,-6 12,-30 10,-56",
        white,
    );
    f.part(
        "-16,-44 0,-40 16,-44 18,-36 8,-33 0,-35 -8,-33 -18,-36",
        white.lift(-0.06),
    );
    f.patch(
        "-38,-54 -16,-60 16,-60 38,-54 16,-48 -16,-48",
        hex(0xD8BFA0),
    );
    f.part(
        "-42,-54 -38,-74 -22,-92 0,-98 22,-92 38,-74 42,-54 20,-57 0,-58 -20,-57",
        cap,
    );
    for (x, y, rx, ry) in [
        (-20.0, -76.0, 5.4, 4.8),
        (2.0, -86.0, 6.0, 4.6),
        (20.0, -72.0, 5.4, 5.0),
        (-4.0, -67.0, 4.6, 4.0),
        (-33.0, -63.0, 3.4, 3.2),
        (33.0, -61.0, 3.2, 2.8),
        (10.0, -64.0, 2.6, 2.2),
    ] {
        f.oval((x, y), rx, ry, white);
    }
}
