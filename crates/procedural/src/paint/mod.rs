//! The painters, one file per kind of thing, and the choice between them.

mod bank;
mod cast;
mod city;
mod clouds;
mod deep;
mod flora;
mod foliage;
mod geometric;
mod ground;
mod land;
mod mirror;
mod objects;
mod peaks;
mod photo;
mod pine;
mod places;
mod planet;
mod plants;
mod plate;
mod portrait;
mod print;
mod reef;
mod relief;
mod shore;
mod sky;
mod space;
mod still;
mod table;
mod tiles;
mod towers;
mod water;
mod waves;
mod weather;

use image::RgbImage;

use super::scene::Stage;
use super::studio::Studio;

/// Paints the plan onto the studio's canvas, over the photographs if there are any.
pub fn paint(studio: &mut Studio<'_>, photos: &[RgbImage]) {
    if !photos.is_empty() {
        photo::paint(studio, photos);
        return weather::paint(studio);
    }
    match studio.plan.stage {
        Stage::Land => land::paint(studio),
        Stage::Water => water::paint(studio),
        Stage::City => city::paint(studio),
        Stage::Underwater => deep::paint(studio),
        Stage::Space => space::paint(studio),
        Stage::StillLife => still::paint(studio),
        Stage::Portrait => portrait::paint(studio),
        Stage::Abstract => geometric::paint(studio),
    }
    weather::paint(studio);
}
