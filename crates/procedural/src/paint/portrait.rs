//! Portraits: a head and shoulders before a disc and leaves, as on a poster.

use crate::colour::hex;
use crate::figure::{Figure, Stand, drawing};
use crate::fill::Fill;
use crate::shape::Shape;
use crate::studio::Studio;
use crate::swatches::Swatches;

use super::{cast, foliage, sky};

const SKINS: [u32; 5] = [0xF3D2B4, 0xE2B088, 0xC68A5E, 0x9A6440, 0x6E452E];
const HAIRS: [u32; 6] = [0x2A1E20, 0x5A3424, 0x8A4A26, 0xC98A44, 0xA83A22, 0x3A3440];

pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(58);
    let (w, h, s) = studio.size();
    let [top, middle, low] = studio.palette.sky;
    studio.cover(&Fill::down(&[top, middle, low], 0.0, h).stippled(0.2));
    let wide = w > h * 1.4;
    let x = if wide { studio.stage_x() } else { w / 2.0 };
    studio.sun = (x - studio.side() * s, h - s * 1.25);
    let (light, y) = (studio.palette.disc, h - s * 0.58);
    studio.glow((x, y), s * 0.75, light, 0.4);
    let disc = light.to(studio.palette.accent, 0.18);
    let tones = [disc, disc.to(low, 0.35)];
    let fill = Fill::down(&tones, y - s * 0.4, y + s * 0.4).stippled(0.4);
    studio.fill(&Shape::circle((x, y), s * 0.385), &fill);
    sky::stars(studio, 0.25);
    foliage::wreath(studio, (x, h - s * 0.3), &mut seed);
    let said = studio.plan.actors.first();
    let coat = said.map_or(studio.palette.accent, |a| cast::colour(a, &mut seed));
    let swatches = Swatches::of(studio, coat)
        .with("skin", hex(SKINS[seed.below(5)]))
        .with("hair", hex(HAIRS[seed.below(6)]))
        .when(if seed.chance(0.6) { "long" } else { "short" });
    let stand = Stand::at(x, h + s * 0.02, s * 0.88).flipped(studio.right);
    Figure::new(studio, stand).draw(drawing!("bust"), &swatches);
    foliage::foot(studio, x, &mut seed);
    foliage::garland(studio, x, h - s * 1.05, &mut seed);
}
