//! Boat, balloon and rocket.

use crate::colour::{Rgb, hex};
use crate::figure::{Figure, Stand};
use crate::lexicon::Time;
use crate::studio::Studio;

/// A sailing boat; the origin is at its water line.
pub fn boat(studio: &mut Studio<'_>, stand: Stand, hull: Rgb, sail: Rgb) {
    let night = studio.plan.time == Time::Night;
    let mut f = Figure::new(studio, stand);
    let dark = hex(0x33262A);
    f.line("4,-12 4,-96", 1.8, 1.0, dark);
    f.part("6.5,-92! 14,-66 30,-38 44,-20! 26,-19 6.5,-18!", sail);
    f.line("7,-66 16,-64", 0.6, 0.6, sail.lift(-0.14));
    f.line("7,-42 20,-41 28,-40", 0.6, 0.6, sail.lift(-0.14));
    f.part(
        "1.5,-88! -8,-62 -22,-34 -36,-19! -16,-20 1.5,-22!",
        sail.lift(-0.07),
    );
    f.part(
        "-42,-14! -20,-12 10,-12 50,-15! 42,-4 34,2! -30,2! -38,-5",
        hull,
    );
    f.patch(
        "-42,-14! -20,-12 10,-12 50,-15! 49,-11.6 10,-8.6 -20,-8.6 -41,-10.6",
        hex(0xF6ECD8).to(hull, 0.15),
    );
    f.patch("4,-96! 17,-93 4,-89.6!", hex(0xE0562E));
    if night {
        f.glow((4.0, -16.0), 36.0, hex(0xFFC56A), 0.9);
        f.spark((4.0, -18.0), 2.0, hex(0xFFF0C0));
    }
}

/// A hot-air balloon; the origin is below its basket.
pub fn balloon(studio: &mut Studio<'_>, stand: Stand, cloth: Rgb) {
    let mut f = Figure::new(studio, stand);
    let (cream, rope, basket) = (hex(0xF8EBD0), hex(0x4A3A34), hex(0x8A5A34));
    f.line("-13,-30 -6,-12", 0.6, 0.6, rope);
    f.line("13,-30 6,-12", 0.6, 0.6, rope);
    f.line("-5,-28 -3,-12", 0.5, 0.5, rope);
    f.line("5,-28 3,-12", 0.5, 0.5, rope);
    f.part("0,-100 14,-98 27,-90 34,-76 33,-62 25,-46 15,-31 0,-28.5 -15,-31 -25,-46 -33,-62 -34,-76 -27,-90 -14,-98", cloth);
    f.pair("-4,-99.6 -18,-95 -28,-80 -27,-62 -19,-43 -12,-31! -7.6,-29.6! -12,-44 -17,-62 -17,-80 -10,-95", 0.0, cream);
    f.veil(
        "0,-100! 6,-94 9.4,-80 9.4,-62 6,-42 3.6,-29! -3.6,-29! -6,-42 -9.4,-62 -9.4,-80 -6,-94",
        cloth.turn(0.35).lift(0.05),
        1.0,
    );
    f.veil(
        "34,-76 33,-62 25,-46 15,-31 8,-29 18,-46 24,-62 25,-78 20,-92 28,-89",
        cloth.lift(-0.25),
        0.28,
    );
    f.veil(
        "-28,-84 -20,-94 -14,-96 -22,-84 -25,-70 -28,-72",
        hex(0xFFFFFF),
        0.25,
    );
    f.part("-8,-13! 8,-13! 6.6,0 -6.6,0", basket);
    f.patch("-9,-14.5! 9,-14.5! 9,-11.5! -9,-11.5!", basket.lift(-0.12));
    f.line("-7.4,-6 7.4,-6", 0.6, 0.6, basket.lift(-0.12));
}

/// A rocket with its flame; the origin is at the nozzle.
pub fn rocket(studio: &mut Studio<'_>, stand: Stand, trim: Rgb) {
    let mut f = Figure::new(studio, stand);
    let (white, dark, glass) = (hex(0xF6F1E6), hex(0x2C2A36), hex(0x7FD0EC));
    f.glow((0.0, 16.0), 60.0, hex(0xFF9A4A), 0.9);
    f.veil(
        "-9,-4 -14,14 -8,30 0,58! 8,30 14,14 9,-4",
        hex(0xF2682E),
        0.95,
    );
    f.veil("-6,-4 -9,12 -4,24 0,40! 4,24 9,12 6,-4", hex(0xFFC24A), 1.0);
    f.veil("-3.4,-4 -4.6,8 0,24! 4.6,8 3.4,-4", hex(0xFFF6D6), 1.0);
    f.parts("-13,-36! -27,-18 -29,2! -18,-6 -11,-8!", 0.0, trim);
    f.part(
        "0,-100! 9,-88 15,-68 16.5,-44 14,-20 10,-6! -10,-6! -14,-20 -16.5,-44 -15,-68 -9,-88",
        white,
    );
    f.part("0,-100! 9,-88 12.4,-78 0,-75.5 -12.4,-78 -9,-88", trim);
    f.patch(
        "-13.6,-18 0,-15.6 13.6,-18 12.2,-12.4 0,-10 -12.2,-12.4",
        trim,
    );
    f.oval((0.0, -56.0), 8.6, 8.6, dark.lift(0.2));
    f.oval((0.0, -56.0), 6.4, 6.4, glass);
    f.veil("-4.6,-58 -1,-61.6 1,-61 -4,-54", hex(0xFFFFFF), 0.8);
    f.oval((0.0, -36.0), 3.8, 3.8, glass.lift(-0.1));
    f.part("-2.2,-24! 2.2,-24! 3,2! -3,2!", trim.lift(-0.06));
    f.patch("-9,-6! 9,-6! 6.6,0! -6.6,0!", dark);
}
