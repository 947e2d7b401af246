//! Colour schemes: one for each kind of light, varied by the prompt's colour words and by the seed.

use super::colour::{Rgb, hex};
use super::lexicon::{Mood, Season, Time, Weather};
use super::scene::Plan;
use super::seed::Seed;

/// The colours of one image. Distance runs from `far` to `near`.
#[derive(Debug, Clone, Copy)]
pub struct Palette {
    /// Sky from the top down to the horizon.
    pub sky: [Rgb; 3],
    /// Sun or moon.
    pub disc: Rgb,
    /// Hills and mountains at three distances.
    pub range: [Rgb; 3],
    /// Ground in the light and in shade.
    pub ground: [Rgb; 2],
    /// Darkest shapes.
    pub dark: Rgb,
    /// Rim light.
    pub light: Rgb,
    /// A contrasting colour for the focus.
    pub accent: Rgb,
}

const fn scheme(c: [u32; 12]) -> Palette {
    Palette {
        sky: [hex(c[0]), hex(c[1]), hex(c[2])],
        disc: hex(c[3]),
        range: [hex(c[4]), hex(c[5]), hex(c[6])],
        ground: [hex(c[7]), hex(c[8])],
        dark: hex(c[9]),
        light: hex(c[10]),
        accent: hex(c[11]),
    }
}

#[rustfmt::skip]
mod schemes {
    use super::{Palette, scheme};
    //                                             sky                           disc      far       mid       near      ground              dark      light     accent
    pub const DAY: [Palette; 3] = [
        scheme([0x4B97C4, 0x97CCDD, 0xF4ECD2, 0xFFF6D8, 0x9CC0C8, 0x5E9A8C, 0x2A6656, 0xBFCB6C, 0x4F8A4C, 0x14332F, 0xFFF2C4, 0xE4572E]),
        scheme([0x2F86A6, 0x8FC9C6, 0xFBE9C6, 0xFFF3D0, 0x8DB8BD, 0x4C8C8E, 0x235A62, 0xC9C27A, 0x5B8B58, 0x12303A, 0xFFEBC2, 0xD9482B]),
        scheme([0x5AA6D6, 0xB4DCE8, 0xFDF3DF, 0xFFFBE6, 0xA9C6DA, 0x6FA3A8, 0x35736B, 0xD2D68A, 0x6AA05A, 0x1A3A38, 0xFFF7D6, 0xF08A24]),
    ];
    pub const SUNSET: [Palette; 3] = [
        scheme([0x2B2A5C, 0xB2476B, 0xFFB161, 0xFFE9B0, 0x9A5079, 0x5F3165, 0x2C1D48, 0xB9586A, 0x3F2552, 0x140F2B, 0xFFC27A, 0xFF6B4A]),
        scheme([0x1F4068, 0xE0735C, 0xFFD28A, 0xFFF0C4, 0xB4707A, 0x6E4468, 0x2A2A4E, 0xC9785F, 0x4A3558, 0x141A33, 0xFFD49A, 0xF25C3C]),
        scheme([0x4A2C5E, 0xD8576B, 0xFFC27F, 0xFFE7B8, 0xA9557C, 0x6A3268, 0x331D4A, 0xC66A5C, 0x4C2850, 0x1A0F2C, 0xFFC98A, 0xFFA03C]),
    ];
    pub const DAWN: [Palette; 2] = [
        scheme([0x6C8CC0, 0xE9B6BD, 0xFFE6C4, 0xFFF4DC, 0xB9AACB, 0x8485AE, 0x434F7C, 0xD8B9A8, 0x6F7590, 0x232948, 0xFFE7C4, 0xF2785C]),
        scheme([0x5E9AB0, 0xF0C3A8, 0xFFEBC9, 0xFFF6E0, 0xA9B9BF, 0x6F939A, 0x345C6C, 0xC9C29A, 0x6A8A7C, 0x1B3442, 0xFFEFCB, 0xE9644A]),
    ];
    pub const NIGHT: [Palette; 2] = [
        scheme([0x070D26, 0x14264F, 0x3A5C90, 0xFDF3D2, 0x2C4878, 0x1B3158, 0x0D1C3C, 0x3C5D88, 0x132443, 0x050A1C, 0xCFE0FF, 0xFFB347]),
        scheme([0x0B0F2B, 0x2B2A63, 0x5C5596, 0xFFF0D6, 0x443F7C, 0x29275A, 0x15163C, 0x5A5590, 0x1D1C48, 0x080820, 0xDCD6FF, 0xFF9D5C]),
    ];
    pub const SNOW: [Palette; 2] = [
        scheme([0x53769F, 0xA5BFD6, 0xFBDDC2, 0xFFF4DE, 0xACC2D5, 0x6F90AE, 0x2C4A66, 0xF6F6F6, 0xA3BAD8, 0x14283B, 0xFFEBD0, 0xE2582A]),
        scheme([0x5D6E9E, 0xB9B6D2, 0xFFD9C4, 0xFFF1E0, 0xB4BAD6, 0x7C88B2, 0x36466E, 0xF7F4F6, 0xAAB2DA, 0x1B2644, 0xFFE6D2, 0xE8602C]),
    ];
    pub const SNOW_NIGHT: Palette =
        scheme([0x081029, 0x1B3560, 0x51779F, 0xFFF6DC, 0x3E618E, 0x27456E, 0x11253F, 0xC4D6EE, 0x5A7AAE, 0x081426, 0xE4EEFF, 0xF06A30]);
    pub const SNOW_DUSK: Palette =
        scheme([0x33366E, 0xB5618A, 0xFFBE8A, 0xFFEBC4, 0x9D78A6, 0x665689, 0x2E2C58, 0xF3DCE2, 0x8C84BC, 0x181A3C, 0xFFD2A6, 0xF0602C]);
    pub const STORM: Palette =
        scheme([0x17212D, 0x45545F, 0xA9B3AC, 0xE8EEE6, 0x63737C, 0x3E4E58, 0x1E2A34, 0x76856F, 0x303D40, 0x0B1218, 0xEAF2E8, 0xE0A030]);
    pub const RAIN: Palette =
        scheme([0x4A6072, 0x8CA0A8, 0xCDD3CC, 0xF2F0E0, 0x8FA4AA, 0x5E7A80, 0x2C474E, 0x8FA17A, 0x48645A, 0x142329, 0xF0F4EA, 0xE8A13A]);
    pub const FOG: Palette =
        scheme([0xA9B8BF, 0xCFD6D6, 0xEFEADF, 0xFFFBF0, 0xBCC7C9, 0x8DA0A5, 0x48606A, 0xC0C6BC, 0x7B8D8E, 0x22343D, 0xFFFAF0, 0xC8553D]);
    pub const AUTUMN: [Palette; 2] = [
        scheme([0x5F8CA6, 0xD6CFB2, 0xFBDD9E, 0xFFF2CC, 0xBDA08E, 0xB0693A, 0x652B20, 0xDDA24E, 0x86481F, 0x2A1413, 0xFFE0A0, 0xD8431F]),
        scheme([0x7C6A8C, 0xE3A87C, 0xFFD98F, 0xFFF0C4, 0xB98A7E, 0x9A5238, 0x4E2424, 0xD08A3C, 0x713818, 0x241014, 0xFFD894, 0xE2562A]),
    ];
    pub const SPRING: Palette =
        scheme([0x84BEDD, 0xC9E4E6, 0xFDF1EE, 0xFFFBEA, 0xBCD3DA, 0x8FC29C, 0x478767, 0xCFE38A, 0x74AD68, 0x1F4740, 0xFFF8DE, 0xF0719A]);
    pub const DESERT: [Palette; 2] = [
        scheme([0x3F87B8, 0xF0C9A0, 0xFFE9C4, 0xFFF8E0, 0xDBAA86, 0xC97B4D, 0x8A4430, 0xF2BC78, 0xB9683A, 0x3A1B22, 0xFFF0CB, 0x1F7A7A]),
        scheme([0x5A3A6C, 0xE98A6A, 0xFFCF8E, 0xFFF0C8, 0xC07C76, 0x9A5058, 0x5A2B46, 0xE79A62, 0x8A4450, 0x28122C, 0xFFDCA4, 0x2FA39A]),
    ];
    pub const WATER: Palette =
        scheme([0x9FEDE0, 0x1F93B4, 0x07305C, 0xF0FFF4, 0x2F9DB5, 0x176C93, 0x0A3A63, 0x2B7F94, 0x0B345A, 0x041A36, 0xD8FFF2, 0xFF8A4C]);
    pub const SPACE: [Palette; 2] = [
        scheme([0x070720, 0x1E1650, 0x5A2A7E, 0xFFE9C8, 0x6A3A8C, 0x3A2468, 0x1A1240, 0xB4627E, 0x3A1E56, 0x05040F, 0xFFE2C0, 0xFF8A3D]),
        scheme([0x04101F, 0x0D3250, 0x1F7A88, 0xFFF2CF, 0x2A7488, 0x164A66, 0x0A2440, 0xD98A5A, 0x5C3348, 0x030810, 0xD8FFF6, 0xFF6F52]),
    ];
    pub const NEON: Palette =
        scheme([0x0F0529, 0x470F6B, 0xFF4F9A, 0xFFD9F2, 0x6A2393, 0x3A1272, 0x1B0946, 0x40259A, 0x130A3C, 0x06021A, 0x5CF2FF, 0x2DF5E0]);
    pub const RETRO: Palette =
        scheme([0x2F6F73, 0x9DB99A, 0xF3E0B5, 0xE2733D, 0xA3B79A, 0x5A8E86, 0x2B5A62, 0xE8B45C, 0xC4622F, 0x28283D, 0xF8E8C4, 0xC43C2E]);
}

/// Chooses and varies the scheme of a plan.
pub fn choose(plan: &Plan, seed: &mut Seed) -> Palette {
    let mut palette = base(plan, seed);
    let wobble = seed.range(-0.12, 0.12);
    palette = palette.map(|c| c.turn(wobble));
    for mood in &plan.moods {
        palette = match mood {
            Mood::Pastel => palette.map(|c| c.chroma(0.95).to(hex(0xFFF4EE), 0.36)),
            Mood::Dreamy => palette.map(|c| c.to(hex(0xE6C8F0), 0.16).lift(0.02)),
            Mood::Dramatic => palette.map(|c| c.chroma(1.15).lift((c.lightness() - 0.58) * 0.22)),
            Mood::Calm => palette.map(|c| c.chroma(0.86)),
            Mood::Dark => palette.map(|c| c.lift(-0.10 * c.lightness())),
            Mood::Warm => palette.map(|c| c.tint(hex(0xE8934A), 0.22)),
            Mood::Cold => palette.map(|c| c.tint(hex(0x5A8FD0), 0.25)),
            Mood::Vivid => palette.map(|c| c.chroma(1.25)),
            Mood::Mono => palette.map(|c| c.chroma(0.06)),
        };
    }
    if let Some(tint) = plan.tint {
        palette = palette.map(|c| c.tint(tint, 0.62));
    }
    if let Some(colour) = plan.sky_colour {
        palette.sky = palette.sky.map(|c| c.tint(colour, 0.85).to(colour, 0.25));
    }
    if let Some(colour) = plan.ground_colour {
        palette.ground = [
            palette.ground[0].to(colour, 0.75),
            palette.ground[1].to(colour.lift(-0.2), 0.7),
        ];
        palette.range[2] = palette.range[2].tint(colour, 0.4);
    }
    palette
}

fn base(plan: &Plan, seed: &mut Seed) -> Palette {
    let mut pick = |list: &[Palette]| list[seed.below(list.len())];
    if plan.style.is_neon() {
        return schemes::NEON;
    }
    if plan.style.is_retro() && plan.time == Time::Any {
        return schemes::RETRO;
    }
    if plan.is_underwater() {
        return schemes::WATER;
    }
    if plan.is_space() {
        return pick(&schemes::SPACE);
    }
    let snowy = plan.weather == Weather::Snow || plan.season == Season::Winter;
    match (plan.time, snowy) {
        (Time::Night, true) => return schemes::SNOW_NIGHT,
        (Time::Sunset, true) => return schemes::SNOW_DUSK,
        (_, true) => return pick(&schemes::SNOW),
        (Time::Night, false) => return pick(&schemes::NIGHT),
        _ => {}
    }
    match plan.weather {
        Weather::Storm => return schemes::STORM,
        Weather::Rain => return schemes::RAIN,
        Weather::Fog if plan.time == Time::Any => return schemes::FOG,
        _ => {}
    }
    match (plan.time, plan.season) {
        (Time::Sunset, _) => pick(&schemes::SUNSET),
        (Time::Dawn, _) => pick(&schemes::DAWN),
        (_, Season::Autumn) => pick(&schemes::AUTUMN),
        (_, Season::Spring) => schemes::SPRING,
        _ if plan.is_desert() => pick(&schemes::DESERT),
        (Time::Day, _) => pick(&schemes::DAY),
        _ if seed.chance(0.5) => schemes::DAY[seed.below(3)],
        _ if seed.chance(0.5) => schemes::DAWN[seed.below(2)],
        _ => schemes::SUNSET[seed.below(3)],
    }
}

impl Palette {
    /// Applies a change to every colour.
    pub fn map(self, change: impl Fn(Rgb) -> Rgb) -> Self {
        Self {
            sky: self.sky.map(&change),
            disc: change(self.disc),
            range: self.range.map(&change),
            ground: self.ground.map(&change),
            dark: change(self.dark),
            light: change(self.light),
            accent: change(self.accent),
        }
    }

    /// The colour of bare ranges at a distance: 0 is nearest, 1 the horizon.
    pub fn at_distance(&self, distance: f32) -> Rgb {
        let d = distance.clamp(0.0, 1.0) * 3.0;
        match d {
            d if d < 1.0 => self.range[2].to(self.range[1], d),
            d if d < 2.0 => self.range[1].to(self.range[0], d - 1.0),
            d => self.range[0].to(self.sky[2], (d - 2.0) * 0.6),
        }
    }

    /// The colour of a thing in this light at this distance (0 to 1).
    pub fn seen(&self, own: Rgb, distance: f32) -> Rgb {
        let ambient = self.sky[1].to(self.light, 0.5);
        let dim = (self.sky[2].lightness() - 0.85).min(0.0) * 0.35;
        own.lift(dim)
            .tint(ambient, 0.10)
            .to(self.range[0].to(self.sky[2], 0.4), distance * 0.75)
    }
}
