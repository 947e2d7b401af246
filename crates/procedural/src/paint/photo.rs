//! Image-to-image: lays out the inputs and prints them in the colours of the prompt.

use image::RgbImage;

use crate::fill::Fill;
use crate::lexicon::{Light, Time, Weather};
use crate::seed::Seed;
use crate::studio::{Studio, rough};

use super::{bank, cast, places, plate, print, sky, weather};

/// Long side of the plate in pixels: the strokes are a few of these pixels wide.
const WORKING: f32 = 900.0;

/// Prints the photographs over the whole canvas and adds the things that the prompt names.
pub fn paint(studio: &mut Studio<'_>, photos: &[RgbImage]) {
    let scale = (WORKING / studio.w().max(studio.h())).min(1.0);
    let [w, h] = [studio.w(), studio.h()].map(|side| (side * scale).max(1.0) as usize);
    let mut plate = plate::lay_out(photos, w, h);
    plate::stretch(&mut plate);
    let brushed = print::brush(&plate);
    let ink = print::outline(&brushed);
    print::print(studio, &brushed, &ink);
    add(studio);
}

/// Draws the things that the prompt names over the print.
fn add(studio: &mut Studio<'_>) {
    let (_, h, s) = studio.size();
    let plan = studio.plan;
    let moon = plan.has(Light::Moon);
    if plan.has(Light::Stars) || (plan.time == Time::Night && moon) {
        sky::stars(studio, 0.6);
    }
    if moon || plan.has(Light::Sun) {
        sky::disc(studio, moon);
    }
    if matches!(plan.time, Time::Sunset | Time::Dawn) {
        studio.glow(studio.sun, s * 0.9, studio.palette.disc, 0.45);
    }
    if plan.weather == Weather::Fog {
        weather::mist(studio, h * 0.62, s * 0.4, 0.8);
    }
    let mut seed = studio.seed.branch(70);
    if cast::fills(studio.plan, cast::Spot::Front) {
        drift(studio, &mut seed);
    }
    places::front(studio, h * 0.955, &mut seed);
}

/// A strip of ground at the lower edge for things in front of the photograph.
fn drift(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (_, h, s) = studio.size();
    let key = seed.bits() as u32;
    let [bright, shade] = studio.palette.ground;
    let base = h - s * 0.10;
    let light = studio.rim((0.1, -1.0), s * 0.02, 0.6);
    let ink = Fill::down(&[bright, bright.to(shade, 0.6), shade], base - s * 0.04, h)
        .stippled(0.6)
        .lit(light);
    bank::fill(
        studio,
        |x| base - s * 0.06 * (rough(key, x / s * 0.9) - 0.4),
        h + s,
        &ink,
    );
}
