//! The table of subjects: position, height, default colours and drawing of each.

use crate::colour::{Rgb, hex};
use crate::figure::{Figure, Stand, drawing};
use crate::lexicon::Subject;
use crate::scene::{Actor, Plan};
use crate::seed::Seed;
use crate::studio::Studio;
use crate::swatches::Swatches;

use super::{flora, objects, planet, plants};

/// The part of a landscape for a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// Near the viewer.
    Front,
    /// Behind the first bank.
    Back,
    /// In the sky.
    Sky,
    /// All over the ground.
    Carpet,
}

/// A subject, its spot, its height relative to the image's short side if it is the only one, its natural colours, and its drawing.
/// Subjects of other painters have no drawing.
///
/// Only a choice between colours consumes a number of the seed. Two lists contain the same colour twice to consume one: otherwise
/// every image of a fox or a penguin would change.
type Kind = (Subject, Spot, f32, &'static [u32], &'static str);

#[rustfmt::skip]
mod kinds {
    use super::{Kind, drawing, Spot::{Back, Carpet, Front, Sky}, Subject as S};

    /// In the order of the subjects.
    pub const ALL: [Kind; 41] = [
        (S::Fox, Front, 0.44, &[0xE0602A, 0xE0602A], drawing!("fox")),
        (S::Wolf, Front, 0.47, &[0x8C96A4, 0x727C8C], drawing!("fox")),
        (S::Cat, Front, 0.42, &[0xDE8F4A, 0x6E7080, 0x38343E, 0xE9D6B8], drawing!("cat")),
        (S::Dog, Front, 0.44, &[0xC98A4C, 0x8A5836, 0xE3BE84, 0x4A4046], drawing!("dog")),
        (S::Rabbit, Front, 0.38, &[0xB99A7C, 0xD9C8B0, 0x9C8E88], drawing!("rabbit")),
        (S::Bear, Front, 0.47, &[0x7A4E30, 0x5E3E2C], drawing!("bear")),
        (S::Owl, Front, 0.42, &[0x8A6440, 0x9A7A58, 0x7C6A6A], drawing!("owl")),
        (S::Bird, Front, 0.34, &[0x4A7AA8, 0x8A6A50, 0x3F8A80], drawing!("bird")),
        (S::Deer, Front, 0.54, &[0xA9683A, 0xB9783E], drawing!("deer")),
        (S::Horse, Front, 0.54, &[0x8A5230, 0x5E3A2A, 0xE9DCC8], drawing!("horse")),
        (S::Penguin, Front, 0.42, &[0x2A2C3A, 0x2A2C3A], drawing!("penguin")),
        (S::Butterfly, Sky, 0.26, &[0xE8843A, 0x4A86D0, 0xB85AC0], drawing!("butterfly")),
        (S::Fish, Front, 0.40, &[0xF0803A, 0xF2B53A, 0xE05A5A], drawing!("fish")),
        (S::Whale, Front, 0.40, &[0x3A5E86, 0x2F4E70], drawing!("whale")),
        (S::Jellyfish, Front, 0.46, &[0xE88AC0, 0x9AA8F2, 0xF2A08A], drawing!("jellyfish")),
        (S::Turtle, Front, 0.40, &[0x6E7A3A, 0x8A6A3A], drawing!("turtle")),
        (S::Person, Front, 0.47, &[0xC8442E, 0xE0A030, 0x2E6E8A, 0x3E7A5A], drawing!("walker")),
        (S::Portrait, Front, 0.40, &[0xC8442E, 0xE0A030, 0x2E6E8A, 0x3E7A5A], drawing!("walker")),
        (S::Robot, Front, 0.44, &[0x9AB4BE, 0xE9C46A, 0xC9D2D4], drawing!("robot")),
        (S::Astronaut, Front, 0.50, &[0xF2F0EA], drawing!("astronaut")),
        (S::House, Back, 0.34, &[0xB8503A, 0xE6D5B0, 0x6E8A94, 0xD9A25A], drawing!("house")),
        (S::Castle, Back, 0.50, &[0xC9BBA6, 0xA8A4A8], drawing!("castle")),
        (S::Lighthouse, Back, 0.55, &[0xC8402E], drawing!("lighthouse")),
        (S::Windmill, Back, 0.50, &[0xE8DCC4], drawing!("windmill")),
        (S::Bridge, Back, 0.30, &[0xA89A88], drawing!("bridge")),
        (S::Tent, Front, 0.34, &[0xE8963A, 0x3F8A86], drawing!("tent")),
        (S::Boat, Front, 0.34, &[0xC8402E], drawing!("boat")),
        (S::Balloon, Sky, 0.46, &[0xD84A34, 0x2E7A96, 0xE89A34], drawing!("balloon")),
        (S::Rocket, Sky, 0.50, &[0xC8402E], drawing!("rocket")),
        (S::Planet, Sky, 0.40, &[0xE0985A, 0x6AA8C0, 0xC87A9A], ""),
        (S::Flower, Carpet, 0.40, &[0xE0503A, 0xE86A9A, 0xF2C23A, 0x9A6AD0, 0xF4EEE6], ""),
        (S::Tree, Back, 0.72, &[0x5E9A4A, 0x3F8A5A], ""),
        (S::Mushroom, Front, 0.36, &[0xC8402E], drawing!("mushroom")),
        (S::Apple, Front, 0.30, &[0xC8322E, 0x8AB04A], drawing!("apple")),
        (S::Orange, Front, 0.30, &[0xF0892A], drawing!("orange")),
        (S::Lemon, Front, 0.30, &[0xF4D03A], drawing!("lemon")),
        (S::Pear, Front, 0.30, &[0xC9C04A], drawing!("pear")),
        (S::Cup, Front, 0.30, &[0xF2ECE0, 0x3E7A8A, 0xD8704A], drawing!("cup")),
        (S::Vase, Front, 0.30, &[0x2E6E8A, 0xD8785A, 0xE9DFC8], drawing!("vase")),
        (S::Candle, Front, 0.30, &[0xF6EEDA], drawing!("candle")),
        (S::Book, Front, 0.30, &[0x8A2E34, 0x2E5A6E, 0x3E6A4A], drawing!("book")),
    ];
}

fn kind(subject: Subject) -> &'static Kind {
    &kinds::ALL[subject as usize]
}

pub fn spot(subject: Subject) -> Spot {
    kind(subject).1
}

/// Does the plan have a subject for a spot?
pub fn fills(plan: &Plan, spot: Spot) -> bool {
    plan.actors.iter().any(|a| kind(a.subject).1 == spot)
}

pub fn drawing_of(subject: Subject) -> &'static str {
    kind(subject).4
}

/// The height of a subject relative to the image's short side, if it is the only one.
pub fn height(subject: Subject) -> f32 {
    kind(subject).2
}

/// The colour of a subject: the prompt's, made natural for animals, or a natural one.
pub fn colour(actor: &Actor, seed: &mut Seed) -> Rgb {
    use Subject as S;
    let own = hex(match kind(actor.subject).3 {
        [one] => *one,
        list => list[seed.below(list.len())],
    });
    let Some(said) = actor.colour else { return own };
    match actor.subject {
        // "A red fox" and "a brown bear" name a coat, not a paint.
        S::Fox if said.to(own, 0.5).colourfulness() > 0.12 && said.r > said.b + 60.0 => {
            own.to(said, 0.25)
        }
        S::Bear | S::Deer | S::Horse | S::Dog | S::Cat | S::Wolf | S::Rabbit | S::Owl => {
            said.chroma(0.9)
        }
        _ => said,
    }
}

/// Draws one subject.
pub fn draw(studio: &mut Studio<'_>, subject: Subject, stand: Stand, colour: Rgb, seed: &mut Seed) {
    use Subject as S;
    match subject {
        S::Planet => planet::draw(studio, stand.at, stand.height * 0.45, colour, true),
        S::Flower => plants::flower(studio, stand, colour, seed.below(3)),
        S::Tree => {
            let bark = studio.palette.dark.to(hex(0x5A4030), 0.6);
            let leaf = studio.palette.seen(colour, stand.distance);
            flora::broad(studio, stand.at, stand.height, leaf, bark, seed);
        }
        S::Apple | S::Orange | S::Lemon | S::Pear | S::Cup | S::Vase | S::Candle | S::Book => {
            let drawing = drawing_of(subject);
            objects::draw(studio, subject, drawing, stand, colour, seed);
        }
        _ => {
            let swatches = Swatches::of(studio, colour);
            let swatches = match second_colour(studio, subject, stand, colour) {
                Some((name, second)) => swatches.with(name, second),
                None => swatches,
            };
            let stand = match subject {
                S::Butterfly => stand.leaning(seed.range(-0.5, 0.5)),
                S::Rocket => stand.leaning(stand.lean + 0.35),
                _ => stand,
            };
            Figure::new(studio, stand).draw(drawing_of(subject), &swatches);
        }
    }
}

/// A second colour that depends on the lightness of the subject's own colour, or on the distance.
fn second_colour(
    studio: &Studio<'_>,
    subject: Subject,
    stand: Stand,
    own: Rgb,
) -> Option<(&'static str, Rgb)> {
    let light = own.lightness();
    let near_own = |other: Rgb| other.to(own, 0.5).colourfulness();
    Some(match subject {
        Subject::Cat if light > 0.42 => ("stripe", own.lift(-0.14)),
        Subject::Cat => ("stripe", own.lift(0.07)),
        Subject::Horse if light > 0.75 => ("mane", own.lift(-0.22).tint(hex(0xC9A06A), 0.3)),
        Subject::Horse => ("mane", own.lift(-0.16)),
        Subject::Person | Subject::Portrait => {
            let red = near_own(studio.palette.accent) > 0.16 && light > 0.6;
            ("scarf", hex(if red { 0xC84A34 } else { 0xF2C14E }))
        }
        Subject::Castle => {
            let distance = 0.25 + stand.distance * 0.5;
            ("land", studio.palette.at_distance(distance))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_in_the_order_of_the_subjects() {
        for (i, kind) in kinds::ALL.iter().enumerate() {
            assert_eq!(kind.0 as usize, i, "{:?}", kind.0);
        }
    }
}
