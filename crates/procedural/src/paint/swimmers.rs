//! Fish, whale, jellyfish and turtle.

use crate::colour::{Rgb, hex};
use crate::figure::{Figure, Stand};
use crate::studio::Studio;

/// A fish that swims to the left, centred on the origin.
pub fn fish(studio: &mut Studio<'_>, stand: Stand, scales: Rgb) {
    let mut f = Figure::new(studio, stand);
    let (white, dark) = (hex(0xFDF6E6), hex(0x201A26));
    let fin = scales.lift(-0.10).turn(-0.2);
    f.part("34,0 48,-12 66,-26 62,-8 58,2 62,14 64,28 46,14", fin);
    f.part("-14,-24 -2,-40 16,-42 26,-30 30,-18 14,-22", fin);
    f.patch("0,24 6,38 20,36 18,24", fin);
    f.part("-56,0! -48,-10 -34,-20 -14,-27 8,-25 26,-15 40,-5 44,0 40,5 26,14 8,24 -14,26 -34,19 -48,9", scales);
    f.patch(
        "-55,3 -46,9.4 -34,18 -14,25 8,23 26,13.4 38,5.4 20,9 0,13 -20,12 -38,6",
        white.to(scales, 0.15),
    );
    f.veil(
        "-22,-25 -16,-27 -12,-12 -13,4 -17,22 -24,22 -19,4 -18,-12",
        white,
        0.9,
    );
    f.veil(
        "10,-24 17,-21 20,-10 20,4 16,20 9,23 13,6 13,-8",
        white,
        0.9,
    );
    for (x, y) in [
        (-6.0, -12.0),
        (0.0, -4.0),
        (-7.0, 2.0),
        (4.0, -14.0),
        (1.0, 6.0),
        (26.0, -5.0),
        (30.0, 2.0),
        (24.0, 4.0),
    ] {
        f.line(
            &format!("{},{} {x},{y} {},{}", x + 2.6, y - 3.2, x + 2.6, y + 3.2),
            0.9,
            0.9,
            scales.lift(-0.12),
        );
    }
    f.patch("-18,6 -8,3 -2,12 -6,18 -14,14", fin);
    f.oval((-38.0, -5.0), 5.4, 5.4, white);
    f.oval((-39.0, -5.0), 3.2, 3.4, dark);
    f.spark((-40.0, -6.4), 1.1, white);
    f.line("-54,4 -49,5.6 -46,4", 1.0, 0.5, dark);
}

/// A whale that swims to the left, centred on the origin.
pub fn whale(studio: &mut Studio<'_>, stand: Stand, skin: Rgb) {
    let mut f = Figure::new(studio, stand);
    let (pale, dark) = (skin.to(hex(0xEAF4F2), 0.72), hex(0x101826));
    f.part(
        "66,-6 78,-14 84,-30 96,-42! 100,-28 112,-26! 102,-12 88,-4 74,4",
        skin.lift(-0.05),
    );
    f.part("8,20 20,34 34,48! 40,42 34,28 24,16", skin.lift(-0.10));
    f.part("-92,-2 -86,-18 -66,-30 -38,-36 -8,-34 22,-26 48,-16 70,-9 80,-5 76,3 58,6 34,12 10,22 -20,30 -52,30 -78,22 -90,10", skin);
    f.patch(
        "-91,6 -70,8 -44,8 -18,14 2,20 10,22 -20,29.6 -52,29.6 -78,21.6",
        pale,
    );
    for i in 0..7 {
        let y = 11.0 + i as f32 * 2.5;
        f.line(
            &format!(
                "{},{} -56,{} -18,{}",
                -85.0 + i as f32 * 3.0,
                y - 2.0,
                y + 1.0,
                y + 2.4
            ),
            0.8,
            0.4,
            skin.to(pale, 0.45),
        );
    }
    f.line("-92,4 -76,6 -58,3 -48,-2", 1.2, 0.6, dark.to(skin, 0.3));
    f.part(
        "-28,16 -18,30 -14,50 -20,58! -32,46 -40,28 -40,18",
        skin.lift(-0.06),
    );
    f.oval((-54.0, -3.5), 2.3, 2.3, dark);
    f.spark((-54.8, -4.3), 0.8, hex(0xFFFFFF));
    for (x, y, r) in [
        (-70.0, -18.0, 1.2),
        (-62.0, -22.0, 0.9),
        (-76.0, -12.0, 1.0),
        (-20.0, -24.0, 1.0),
        (-8.0, -22.0, 1.4),
        (6.0, -19.0, 0.9),
        (20.0, -15.0, 1.1),
        (36.0, -10.0, 0.9),
    ] {
        f.spark((x, y), r, pale.to(skin, 0.4));
    }
    f.veil(
        "-80,-20 -60,-31 -34,-35 -6,-32 20,-25 -8,-28 -36,-29 -60,-25",
        hex(0xFFFFFF),
        0.16,
    );
}

/// A jellyfish.
pub fn jellyfish(studio: &mut Studio<'_>, stand: Stand, bell: Rgb) {
    let mut f = Figure::new(studio, stand);
    f.glow((0.0, -60.0), 80.0, bell, 0.55);
    for i in -4..=4 {
        let (x, sway) = (i as f32 * 5.6, if i % 2 == 0 { 6.0 } else { -6.0 });
        let end = 30.0 - (i as f32).abs() * 6.0;
        f.line(
            &format!(
                "{x},-42 {},-22 {},-4 {},{end}",
                x + sway,
                x - sway,
                x + sway * 0.6
            ),
            1.9,
            0.3,
            bell.lift(0.1),
        );
    }
    for (i, x) in [(0, -8.0), (1, 0.0), (2, 8.0)] {
        let sway = if i == 1 { -5.0 } else { 5.0 };
        f.line(
            &format!("{x},-44 {},-26 {},-8 {x},12", x + sway, x - sway),
            6.0,
            1.0,
            bell.lift(0.16),
        );
    }
    f.part("0,-92 16,-89 28,-76 31,-58 30,-46 24,-42 18,-46 12,-41 6,-45 0,-41 -6,-45 -12,-41 -18,-46 -24,-42 -30,-46 -31,-58 -28,-76 -16,-89", bell);
    f.veil(
        "0,-86 12,-83 20,-72 20,-60 0,-54 -20,-60 -20,-72 -12,-83",
        bell.lift(0.16),
        0.6,
    );
    f.veil("-20,-74 -12,-84 -6,-85 -14,-74 -17,-64", hex(0xFFFFFF), 0.5);
}

/// A sea turtle that swims to the left.
pub fn turtle(studio: &mut Studio<'_>, stand: Stand, shell: Rgb) {
    let mut f = Figure::new(studio, stand);
    let (skin, dark) = (hex(0x7FAF7A).to(shell, 0.2), hex(0x18221E));
    f.part("30,10 42,14 50,24 44,28 32,22 24,16", skin.lift(-0.08));
    f.part(
        "-14,14 -10,32 2,50 12,56! 14,44 8,26 4,16",
        skin.lift(-0.06),
    );
    f.part(
        "-20,-10 -26,-34 -22,-56 -14,-62! -6,-44 -4,-24 -4,-12",
        skin,
    );
    f.part("-34,-4 -44,-12 -56,-12 -62,-4 -60,5 -50,9 -36,6", skin);
    f.oval((-54.0, -4.0), 2.2, 2.4, dark);
    f.spark((-54.8, -5.0), 0.8, hex(0xFFFFFF));
    f.part(
        "-38,2 -32,-14 -14,-26 8,-27 28,-18 42,-2 44,6 34,14 10,20 -16,18 -34,12",
        shell,
    );
    for text in [
        "-26,-4 -16,-16 -6,-14 -6,0 -16,6",
        "-2,-16 12,-18 18,-8 12,2 0,2",
        "22,-12 32,-4 34,4 24,6 17,0",
        "-14,10 -4,5 12,6 10,14 -8,15",
        "18,8 30,8 30,12 18,15",
    ] {
        f.patch(text, shell.lift(0.10));
    }
    f.line("-38,4 -20,14 10,17 42,8", 2.0, 1.4, skin.lift(0.08));
}
