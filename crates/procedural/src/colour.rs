//! Colour: display values and the perceptual OKLab space in which everything is mixed.
//!
//! OKLab: Björn Ottosson, "A perceptual color space for image processing", 2020.

use super::exact::{cbrt, cos, mix, sin, to_display, to_linear};

/// An sRGB colour with display values from 0 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rgb {
    pub r: f32,
    pub g: f32,
    pub b: f32,
}

/// A colour from its hexadecimal notation, `0xRRGGBB`.
pub const fn hex(value: u32) -> Rgb {
    Rgb {
        r: (value >> 16 & 255) as f32,
        g: (value >> 8 & 255) as f32,
        b: (value & 255) as f32,
    }
}

/// Perceptual lightness and the two opponent axes.
#[derive(Debug, Clone, Copy)]
struct Lab {
    l: f32,
    a: f32,
    b: f32,
}

impl Rgb {
    fn lab(self) -> Lab {
        let r = to_linear(self.r / 255.0);
        let g = to_linear(self.g / 255.0);
        let b = to_linear(self.b / 255.0);
        let l = cbrt(0.412_221_46 * r + 0.536_332_55 * g + 0.051_445_995 * b);
        let m = cbrt(0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b);
        let s = cbrt(0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b);
        Lab {
            l: 0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
            a: 1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
            b: 0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
        }
    }

    /// The colour `t` of the way to `other`, mixed in OKLab.
    pub fn to(self, other: Rgb, t: f32) -> Rgb {
        let (p, q) = (self.lab(), other.lab());
        Lab {
            l: mix(p.l, q.l, t),
            a: mix(p.a, q.a, t),
            b: mix(p.b, q.b, t),
        }
        .rgb()
    }

    /// Lighter (positive) or darker (negative) by an OKLab lightness difference.
    pub fn lift(self, by: f32) -> Rgb {
        let mut lab = self.lab();
        lab.l = (lab.l + by).clamp(0.0, 1.0);
        lab.rgb()
    }

    /// More (above 1) or less saturated.
    pub fn chroma(self, factor: f32) -> Rgb {
        let mut lab = self.lab();
        lab.a *= factor;
        lab.b *= factor;
        lab.rgb()
    }

    /// Hue turned by an angle in radians.
    pub fn turn(self, radians: f32) -> Rgb {
        let lab = self.lab();
        let (s, c) = (sin(radians), cos(radians));
        Lab {
            l: lab.l,
            a: lab.a * c - lab.b * s,
            b: lab.a * s + lab.b * c,
        }
        .rgb()
    }

    /// This colour's lightness with hue and colourfulness pulled towards those of `other`.
    pub fn tint(self, other: Rgb, t: f32) -> Rgb {
        let (p, q) = (self.lab(), other.lab());
        Lab {
            l: mix(p.l, q.l, t * 0.25),
            a: mix(p.a, q.a, t),
            b: mix(p.b, q.b, t),
        }
        .rgb()
    }

    /// Perceived lightness from 0 to 1.
    pub fn lightness(self) -> f32 {
        self.lab().l
    }

    /// Distance from grey: about 0.3 for the strongest colours.
    pub fn colourfulness(self) -> f32 {
        let lab = self.lab();
        (lab.a * lab.a + lab.b * lab.b).sqrt()
    }

    /// The display values as numbers from 0 to 255.
    pub fn array(self) -> [f32; 3] {
        [self.r, self.g, self.b]
    }
}

impl Lab {
    fn rgb(self) -> Rgb {
        let l = self.l + 0.396_337_78 * self.a + 0.215_803_76 * self.b;
        let m = self.l - 0.105_561_346 * self.a - 0.063_854_17 * self.b;
        let s = self.l - 0.089_484_18 * self.a - 1.291_485_5 * self.b;
        let (l, m, s) = (l * l * l, m * m * m, s * s * s);
        Rgb {
            r: 255.0 * to_display(4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s),
            g: 255.0 * to_display(-1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s),
            b: 255.0 * to_display(-0.004_196_086 * l - 0.703_418_6 * m + 1.707_614_7 * s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixing_returns_both_ends_and_interpolates_between_them() {
        let (fox, snow) = (hex(0xD9571F), hex(0xF4F3F2));
        for (got, want) in [(fox.to(snow, 0.0), fox), (fox.to(snow, 1.0), snow)] {
            assert!(
                (got.r - want.r).abs() < 1.0
                    && (got.g - want.g).abs() < 1.0
                    && (got.b - want.b).abs() < 1.0
            );
        }
        let middle = fox.to(snow, 0.5).lightness();
        assert!(middle > fox.lightness() && middle < snow.lightness());
    }

    #[test]
    fn a_full_turn_of_hue_changes_nothing() {
        let teal = hex(0x2F6F73);
        let turned = teal.turn(super::super::exact::TURN);
        assert!((teal.g - turned.g).abs() < 1.0);
        assert!(teal.chroma(0.0).colourfulness() < 0.01);
    }
}
