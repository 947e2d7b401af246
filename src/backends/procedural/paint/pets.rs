//! Cat, dog and rabbit, sitting and looking at the viewer.

use crate::backends::procedural::colour::{Rgb, hex};
use crate::backends::procedural::figure::{Figure, Stand};
use crate::backends::procedural::studio::Studio;

/// A cat with its tail around it.
pub fn cat(studio: &mut Studio<'_>, stand: Stand, coat: Rgb) {
    let shadow = studio.palette.ground[1].lift(-0.12);
    let mut f = Figure::new(studio, stand);
    let (white, dark) = (hex(0xF8F2E8), hex(0x241C22));
    let stripe = if coat.lightness() > 0.42 {
        coat.lift(-0.14)
    } else {
        coat.lift(0.07)
    };
    f.shadow(34.0, shadow);
    f.line("12,-6 28,-4 42,-7 49,-18 47,-31 40,-36", 11.0, 7.0, coat);
    f.line("46.5,-33 44,-36 40,-36", 7.6, 7.0, stripe);
    f.part(
        "-11,-62 -17,-46 -21,-26 -23,-10 -18,0 19,0 25,-9 23,-26 17,-46 11,-62",
        coat,
    );
    f.veil("23,-10 21,-26 14,-34 8,-26 8,-10 13,-1 21,-1", stripe, 0.6);
    for y in [-44.0, -36.0, -28.0] {
        let text = format!(
            "{},{y} {},{} {},{}",
            17.0 - (y + 44.0) * -0.3,
            12.0,
            y + 2.0,
            10.0,
            y + 5.0
        );
        f.line(&text, 2.6, 0.4, stripe);
    }
    f.patch("-8,-60 -9,-46 -6,-34 0,-29 6,-34 9,-46 8,-60", white);
    f.parts(
        "-11,-40 -12,-20 -13,-6 -11,0 -1.5,0 -1.5,-20 -1,-38",
        0.0,
        coat,
    );
    f.pair(
        "-12.6,-7 -12.6,-1 -10,0.5 -2,0.5 -1,-3 -2,-7 -7,-8.5",
        0.0,
        white,
    );
    f.parts(
        "-23,-74 -25,-94 -23,-106! -13,-98 -4,-90 -10,-76",
        0.0,
        coat,
    );
    f.pair(
        "-19.5,-86 -21,-96 -20.5,-100! -14,-95 -10,-90",
        0.0,
        hex(0xE8A6A0).to(coat, 0.25),
    );
    f.part("0,-93 11,-92 20,-86 25,-76 27,-67! 22,-61 11,-55 0,-53.5 -11,-55 -22,-61 -27,-67! -25,-76 -20,-86 -11,-92", coat);
    for x in [-5.0, 0.0, 5.0] {
        f.line(
            &format!("{x},-91.5 {},-86 {},-82", x * 0.9, x * 0.75),
            2.6,
            0.5,
            stripe,
        );
    }
    f.pair("-26,-72 -20,-71 -16,-69.5! -20,-69 -26.5,-68", 0.0, stripe);
    f.pair("0,-67 -4,-66 -9,-61 -7,-56 0,-54", 0.0, white);
    f.pair(
        "-17,-74! -13.5,-79 -8.5,-78 -5.5,-73! -9,-70.5 -13.5,-70.5",
        0.0,
        hex(0xBFD05A),
    );
    for x in [-11.2, 11.2] {
        f.oval((x, -74.6), 1.9, 3.9, dark);
        f.spark((x - 1.2, -76.2), 0.9, white);
    }
    f.pair("-2.6,-65.5! 0,-66 0,-62.5! -1.5,-63.5", 0.0, hex(0xD9868A));
    f.line("0,-63 0,-60.5 -2.5,-58.6 -5,-59.4", 0.7, 0.5, dark);
    f.line("0,-63 0,-60.5 2.5,-58.6 5,-59.4", 0.7, 0.5, dark);
    for (y, tip) in [(-62.0, -64.0), (-60.5, -59.0)] {
        f.line(
            &format!("-8,{y} -20,{} -33,{tip}", (y + tip) / 2.0 + 0.8),
            0.7,
            0.2,
            white,
        );
        f.line(
            &format!("8,{y} 20,{} 33,{tip}", (y + tip) / 2.0 + 0.8),
            0.7,
            0.2,
            white,
        );
    }
}

/// A dog with a collar.
pub fn dog(studio: &mut Studio<'_>, stand: Stand, coat: Rgb) {
    let shadow = studio.palette.ground[1].lift(-0.12);
    let accent = studio.palette.accent;
    let mut f = Figure::new(studio, stand);
    let (white, dark) = (hex(0xFAF3E6), hex(0x2A2022));
    let deep = coat.lift(-0.13);
    f.shadow(34.0, shadow);
    f.line("14,-8 28,-12 37,-24 38,-38", 9.0, 4.0, coat);
    f.part(
        "-12,-62 -18,-48 -20,-30 -19,-10 -15,0 17,0 25,-6 25,-20 19,-44 12,-62",
        coat,
    );
    f.veil("24,-10 22,-24 15,-31 9,-22 9,-8 13,-1 22,-1", deep, 0.55);
    f.patch("-9,-60 -11,-46 -8,-32 0,-25 8,-32 11,-46 9,-60", white);
    f.parts(
        "-13,-42 -13,-20 -14.5,-4 -12,0 -2.5,0 -2,-20 -2,-40",
        0.0,
        coat,
    );
    f.pair(
        "-14,-8 -14.6,-2 -12,0.4 -3,0.4 -2,-4 -3,-9 -8,-10",
        0.0,
        white,
    );
    f.patch(
        "-13,-58 -7,-54 0,-52.5 7,-54 13,-58 12.5,-53.5 6,-49.5 0,-48.5 -6,-49.5 -12.5,-53.5",
        accent,
    );
    f.oval((0.0, -47.0), 2.6, 2.8, hex(0xE9C25A));
    f.part("0,-95 10,-94 18,-88 21,-77 19,-67 12,-58 5,-52.5 0,-51.5 -5,-52.5 -12,-58 -19,-67 -21,-77 -18,-88 -10,-94", coat);
    f.patch("0,-94 4,-92 5,-82 6,-74 10,-68 11,-60 6,-54 0,-52.5 -6,-54 -11,-60 -10,-68 -6,-74 -5,-82 -4,-92", white);
    f.parts(
        "-11,-93 -20,-92 -28,-82 -31,-68 -28,-59 -23,-58 -19,-66 -17,-78",
        0.0,
        deep,
    );
    for x in [-10.0, 10.0] {
        f.oval((x, -76.0), 3.1, 3.5, dark);
        f.spark((x - 1.0, -77.4), 1.0, white);
    }
    f.pair("-14,-82.5! -10,-84.5 -6.5,-82.6! -10,-83", 0.0, deep);
    f.patch("-5.4,-67.5 0,-69 5.4,-67.5 4.6,-64 0,-61.6 -4.6,-64", dark);
    f.spark((-1.8, -67.0), 0.9, hex(0x8A8088));
    f.patch(
        "-3.4,-57.6 3.4,-57.6 3.2,-51.5 0,-49 -3.2,-51.5",
        hex(0xE8808A),
    );
    f.line("0,-62 0,-58.6 -4,-57 -8,-58.6", 0.9, 0.6, dark);
    f.line("0,-62 0,-58.6 4,-57 8,-58.6", 0.9, 0.6, dark);
}

/// A rabbit.
pub fn rabbit(studio: &mut Studio<'_>, stand: Stand, coat: Rgb) {
    let shadow = studio.palette.ground[1].lift(-0.12);
    let mut f = Figure::new(studio, stand);
    let (white, dark) = (hex(0xFBF6EC), hex(0x2A2022));
    let pink = hex(0xE9A9A4);
    f.shadow(32.0, shadow);
    f.oval((24.0, -12.0), 8.0, 8.0, white);
    f.part(
        "-9,-46 -18,-34 -23,-16 -20,0 21,0 26,-14 20,-34 10,-46",
        coat,
    );
    f.patch("-7,-44 -10,-28 -8,-10 0,-5 8,-10 10,-28 7,-44", white);
    f.pair(
        "-26,-3 -22,-8 -12,-8 -5,-3 -6,1 -22,1",
        0.0,
        coat.lift(-0.05),
    );
    f.pair(
        "-9,-32 -10,-18 -8,-9 -3,-9 -2,-20 -3,-32",
        0.0,
        coat.lift(0.02),
    );
    f.parts(
        "-12,-70 -18,-88 -19,-106 -14,-118 -7,-112 -4,-94 -3,-74",
        0.0,
        coat,
    );
    f.pair(
        "-11,-78 -15,-92 -15.5,-105 -13,-112 -9.5,-106 -7.5,-92 -7,-78",
        0.0,
        pink,
    );
    f.part(
        "0,-80 10,-79 18,-72 22,-60 19,-50 10,-43 0,-41 -10,-43 -19,-50 -22,-60 -18,-72 -10,-79",
        coat,
    );
    f.pair("0,-56 -6,-57 -14,-52 -14,-46 -7,-42.5 0,-41.5", 0.0, white);
    for x in [-11.5, 11.5] {
        f.oval((x, -63.0), 2.9, 3.6, dark);
        f.spark((x - 1.0, -64.6), 1.0, white);
    }
    f.patch("-3,-55.5 0,-56.4 3,-55.5 0,-52", pink.lift(-0.08));
    f.line("0,-52.6 0,-50.2 -3.5,-48.4", 0.8, 0.5, dark);
    f.line("0,-52.6 0,-50.2 3.5,-48.4", 0.8, 0.5, dark);
    for side in [-1.0, 1.0] {
        f.line(
            &format!("{},-51 {},-52 {},-54", side * 8.0, side * 18.0, side * 28.0),
            0.6,
            0.2,
            white,
        );
        f.line(
            &format!(
                "{},-49 {},-48.5 {},-48",
                side * 8.0,
                side * 18.0,
                side * 27.0
            ),
            0.6,
            0.2,
            white,
        );
    }
}
