//! Portraits: a head and shoulders before a disc and leaves, as on a poster.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::figure::{Figure, Stand};
use crate::ink::Ink;
use crate::seed::Seed;
use crate::shape::{Shape, curve, stroke};
use crate::studio::{Studio, noise};

use super::{cast, sky};

/// Paints a portrait.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(58);
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let [top, middle, low] = studio.palette.sky;
    studio.canvas.fill(
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
    studio
        .canvas
        .glow(centre, s * 0.75, studio.palette.disc, 0.4);
    studio.canvas.fill(
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
    bust(
        studio,
        Stand::at(x, foot + s * 0.02, s * 0.88).flipped(studio.right),
        coat,
        skin,
        hair,
        long,
    );
    leaves_front(studio, x, foot, &mut seed);
    garland(studio, x, foot - s * 1.05, &mut seed);
}

/// Leaves along the rest of a long picture: up both sides of a tall one, along the foot of a wide one.
fn garland(studio: &mut Studio<'_>, x: f32, top: f32, seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let mut spots = Vec::new();
    if h > 1.5 * w {
        for (side, key) in [(0.0, 1), (w, 2)] {
            let lean = |y: f32| (noise(key, y / s * 2.2) - 0.5) * s * 0.07;
            let vine: Vec<_> = (0..=80)
                .map(|k| top * k as f32 / 80.0)
                .map(|y| (side + lean(y), y))
                .collect();
            let tone = studio.palette.range[2];
            studio
                .canvas
                .fill(&stroke(&vine, s * 0.010, s * 0.022), &Ink::flat(tone));
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

fn bust(studio: &mut Studio<'_>, stand: Stand, coat: Rgb, skin: Rgb, hair: Rgb, long: bool) {
    let accent = studio.palette.accent.turn(1.0);
    let dark = hex(0x2A1E22);
    let mut f = Figure::new(studio, stand);
    let shade = skin.lift(-0.12).tint(hex(0xB0503A), 0.35);
    let lips = hex(0xB8443E).to(skin, 0.25);
    if long {
        f.part("0,-97 16,-95 26,-84 29,-68 28,-52 33,-36 34,-20 24,-14 -24,-14 -34,-20 -33,-36 -28,-52 -29,-68 -26,-84 -16,-95", hair.lift(-0.04));
    } else {
        f.part(
            "0,-97 15,-95 24,-86 27,-72 24,-58 0,-52 -24,-58 -27,-72 -24,-86 -15,-95",
            hair.lift(-0.04),
        );
    }
    f.part(
        "-9,-44 -9.6,-32 -16,-25 -10,-14 10,-14 16,-25 9.6,-32 9,-44",
        skin,
    );
    f.veil(
        "-9,-46! 9,-46! 9.4,-38! 5,-33 0,-31.6 -5,-33 -9.4,-38!",
        shade,
        0.75,
    );
    f.part(
        "-16,-26 -34,-21 -45,-10 -48,4! 48,4! 45,-10 34,-21 16,-26 9,-18 0,-15.5 -9,-18",
        coat,
    );
    f.patch(
        "-16,-26.4 -9,-18.6 0,-16 9,-18.6 16,-26.4 19,-24 11,-14.6 0,-11.4 -11,-14.6 -19,-24",
        coat.lift(0.09),
    );
    f.line("-24,-10 -27,0 -28,6", 0.9, 1.6, coat.lift(-0.12));
    f.line("24,-10 27,0 28,6", 0.9, 1.6, coat.lift(-0.12));
    f.pair("-20.5,-66 -24,-66 -24,-58 -20.5,-55", 0.0, skin.lift(-0.05));
    f.part("0,-91 12,-89 19,-80 20.6,-68 19,-56 13,-45.5 6,-39.6 0,-38 -6,-39.6 -13,-45.5 -19,-56 -20.6,-68 -19,-80 -12,-89", skin);
    f.veil("3,-88 14,-86 20,-76 20.4,-64 18.6,-55 12,-45 6,-40 1,-38.4 5,-46 4,-54 6.4,-60 3,-66 2.6,-74", shade, 0.32);
    f.pair(
        "-16.4,-54 -12,-56.4 -7.4,-54 -10,-50.4 -14,-50.4",
        0.0,
        skin.to(hex(0xE0604A), 0.24),
    );
    f.pair(
        "-15.6,-73 -10,-76.4 -4.2,-74! -10,-74.6",
        0.0,
        hair.lift(-0.03),
    );
    f.pair(
        "-15,-65.6! -10.6,-68.8 -5,-65.4! -10,-63.2",
        0.0,
        hex(0xFBF6EE),
    );
    for x in [-10.0, 10.0] {
        f.oval((x, -66.2), 2.5, 2.6, hex(0x4A6A5A));
        f.oval((x, -66.2), 1.3, 1.4, dark);
        f.spark((x - 0.8, -67.2), 0.6, hex(0xFFFFFF));
    }
    f.pair(
        "-15.8,-65.4! -10.6,-69.8 -4.6,-65.6! -10.6,-68.2",
        0.0,
        dark,
    );
    f.line("1.6,-66 3.2,-58 3.8,-54.6 0.6,-53.4", 0.7, 1.1, shade);
    f.patch(
        "-6,-47! -2,-49.2 0,-48.4 2,-49.2 6,-47! 2.4,-44.4 -2.4,-44.4",
        lips,
    );
    f.line("-5.6,-47 0,-46.6 5.6,-47", 0.6, 0.6, lips.lift(-0.16));
    if long {
        f.part("0,-96 -14,-94 -25,-84 -27,-68 -26,-54 -30,-38 -30,-24! -23,-30 -21,-46 -20.6,-62 -17,-72 -8,-80 4,-86!", hair);
        f.part("-2,-95 12,-95 24,-85 27,-70 26,-54 30,-38 31,-24! 24,-32 21.4,-46 21,-60 19,-70 14,-78 6,-86 -2,-90!", hair);
    } else {
        f.part("-20.4,-66 -24,-72 -24,-84 -16,-94 -2,-98 14,-96 24,-88 25,-74 20.6,-66! 19,-74 14,-80 4,-79 -8,-83 -15,-79 -18.6,-73", hair);
    }
    f.line("-12,-91 -20,-82 -23,-66", 0.7, 0.3, hair.lift(0.14));
    f.line("6,-94 16,-89 22,-78", 0.7, 0.3, hair.lift(0.14));
    for x in [-22.2, 22.2] {
        f.oval((x, -53.6), 1.7, 2.2, accent);
    }
}

/// A wreath of large leaves behind the shoulders.
fn leaves(studio: &mut Studio<'_>, centre: (f32, f32), seed: &mut Seed) {
    let s = studio.canvas.short();
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
    let s = studio.canvas.short();
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
    studio
        .canvas
        .fill(&rib, &Ink::flat(tone.lift(0.12)).faint(0.8));
}
