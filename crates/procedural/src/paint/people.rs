//! Walkers, robots and astronauts.

use crate::colour::{Rgb, hex};
use crate::figure::{Figure, Stand};
use crate::studio::Studio;

/// A person in a coat, seen from behind, looking into the picture.
pub fn walker(studio: &mut Studio<'_>, stand: Stand, coat: Rgb) {
    let shadow = studio.palette.ground[1].lift(-0.14);
    let accent = studio.palette.accent;
    let mut f = Figure::new(studio, stand);
    let (dark, skin, hair) = (hex(0x2A2430), hex(0xE0B08C), hex(0x3A2620));
    let scarf = if accent.to(coat, 0.5).colourfulness() > 0.16 && coat.lightness() > 0.6 {
        hex(0xC84A34)
    } else {
        hex(0xF2C14E)
    };
    f.shadow(20.0, shadow);
    f.part(
        "-9,-34 -1,-34 -1.5,-16 -2.5,-3 -2,0 -9,0 -8.6,-4 -8,-18",
        dark.lift(0.05),
    );
    f.part(
        "1,-34 8,-34 7.5,-18 8,-5 9,-1 2,-1 2,-6 1.6,-18",
        dark.lift(0.02),
    );
    f.part(
        "0,-78 7,-76 11,-70 13,-58 14.5,-40 16,-26 0,-23 -16,-26 -14.5,-40 -13,-58 -11,-70 -7,-76",
        coat,
    );
    f.parts(
        "-9,-75 -14,-68 -17,-54 -17,-40 -14,-37 -11.5,-42 -10.5,-56",
        0.0,
        coat.lift(-0.05),
    );
    f.oval((-14.6, -37.5), 2.2, 2.6, skin);
    f.oval((14.6, -37.5), 2.2, 2.6, skin);
    f.line("0,-70 0.4,-50 0,-25", 0.7, 0.9, coat.lift(-0.14));
    f.part(
        "0,-100 7,-98 10,-91 9,-83 4,-78 -4,-78 -9,-83 -10,-91 -7,-98",
        hair,
    );
    f.part("-9,-81 0,-78 9,-81 10,-75 0,-72 -10,-75", scarf);
    f.part(
        "5,-77 10,-76 17,-62 20,-54! 14,-55 11,-53! 7,-66",
        scarf.lift(-0.04),
    );
    f.part(
        "-10.4,-90 -9,-98 0,-102.5 9,-98 10.4,-90 0,-87.6",
        coat.turn(0.5).lift(-0.06),
    );
    f.oval((0.0, -103.0), 2.6, 2.6, scarf);
}

/// A robot with lit eyes.
pub fn robot(studio: &mut Studio<'_>, stand: Stand, metal: Rgb) {
    let shadow = studio.palette.ground[1].lift(-0.14);
    let mut f = Figure::new(studio, stand);
    let (dark, glow, accent) = (hex(0x262A34), hex(0x7DF5E6), hex(0xF0853C));
    let deep = metal.lift(-0.14);
    f.shadow(30.0, shadow);
    f.parts("-15,-22 -6,-22 -6,-8 -8,-8 -15,-8", 0.0, deep);
    f.parts("-19,0 -19,-6 -14,-10 -7,-10 -3,-6 -3,0", 0.0, metal);
    f.line("-22,-54 -32,-46 -34,-32", 6.0, 5.0, deep);
    f.line("22,-54 33,-50 38,-62", 6.0, 5.0, deep);
    f.oval((-34.0, -29.0), 5.0, 5.0, metal);
    f.oval((39.0, -65.0), 5.0, 5.0, metal);
    f.part(
        "-20,-62! 20,-62! 23,-56 24,-40 20,-22 14,-18 -14,-18 -20,-22 -24,-40 -23,-56",
        metal,
    );
    f.patch("-13,-54! 13,-54! 13,-34! -13,-34!", dark.to(metal, 0.2));
    f.oval((-6.0, -47.0), 3.2, 3.2, accent);
    f.line("0,-50 10,-50", 1.6, 1.6, glow);
    f.line("0,-45 10,-45", 1.6, 1.6, glow.to(dark, 0.4));
    f.line("-10,-39 10,-39", 1.6, 1.6, glow.to(dark, 0.6));
    f.patch("-5,-62 5,-62 5,-67 -5,-67", deep);
    f.part(
        "-20,-67! 20,-67! 24,-72 25,-82 22,-93 14,-97 -14,-97 -22,-93 -25,-82 -24,-72",
        metal,
    );
    f.patch(
        "-17,-72 17,-72 20,-77 20,-86 16,-91 -16,-91 -20,-86 -20,-77",
        dark,
    );
    for x in [-9.0, 9.0] {
        f.glow((x, -81.5), 13.0, glow, 0.8);
        f.oval((x, -81.5), 4.4, 5.0, glow);
        f.spark((x - 1.2, -83.0), 1.3, hex(0xFFFFFF));
    }
    f.line("0,-97 0,-108", 1.6, 1.2, deep);
    f.glow((0.0, -110.0), 12.0, accent, 0.8);
    f.oval((0.0, -110.0), 3.0, 3.0, accent);
    for (x, y) in [(-17.0, -58.0), (17.0, -58.0), (-15.0, -25.0), (15.0, -25.0)] {
        f.spark((x, y), 1.2, deep);
    }
}

/// An astronaut, floating.
pub fn astronaut(studio: &mut Studio<'_>, stand: Stand, suit: Rgb) {
    let mut f = Figure::new(studio, stand);
    let (grey, visor, accent) = (suit.lift(-0.16), hex(0x1B2550), hex(0xF07A3C));
    f.part(
        "-17,-66 -21,-58 -21,-36 -15,-30 15,-30 21,-36 21,-58 17,-66",
        grey,
    );
    f.part("-13,-34 -2,-32 -5,-18 -9,-4 -20,-2 -22,-7 -16,-14", suit);
    f.part(
        "2,-32 13,-34 17,-20 24,-9 20,-2 10,-5 5,-18",
        suit.lift(-0.03),
    );
    f.patch("-20,-2 -9,-4 -10,-10 -18,-11 -22,-7", grey);
    f.part(
        "-12,-62 -22,-60 -32,-70 -40,-74 -44,-68 -38,-60 -26,-48 -14,-50",
        suit,
    );
    f.part(
        "12,-62 22,-58 32,-50 41,-52 43,-45 36,-40 24,-44 13,-50",
        suit.lift(-0.03),
    );
    f.part(
        "0,-68 12,-66 16,-56 15,-40 11,-31 0,-29 -11,-31 -15,-40 -16,-56 -12,-66",
        suit,
    );
    f.patch("-9,-54! 9,-54! 9,-43! -9,-43!", grey);
    f.oval((-5.0, -48.5), 2.0, 2.0, accent);
    f.line("0,-50 7,-50", 1.4, 1.4, hex(0x6AD0E8));
    f.line("0,-46.5 7,-46.5", 1.4, 1.4, accent);
    f.oval((0.0, -82.0), 20.0, 19.0, suit);
    f.part(
        "0,-95 11,-93 15,-84 12,-74 0,-70 -12,-74 -15,-84 -11,-93",
        visor,
    );
    f.patch(
        "-10,-90 -4,-93 -2,-91 -8,-84 -11,-80 -12,-85",
        hex(0x8FC8F0),
    );
    f.veil("2,-72 10,-76 13,-84 11,-76 6,-72", accent, 0.8);
    f.line("-34,-66 -29,-62", 4.4, 4.4, accent);
}
