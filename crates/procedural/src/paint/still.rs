//! Still lifes: fruit and vessels on a table.

use crate::figure::Stand;
use crate::lexicon::Subject;
use crate::scene::Actor;
use crate::seed::Seed;
use crate::studio::Studio;

use super::{cast, objects, table};

/// Paints the table with its things.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(55);
    let edge = table::paint(studio, &mut seed);
    arrange(studio, edge, &mut seed);
}

/// Things added to those that the prompt names, until there are six.
const COMPANY: [Subject; 7] = [
    Subject::Vase,
    Subject::Apple,
    Subject::Pear,
    Subject::Lemon,
    Subject::Cup,
    Subject::Book,
    Subject::Orange,
];
/// Positions on the table, from the edge: across, down, size.
const PLACES: [(f32, f32, f32); 9] = [
    (-0.15, 0.07, 1.0),
    (0.14, 0.095, 1.0),
    (-0.02, 0.15, 1.0),
    (0.30, 0.15, 0.95),
    (-0.31, 0.135, 0.95),
    (0.15, 0.205, 0.95),
    (-0.19, 0.215, 0.95),
    (0.42, 0.10, 0.9),
    (-0.43, 0.09, 0.9),
];

/// Places tall things behind low ones.
fn arrange(studio: &mut Studio<'_>, edge: f32, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let things = things(studio, seed);
    let mut placed: Vec<_> = things.into_iter().zip(PLACES).collect();
    placed.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    for (actor, (x, y, size)) in placed {
        let tone = cast::colour(&actor, seed);
        let x = w / 2.0 + studio.side() * x * s;
        let height = s * 0.60 * size * actor.size.clamp(0.8, 1.15);
        let stand = Stand::at(x, edge + y * s, height).flipped(!studio.right);
        let drawing = cast::drawing_of(actor.subject);
        objects::draw(studio, actor.subject, drawing, stand, tone, seed);
    }
}

/// The things on the table: those that the prompt names and added ones, the tallest first.
fn things(studio: &Studio<'_>, seed: &mut Seed) -> Vec<Actor> {
    let plan = studio.plan;
    // Flowers stand in one vase, so there is no second, empty vase.
    let flowers = plan.shows(Subject::Flower);
    let fits = |subject: Subject| subject != Subject::Vase || !flowers;
    let mut things: Vec<(bool, Actor)> = Vec::new();
    for actor in plan.actors.iter().filter(|a| fits(a.subject)) {
        let bunch = actor.subject == Subject::Flower;
        let count = if bunch { 1 } else { actor.count.min(4) };
        things.extend((0..count).map(|_| (false, *actor)));
    }
    let start = seed.below(COMPANY.len());
    let company = COMPANY.iter().cycle().skip(start).take(COMPANY.len());
    for &subject in company.filter(|&&s| fits(s) && !plan.shows(s)) {
        if things.len() < 6 {
            let (colour, count, size) = (None, 1, 0.82);
            #[rustfmt::skip]
            things.push((true, Actor { subject, colour, count, size }));
        }
    }
    things.truncate(9);
    let tall = |a: &Actor| matches!(a.subject, Subject::Vase | Subject::Candle | Subject::Flower);
    things.sort_by_key(|(company, a)| (!tall(a), *company));
    things.into_iter().map(|(_, actor)| actor).collect()
}
