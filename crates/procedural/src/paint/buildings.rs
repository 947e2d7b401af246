//! House, castle, lighthouse, windmill, tent and bridge.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::figure::{Figure, Stand};
use crate::lexicon::Time;
use crate::studio::Studio;

/// Colour of a window: lit when it is dark outside.
fn window(studio: &Studio<'_>) -> (Rgb, f32) {
    let dark = matches!(studio.plan.time, Time::Night | Time::Sunset) || studio.plan.is_snowy();
    if dark {
        (hex(0xFFD27A), 0.75)
    } else {
        (hex(0x4C6A80), 0.0)
    }
}

fn roof_cover(studio: &Studio<'_>, roof: Rgb) -> Rgb {
    if studio.plan.is_snowy() {
        hex(0xF6F5F4)
    } else {
        roof
    }
}

/// A house with a gable, a chimney and smoke.
pub fn house(studio: &mut Studio<'_>, stand: Stand, wall: Rgb) {
    let (pane, lit) = window(studio);
    let roof = roof_cover(studio, wall.turn(2.6).lift(-0.14).to(hex(0x7A3E34), 0.5));
    let smoke = studio.palette.sky[2].to(hex(0xFFFFFF), 0.4);
    let shadow = studio.palette.ground[1].lift(-0.14);
    let mut f = Figure::new(studio, stand);
    let (dark, trim) = (hex(0x3A2C2C), hex(0xF4EADA));
    f.shadow(62.0, shadow);
    for (i, x) in [(0, 38.0), (1, 43.0), (2, 51.0), (3, 62.0), (4, 76.0)] {
        let r = 4.0 + 2.2 * i as f32;
        let y = -98.0 - 9.0 * i as f32;
        f.veil(
            &format!(
                "{},{y} {x},{} {},{y} {x},{}",
                x - r,
                y - r * 0.8,
                x + r,
                y + r * 0.8
            ),
            smoke,
            0.5 - 0.08 * i as f32,
        );
    }
    f.patch("30,-66! 42,-66! 42,-94! 30,-94!", wall.lift(-0.22));
    f.patch("28.5,-94! 43.5,-94! 43.5,-98! 28.5,-98!", roof.lift(-0.06));
    f.part("-2,-54! 54,-54! 54,0! -2,0!", wall.lift(-0.07));
    f.part("-10,-52! 8,-86! 50,-86! 64,-50! 62,-48! 6,-48!", roof);
    f.part("-46,-46! -22,-78! 2,-46! 2,0! -46,0!", wall);
    f.part(
        "-54,-42! -22,-88! 8,-46! 4,-42! -22,-76! -50,-38!",
        roof.lift(-0.04),
    );
    for y in [-36.0, -27.0, -18.0, -9.0] {
        f.line(
            &format!("-46,{y} -20,{y} 2,{y}"),
            0.5,
            0.5,
            wall.lift(-0.08),
        );
        f.line(&format!("2,{y} 30,{y} 54,{y}"), 0.5, 0.5, wall.lift(-0.15));
    }
    let panes = [
        (-36.0, -34.0, 11.0, 13.0),
        (16.0, -36.0, 11.0, 14.0),
        (36.0, -36.0, 11.0, 14.0),
        (-26.0, -62.0, 8.0, 9.0),
    ];
    for (x, y, w, h) in panes {
        let (r, b) = (x + w, y + h);
        f.patch(
            &format!(
                "{},{}! {},{}! {},{}! {},{}!",
                x - 1.6,
                y - 1.6,
                r + 1.6,
                y - 1.6,
                r + 1.6,
                b + 1.6,
                x - 1.6,
                b + 1.6
            ),
            trim,
        );
        if lit > 0.0 {
            f.glow((x + w / 2.0, y + h / 2.0), 24.0, pane, 0.6);
        }
        f.veil(&format!("{x},{y}! {r},{y}! {r},{b}! {x},{b}!"), pane, 1.0);
        f.line(
            &format!("{},{y} {},{b}", x + w / 2.0, x + w / 2.0),
            1.0,
            1.0,
            trim,
        );
        f.line(
            &format!("{x},{} {r},{}", y + h * 0.45, y + h * 0.45),
            1.0,
            1.0,
            trim,
        );
    }
    f.patch(
        "-18,0! -18,-24 -13,-29 -8,-29 -4,-24 -4,0!",
        dark.to(hex(0x8A4A34), 0.7),
    );
    f.spark((-7.0, -13.0), 0.9, hex(0xF2C96A));
}

/// A castle on its rock.
pub fn castle(studio: &mut Studio<'_>, stand: Stand, stone: Rgb) {
    let (pane, lit) = window(studio);
    let roof = roof_cover(studio, hex(0x3F5E86).to(studio.palette.accent, 0.35));
    let rock =
        studio.palette.ground[1].to(studio.palette.at_distance(0.25 + stand.distance * 0.5), 0.4);
    let flag = studio.palette.accent;
    let mut f = Figure::new(studio, stand);
    let deep = stone.lift(-0.10);
    f.part(
        "-74,10! -66,-4 -52,-12! -44,-22 -20,-27! 18,-28 40,-22! 52,-10 66,-4! 78,10!",
        rock,
    );
    // Towers from the back to the front: x, width, foot, height of the wall, of the roof.
    let towers = [
        (4.0, 15.0, -24.0, 62.0, 24.0),
        (-26.0, 13.0, -22.0, 44.0, 20.0),
        (32.0, 14.0, -20.0, 40.0, 20.0),
        (18.0, 10.0, -24.0, 48.0, 18.0),
    ];
    for (i, &(x, w, foot, wall, top)) in towers.iter().enumerate() {
        let (l, r, t) = (x - w / 2.0, x + w / 2.0, foot - wall);
        f.part(
            &format!("{l},{foot}! {l},{t}! {r},{t}! {r},{foot}!"),
            if i % 2 == 0 { stone } else { deep },
        );
        f.part(
            &format!(
                "{},{t}! {},{}! {},{t}! {x},{}",
                l - 2.4,
                x,
                t - top,
                r + 2.4,
                t + 2.0
            ),
            roof,
        );
        f.line(
            &format!("{x},{} {x},{}", t - top, t - top - 9.0),
            0.7,
            0.5,
            hex(0x3A3034),
        );
        f.patch(
            &format!(
                "{x},{}! {},{} {x},{}!",
                t - top - 9.0,
                x + 9.0,
                t - top - 6.6,
                t - top - 4.4
            ),
            flag,
        );
        for k in 0..3 {
            let y = t + 8.0 + 12.0 * k as f32;
            if y < foot - 8.0 {
                if lit > 0.0 {
                    f.glow((x, y), 11.0, pane, 0.6);
                }
                f.veil(
                    &format!(
                        "{},{y} {},{} {},{} {x},{} {},{}",
                        x - 1.5,
                        x - 1.5,
                        y + 5.0,
                        x + 1.5,
                        y + 5.0,
                        y - 2.4,
                        x + 1.5,
                        y
                    ),
                    pane,
                    1.0,
                );
            }
        }
    }
    f.part("-40,-20! -40,-46! -34,-46! -34,-42! -29,-42! -29,-46! -23,-46! -23,-42! -18,-42! -18,-46! -12,-46! -12,-42! -7,-42! -7,-46! -1,-46! -1,-42! 4,-42! 4,-46! 10,-46! 10,-42! 15,-42! 15,-46! 21,-46! 21,-42! 26,-42! 26,-46! 32,-46! 32,-42! 37,-42! 37,-46! 44,-46! 44,-18! 20,-24 -10,-25", stone.lift(0.02));
    f.patch("-5,-24 -5,-34 0,-39 5,-39 10,-34 10,-25", hex(0x3A2C30));
    for (x, y) in [(-28.0, -34.0), (-16.0, -33.0), (22.0, -34.0), (34.0, -32.0)] {
        if lit > 0.0 {
            f.glow((x, y), 11.0, pane, 0.6);
        }
        f.veil(
            &format!(
                "{},{y} {},{} {},{} {x},{} {},{}",
                x - 1.5,
                x - 1.5,
                y + 5.0,
                x + 1.5,
                y + 5.0,
                y - 2.4,
                x + 1.5,
                y
            ),
            pane,
            1.0,
        );
    }
    f.line("0,-25 4,-14 -6,-4 6,10", 7.0, 16.0, rock.lift(0.14));
}

/// A lighthouse, with its beam when it is not full day.
pub fn lighthouse(studio: &mut Studio<'_>, stand: Stand, band: Rgb) {
    let beam = studio.plan.time != Time::Day;
    let mut f = Figure::new(studio, stand);
    let (white, dark, lamp) = (hex(0xF8F2E6), hex(0x2C2A34), hex(0xFFE9A8));
    if beam {
        for (text, strength) in [
            ("0,-88! 190,-128! 190,-62!", 0.13),
            ("0,-88! 190,-112! 190,-80!", 0.20),
            ("0,-88! -190,-112! -190,-72!", 0.13),
        ] {
            f.veil(text, lamp, strength);
        }
        f.glow((0.0, -88.0), 70.0, lamp, 0.8);
    }
    f.part("22,-12! 22,-26! 44,-26! 44,-6!", white.lift(-0.06));
    f.part("18,-25! 33,-36! 48,-25!", band.lift(-0.08));
    f.part("-11,-14! -6.8,-78! 6.8,-78! 11,-14!", white);
    for (y, h) in [(-70.0, 13.0), (-43.0, 13.0)] {
        let half = |y: f32| 6.8 + (y + 78.0) / 64.0 * 4.2;
        f.part(
            &format!(
                "{},{y}! {},{y}! {},{}! {},{}!",
                -half(y),
                half(y),
                half(y + h),
                y + h,
                -half(y + h),
                y + h
            ),
            band,
        );
    }
    f.patch("-9.6,-78! 9.6,-78! 9,-81! -9,-81!", dark);
    f.veil("-5,-81! 5,-81! 5,-92! -5,-92!", lamp, 1.0);
    f.line("-5,-81 -5,-92", 0.9, 0.9, dark);
    f.line("0,-81 0,-92", 0.6, 0.6, dark);
    f.line("5,-81 5,-92", 0.9, 0.9, dark);
    f.part("-7.4,-92! 0,-100! 7.4,-92!", band.lift(-0.05));
    f.line("0,-100 0,-105", 0.9, 0.5, dark);
    f.patch("-3.4,-15 -3.4,-23 0,-26 3.4,-23 3.4,-15", dark);
    f.patch("-1.8,-54! 1.8,-54! 1.8,-48.5! -1.8,-48.5!", dark);
    if beam {
        f.glow((0.0, -87.0), 18.0, hex(0xFFFFFF), 0.9);
    }
}

/// A windmill.
pub fn windmill(studio: &mut Studio<'_>, stand: Stand, wall: Rgb) {
    let roof = roof_cover(studio, hex(0x6E3A34));
    let (pane, _) = window(studio);
    let shadow = studio.palette.ground[1].lift(-0.14);
    let mut f = Figure::new(studio, stand);
    let (dark, cloth) = (hex(0x3A2C2C), hex(0xF6ECD8));
    f.shadow(30.0, shadow);
    f.part("-19,0! -11,-64! 11,-64! 19,0!", wall);
    f.part("-14,-63 -12,-72 0,-80 12,-72 14,-63 0,-61", roof);
    f.patch("-5,0! -5,-14 0,-18 5,-14 5,0!", dark);
    f.veil("-2.6,-34! 2.6,-34! 2.6,-42! -2.6,-42!", pane, 1.0);
    for blade in 0..4 {
        let a = TURN * (blade as f32 / 4.0 + 0.07);
        let (dx, dy) = (cos(a), sin(a));
        let p =
            |along: f32, across: f32| (along * dx - across * dy, -67.0 + along * dy + across * dx);
        let text = [p(6.0, 0.0), p(46.0, 0.0), p(46.0, 11.0), p(10.0, 9.0)]
            .map(|(x, y)| format!("{x},{y}!"))
            .join(" ");
        f.patch(&text, cloth);
        let (a, b) = (p(0.0, 0.0), p(47.0, 0.0));
        f.line(&format!("{},{} {},{}", a.0, a.1, b.0, b.1), 2.0, 1.2, dark);
        for k in 1..5 {
            let (a, b) = (p(6.0 + k as f32 * 8.0, 0.0), p(6.0 + k as f32 * 8.0, 9.6));
            f.line(
                &format!("{},{} {},{}", a.0, a.1, b.0, b.1),
                0.6,
                0.6,
                dark.to(cloth, 0.4),
            );
        }
    }
    f.oval((0.0, -67.0), 2.6, 2.6, dark);
}

/// A tent with a fire before it.
pub fn tent(studio: &mut Studio<'_>, stand: Stand, cloth: Rgb) {
    let shadow = studio.palette.ground[1].lift(-0.14);
    let mut f = Figure::new(studio, stand);
    let (dark, glow) = (hex(0x33242A), hex(0xFFB45A));
    f.shadow(60.0, shadow);
    f.part("-2,-72! 58,-58! 74,0! 30,2!", cloth.lift(-0.10));
    f.part("-46,2! -4,-74! 32,2!", cloth);
    f.patch("-20,2! -4,-52! 12,2!", dark);
    f.veil("-16,2! -4,-42! 8,2!", glow, 0.8);
    f.part("-20,2! -4,-52! -12,-20 -28,2!", cloth.lift(0.07));
    f.line("-48,4 -4,-76 -2,-80", 1.2, 1.0, dark);
    f.line("34,4 -4,-74 -7,-80", 1.2, 1.0, dark);
    f.glow((-66.0, -8.0), 62.0, glow, 0.85);
    f.line("-80,2 -66,-2 -52,3", 4.0, 4.0, dark.lift(0.1));
    f.line("-78,4 -66,-3 -54,0", 4.0, 3.0, dark);
    f.veil(
        "-74,-1 -75,-11 -69,-20 -67,-30! -61,-20 -57,-10 -59,-1",
        hex(0xF2682E),
        1.0,
    );
    f.veil("-70,-1 -71,-8 -66,-18! -62,-8 -62,-1", hex(0xFFD56A), 1.0);
}

/// A stone bridge of three arches.
pub fn bridge(studio: &mut Studio<'_>, stand: Stand, stone: Rgb) {
    let mut f = Figure::new(studio, stand);
    let deep = stone.lift(-0.12);
    f.part("-130,6! -130,-30! -60,-40 0,-44 60,-40 130,-30! 130,6! 98,6! 94,-10 80,-19 66,-10 62,6! 36,6! 30,-16 0,-29 -30,-16 -36,6! -62,6! -66,-10 -80,-19 -94,-10 -98,6!", stone);
    f.part(
        "-134,-30! -60,-41 0,-45.5 60,-41 134,-30! 134,-37! 60,-48 0,-52 -60,-48 -134,-37!",
        stone.lift(0.05),
    );
    f.line("-38,6 -31,-17 0,-31 31,-17 38,6", 3.0, 3.0, deep);
    f.line("-100,6 -95,-11 -80,-21 -65,-11 -60,6", 2.4, 2.4, deep);
    f.line("100,6 95,-11 80,-21 65,-11 60,6", 2.4, 2.4, deep);
}
