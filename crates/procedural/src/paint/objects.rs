//! The things of a still life: fruit, vessels, candle, books.

use crate::colour::{Rgb, hex};
use crate::figure::{Figure, Stand, drawing};
use crate::lexicon::Subject;
use crate::seed::Seed;
use crate::studio::Studio;
use crate::swatches::Swatches;

use super::plants;

/// Draws one thing, with the `drawing` of its subject. 100 units are about half the short side of a still life.
pub fn draw(
    studio: &mut Studio<'_>,
    subject: Subject,
    drawing: &str,
    stand: Stand,
    tone: Rgb,
    seed: &mut Seed,
) {
    if subject == Subject::Flower {
        return bouquet(studio, stand, tone, seed);
    }
    let swatches = Swatches::of(studio, tone);
    let shade = studio.palette.dark;
    let mut figure = Figure::new(studio, stand);
    let half = match subject {
        Subject::Vase => 20.0,
        Subject::Book => 34.0,
        Subject::Candle => 12.0,
        _ => 17.0,
    };
    figure.shadow(half, shade);
    match subject {
        Subject::Orange | Subject::Lemon => figure.draw(&with_pores(drawing, seed), &swatches),
        Subject::Vase => {
            figure.draw(drawing!("twigs"), &swatches);
            figure.draw(drawing, &swatches);
        }
        _ => figure.draw(drawing, &swatches),
    }
}

/// The drawing of a fruit with pores all over its peel.
fn with_pores(drawing: &str, seed: &mut Seed) -> String {
    let pore = |_| format!("{},{} ", seed.range(-11.0, 11.0), seed.range(-22.0, -5.0));
    let pores: String = (0..12).map(pore).collect();
    drawing.replace("PORES", &pores)
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
    let swatches = Swatches::of(studio, hex(0x3E7A8A));
    let mut figure = Figure::new(studio, stand);
    figure.shadow(20.0, hex(0x2A2228));
    figure.draw(drawing!("vase"), &swatches);
}
