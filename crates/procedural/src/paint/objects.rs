//! The things of a still life: fruit, vessels, candle, books.

use crate::colour::{Rgb, hex};
use crate::figure::{Figure, Stand};
use crate::lexicon::Subject;
use crate::seed::Seed;
use crate::studio::Studio;

use super::plants;

/// Draws one thing; 100 units are about half the short side of a still life.
pub fn draw(studio: &mut Studio<'_>, subject: Subject, stand: Stand, tone: Rgb, seed: &mut Seed) {
    if subject == Subject::Flower {
        return bouquet(studio, stand, tone, seed);
    }
    let shade = studio.palette.dark;
    let mut f = Figure::new(studio, stand);
    let white = hex(0xFFFFFF);
    let half = match subject {
        Subject::Vase => 20.0,
        Subject::Book => 34.0,
        Subject::Candle => 12.0,
        _ => 17.0,
    };
    f.shadow(half, shade);
    match subject {
        Subject::Apple => {
            f.part(
                "0,-30 8,-33 16,-29 19,-19 16,-7 8,0 0,-1.4 -8,0 -16,-7 -19,-19 -16,-29 -8,-33",
                tone,
            );
            f.veil("-3,-31 0,-28 3,-31 1,-29.4 -1,-29.4", shade, 0.5);
            f.line("0,-30 1,-35 4,-40", 1.8, 1.2, hex(0x5A3A24));
            f.patch("2,-35 9,-42 16,-40! 10,-35", hex(0x5E9A4A));
            f.veil("-12,-25 -8,-28 -6,-24 -9,-17 -12,-18", white, 0.4);
        }
        Subject::Orange | Subject::Lemon => {
            let long = subject == Subject::Lemon;
            let text = if long {
                "-25,-13 -21,-16 -14,-25 0,-28 14,-25 20,-16 24,-13! 20,-9 13,-2 0,0 -13,-2 -20,-9"
            } else {
                "0,-34 10,-32 17,-24 18,-16 14,-5 6,-0.5 -6,-0.5 -14,-5 -18,-16 -17,-24 -10,-32"
            };
            f.part(text, tone);
            for _ in 0..12 {
                let (a, b) = (seed.range(-11.0, 11.0), seed.range(-22.0, -5.0));
                f.spark((a, b), 0.45, tone.lift(-0.10));
            }
            f.veil("-9,-25 -4,-28 -3,-25 -8,-19 -11,-20", white, 0.45);
            if !long {
                f.patch("-2,-33.6 0,-35.4 2,-33.6 0,-32.4", hex(0x5A7A3A));
                f.patch("1,-34.6 8,-41 16,-40! 9,-35", hex(0x5E9A4A));
            }
        }
        Subject::Pear => {
            f.part("0,-48 5,-46 8,-38 11,-28 18,-18 18,-7 10,0 0,-1 -10,0 -18,-7 -18,-18 -11,-28 -8,-38 -5,-46", tone);
            f.veil("18,-16 18,-7 10,0 3,-1 11,-6 14,-16", hex(0xC8623A), 0.45);
            f.line("0,-47 1,-53 5,-57", 1.9, 1.2, hex(0x5A3A24));
            f.veil("-10,-22 -6,-27 -4,-24 -7,-13 -11,-13", white, 0.4);
        }
        Subject::Cup => {
            f.part("-34,-3 -16,-7 16,-7 34,-3 20,3 -20,3", tone.lift(-0.05));
            f.line("17,-26 28,-28 30,-18 24,-11 14,-10", 4.2, 3.6, tone);
            f.part(
                "-20,-34! 20,-34! 18,-16 12,-3 6,-1 -6,-1 -12,-3 -18,-16",
                tone,
            );
            f.patch(
                "-20,-34 -12,-37.4 0,-38.2 12,-37.4 20,-34 12,-31 0,-30.2 -12,-31",
                tone.lift(0.06),
            );
            f.veil(
                "-17,-34 -10,-36.4 0,-37 10,-36.4 17,-34 10,-32 0,-31.4 -10,-32",
                hex(0x4A2A1C),
                1.0,
            );
            f.veil("-10,-34.4 -3,-35.8 3,-34.8 -3,-33.4", hex(0xA8744A), 0.8);
            f.line("-15,-24 0,-21 15,-24", 1.4, 1.4, tone.lift(-0.14));
            for (x, tall) in [(-8.0, 0.8), (0.0, 1.0), (8.0, 0.7)] {
                let y = |t: f32| -40.0 - 44.0 * t * tall;
                f.wisp(
                    &format!(
                        "{x},{} {},{} {},{} {},{} {x},{}",
                        y(0.0),
                        x + 3.0,
                        y(0.2),
                        x - 3.0,
                        y(0.5),
                        x + 3.0,
                        y(0.8),
                        y(1.0)
                    ),
                    1.2,
                    4.6,
                    white,
                    0.3,
                );
            }
        }
        Subject::Candle => {
            f.glow((0.0, -64.0), 110.0, hex(0xFFB85A), 0.75);
            f.part("-15,-3 -9,-7 9,-7 15,-3 9,1 -9,1", hex(0xB08A4A));
            f.part("-7,-5! -7,-50 -3,-52 3,-51 7,-49 7,-5!", tone);
            f.patch(
                "-7,-48 -3,-51 3,-50 7,-48 6.6,-40 4.6,-46 0,-47 -4,-40 -6.4,-44",
                tone.lift(0.05),
            );
            f.line("0,-51 0.4,-56", 0.9, 0.7, shade);
            f.veil(
                "0,-53 -4,-58 -3,-65 0,-74! 3.4,-65 4,-58",
                hex(0xFFB03A),
                1.0,
            );
            f.veil(
                "0,-53.6 -2,-58 -1.4,-62 0,-67! 1.6,-62 2,-58",
                hex(0xFFF3C4),
                1.0,
            );
        }
        Subject::Book => {
            f.part("-34,-10! 30,-12! 36,-1! -30,1!", tone);
            f.patch("-32,-8.6! 30,-10.6! 34.4,-2.6! -29,-0.6!", hex(0xF4E9D2));
            f.part("-36,-13! 28,-15! 31,-10.4! -33,-8.4!", tone.lift(0.04));
            f.part("-28,-24! 32,-22! 30,-14.5! -30,-15!", tone.turn(1.6));
            f.patch("-24,-22.6! 31,-21! 29.6,-16! -26,-16.4!", hex(0xF0E2C6));
            f.patch(
                "-29,-25.6! 33,-23.6! 32,-21! -29,-22.4!",
                tone.turn(1.6).lift(0.05),
            );
        }
        _ => {
            let leaf = hex(0x5E8A5A);
            for (text, from) in [
                ("-2,-60 -8,-80 -18,-96", 1.6),
                ("0,-60 1,-86 4,-108", 1.6),
                ("2,-60 10,-80 20,-92", 1.6),
            ] {
                f.line(text, from, 0.8, leaf.lift(-0.1));
            }
            for (x, y, d) in [
                (-10.0, -84.0, -1.0),
                (-15.0, -92.0, -1.0),
                (-5.0, -73.0, -1.0),
                (2.0, -92.0, 1.0),
                (3.0, -102.0, 1.0),
                (0.0, -80.0, -1.0),
                (9.0, -78.0, 1.0),
                (16.0, -88.0, 1.0),
            ] {
                f.patch(
                    &format!(
                        "{x},{y}! {},{} {},{}! {},{}",
                        x + d * 6.0,
                        y - 7.0,
                        x + d * 14.0,
                        y - 6.0,
                        x + d * 7.0,
                        y + 0.5
                    ),
                    leaf,
                );
            }
            vase(&mut f, tone, white);
        }
    }
}

fn vase(f: &mut Figure<'_, '_>, tone: Rgb, white: Rgb) {
    f.part("-7,-62! 7,-62! 6,-54 8,-48 18,-36 20,-22 14,-6 9,0 -9,0 -14,-6 -20,-22 -18,-36 -8,-48 -6,-54", tone);
    f.patch("-7.6,-62 0,-64 7.6,-62 0,-60", tone.lift(-0.12));
    f.veil(
        "-19,-30 0,-26 19,-30 19.6,-25 0,-21 -19.6,-25",
        tone.to(white, 0.55),
        0.85,
    );
    f.veil("-13,-36 -8,-42 -7,-38 -10,-26 -14,-26", white, 0.35);
}

/// Three flowers in a vase.
fn bouquet(studio: &mut Studio<'_>, stand: Stand, tone: Rgb, seed: &mut Seed) {
    let kind = seed.below(3);
    for (dx, lean) in [(-4.0, -0.30), (4.0, 0.32), (0.0, 0.02)] {
        let at = Figure::new(studio, stand).point((dx, -36.0));
        let flower = Stand {
            at,
            height: stand.height * 0.60,
            ..stand
        }
        .leaning(lean);
        plants::flower(studio, flower, tone.turn(lean * 0.5), kind);
    }
    let mut f = Figure::new(studio, stand);
    f.shadow(20.0, hex(0x2A2228));
    vase(&mut f, hex(0x3E7A8A), hex(0xFFFFFF));
}
