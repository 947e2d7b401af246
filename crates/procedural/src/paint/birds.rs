//! Owl, songbird, penguin and butterfly.

use crate::colour::{Rgb, hex};
use crate::figure::{Figure, Stand};
use crate::studio::Studio;

/// An owl on a stump.
pub fn owl(studio: &mut Studio<'_>, stand: Stand, coat: Rgb) {
    let mut f = Figure::new(studio, stand);
    let (pale, dark, gold) = (coat.to(hex(0xF6E8CE), 0.7), hex(0x241C22), hex(0xF3B93A));
    let bark = hex(0x5A4238);
    f.part(
        "-26,-14 -22,-17 22,-17 26,-14 24,0 30,6! -30,6! -24,0",
        bark,
    );
    f.patch(
        "-26,-14.5 -18,-18.5 18,-18.5 26,-14.5 18,-11.5 -18,-11.5",
        bark.lift(0.16),
    );
    f.part("0,-100 14,-98 23,-90 27,-74 28,-52 23,-32 12,-19 0,-14 -12,-19 -23,-32 -28,-52 -27,-74 -23,-90 -14,-98", coat);
    f.part("-8,-22 0,-2 8,-22", coat.lift(-0.08));
    f.patch(
        "0,-68 12,-64 17,-50 14,-34 6,-24 0,-21 -6,-24 -14,-34 -17,-50 -12,-64",
        pale,
    );
    for row in 0..5 {
        let y = -58.0 + row as f32 * 8.0;
        let n = 3 - i32::from(row == 4);
        for i in -n..=n {
            let x = i as f32 * 4.6 + if row % 2 == 0 { 0.0 } else { 2.3 };
            if x.abs() < 15.0 - (row as f32 - 1.0).abs() * 2.0 {
                f.line(
                    &format!("{},{y} {x},{} {},{y}", x - 1.9, y + 3.4, x + 1.9),
                    1.0,
                    1.0,
                    coat.lift(-0.05),
                );
            }
        }
    }
    f.parts(
        "-25,-72 -29,-54 -26,-34 -18,-18! -15,-30 -16,-48 -19,-62",
        0.0,
        coat.lift(-0.07),
    );
    for y in [-50.0, -42.0, -34.0] {
        for side in [-1.0, 1.0] {
            f.line(
                &format!(
                    "{},{y} {},{} {},{}",
                    side * 26.0,
                    side * 22.0,
                    y + 4.0,
                    side * 18.0,
                    y + 3.0
                ),
                1.4,
                0.5,
                coat.lift(-0.14),
            );
        }
    }
    f.parts(
        "-22,-92 -25,-106! -14,-101 -6,-95 -12,-88",
        0.0,
        coat.lift(-0.05),
    );
    for x in [-11.0, 11.0] {
        f.oval((x, -82.0), 12.5, 12.5, pale);
        f.oval((x, -82.0), 7.4, 7.4, gold);
        f.oval((x, -82.0), 4.6, 4.6, dark);
        f.spark((x - 1.8, -84.2), 1.6, hex(0xFFFFFF));
    }
    f.pair(
        "-24,-92 -12,-96 -2,-88 0,-84! -6,-90 -14,-93",
        0.0,
        coat.lift(-0.10),
    );
    f.patch("-3.6,-79 0,-81 3.6,-79 0,-69!", hex(0xE09A3A));
    for x in [-8.0, 8.0] {
        for toe in [-2.6, 0.0, 2.6] {
            f.line(
                &format!(
                    "{},-19 {},-14 {},-12",
                    x + toe * 0.5,
                    x + toe,
                    x + toe * 1.2
                ),
                2.4,
                1.2,
                hex(0xE0A046),
            );
        }
    }
}

/// A songbird on a branch.
pub fn songbird(studio: &mut Studio<'_>, stand: Stand, coat: Rgb) {
    let dark_branch = studio.palette.dark.to(hex(0x5A4238), 0.5);
    let leaf = studio.palette.range[1];
    let snowy = studio.plan.is_snowy();
    let mut f = Figure::new(studio, stand);
    let (dark, pale) = (hex(0x241C22), hex(0xFBF1DF));
    let breast = hex(0xE8843C).to(coat, 0.35);
    f.line(
        "-110,14 -70,4 -20,-4 30,-2 70,-10 108,-26",
        9.0,
        3.0,
        dark_branch,
    );
    f.line("34,-3 52,8 74,12", 4.0, 1.0, dark_branch);
    for (x, y, s) in [
        (74.0, 12.0, 1.0),
        (60.0, 8.0, -1.0),
        (88.0, -17.0, 1.0),
        (-74.0, 4.0, -1.0),
        (-92.0, 10.0, 1.0),
    ] {
        let (a, b) = (x + 13.0, y - 5.0 * s);
        if !snowy {
            f.patch(
                &format!(
                    "{x},{y}! {},{} {a},{b}! {},{}",
                    x + 6.0,
                    y - 8.0 * s,
                    x + 8.0,
                    y + 1.0 * s
                ),
                leaf,
            );
        }
    }
    if snowy {
        f.patch("-100,7 -70,-1 -40,-5 -26,-6 -30,-11 -60,-9 -90,0", pale);
        f.patch("24,-6 50,-9 84,-19 100,-26 86,-24 54,-16 34,-11", pale);
    }
    f.part(
        "10,-24 30,-14 56,2 62,8! 52,12! 34,2 14,-10",
        coat.lift(-0.12),
    );
    f.part("-33,-62! -27,-66 -24,-73 -15,-80 -3,-80 8,-74 15,-62 24,-46 34,-26 28,-12 12,-6 -4,-6 -16,-14 -23,-28 -26,-44 -26,-56", coat);
    f.patch(
        "-25,-62 -18,-60 -13,-50 -6,-38 0,-24 4,-10 -4,-6.6 -16,-14.4 -23,-28 -26,-44",
        breast,
    );
    f.patch("-12,-16 0,-20 10,-8 0,-6 -8,-8", pale);
    f.part(
        "2,-52 14,-52 26,-38 36,-18 44,-2! 28,-8 12,-16 3,-32",
        coat.lift(-0.08),
    );
    f.line("10,-36 20,-24 34,-8", 1.4, 0.5, coat.lift(-0.2));
    f.line("9,-28 16,-20 27,-9", 1.4, 0.5, coat.lift(-0.2));
    f.patch("-26,-69 -38,-63 -42,-61! -36,-59.6 -26,-60", hex(0xE9A23A));
    f.oval((-15.0, -69.0), 2.9, 2.9, dark);
    f.spark((-16.0, -70.0), 1.0, pale);
    for x in [-4.0, 6.0] {
        f.line(
            &format!("{x},-8 {},-3 {},0", x - 1.0, x - 3.0),
            2.0,
            1.4,
            hex(0xC98A3A),
        );
    }
}

/// A penguin.
pub fn penguin(studio: &mut Studio<'_>, stand: Stand, coat: Rgb) {
    let shadow = studio.palette.ground[1].lift(-0.12);
    let mut f = Figure::new(studio, stand);
    let (white, orange, dark) = (hex(0xFAF6EE), hex(0xF0962E), hex(0x1C1A22));
    f.shadow(30.0, shadow);
    f.pair("-20,1 -17,-5 -8,-6 -2,-1 -6,2 -16,2.5", 0.0, orange);
    f.parts(
        "-20,-64 -30,-48 -36,-28 -33,-22! -26,-30 -20,-42",
        0.0,
        coat.lift(-0.04),
    );
    f.part("0,-100 11,-98 18,-90 20,-78 23,-62 27,-40 25,-18 16,-3 0,-1 -16,-3 -25,-18 -27,-40 -23,-62 -20,-78 -18,-90 -11,-98", coat);
    f.patch(
        "0,-70 9,-68 16,-54 19,-36 17,-16 10,-5 0,-3.5 -10,-5 -17,-16 -19,-36 -16,-54 -9,-68",
        white,
    );
    f.pair(
        "0,-92! -6,-95 -13,-90 -14,-80 -8,-73 0,-70 0,-78",
        0.0,
        white,
    );
    f.patch("-12,-70 0,-66 12,-70 10,-63 0,-60 -10,-63", hex(0xF4C24A));
    for x in [-7.4, 7.4] {
        f.oval((x, -84.0), 2.4, 2.8, dark);
        f.spark((x - 0.7, -85.2), 0.8, white);
    }
    f.patch("-4.6,-79 0,-82 4.6,-79 0,-73.4!", orange);
}

/// A butterfly, seen from above.
pub fn butterfly(studio: &mut Studio<'_>, stand: Stand, wing: Rgb) {
    let mut f = Figure::new(studio, stand);
    let (dark, pale) = (hex(0x2A1D24), hex(0xFDF3DC));
    let second = wing.turn(0.7).lift(0.06);
    f.parts(
        "-3,-46 -14,-34 -30,-26 -38,-12 -32,2 -20,4 -10,-8 -4,-24 -2,-40",
        0.0,
        dark.to(wing, 0.25),
    );
    f.pair(
        "-5,-42 -14,-32 -28,-24 -34,-12 -29,-2 -20,-1 -12,-11 -6,-26",
        0.0,
        second,
    );
    f.parts(
        "-2,-54 -10,-72 -28,-92 -48,-96 -54,-84 -50,-64 -38,-48 -22,-40 -4,-42",
        0.0,
        dark.to(wing, 0.25),
    );
    f.pair(
        "-5,-52 -12,-70 -28,-86 -44,-90 -48,-80 -44,-64 -34,-52 -20,-45",
        0.0,
        wing,
    );
    f.pair(
        "-9,-54 -16,-66 -28,-76 -34,-72 -30,-60 -20,-52",
        0.0,
        wing.lift(0.12),
    );
    for (x, y, r) in [
        (-47.0, -88.0, 2.0),
        (-50.0, -79.0, 1.7),
        (-47.0, -70.0, 1.5),
        (-33.0, -10.0, 1.8),
        (-29.0, -2.0, 1.6),
    ] {
        f.spark((x, y), r, pale);
        f.spark((-x, y), r, pale);
    }
    f.part(
        "0,-62 2.6,-56 3,-42 2,-22 0,-12 -2,-22 -3,-42 -2.6,-56",
        dark,
    );
    f.line("-1,-61 -8,-76 -14,-82", 0.9, 0.6, dark);
    f.line("1,-61 8,-76 14,-82", 0.9, 0.6, dark);
}
