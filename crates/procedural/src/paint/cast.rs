//! Which painter draws which subject, how large, and in what colour when the prompt does not say.

use crate::colour::{Rgb, hex};
use crate::figure::Stand;
use crate::lexicon::Subject;
use crate::scene::Actor;
use crate::seed::Seed;
use crate::studio::Studio;

use super::{
    birds, buildings, craft, flora, fox, objects, people, pets, planet, plants, swimmers, wild,
};

/// Where in a landscape a subject belongs.
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

/// The spot of a subject.
pub fn spot(subject: Subject) -> Spot {
    use Subject as S;
    match subject {
        S::House | S::Castle | S::Lighthouse | S::Windmill | S::Bridge | S::Tree => Spot::Back,
        S::Balloon | S::Planet | S::Butterfly | S::Rocket => Spot::Sky,
        S::Flower => Spot::Carpet,
        _ => Spot::Front,
    }
}

/// Height of a subject as a part of the picture's short side, when it is the only one.
pub fn height(subject: Subject) -> f32 {
    use Subject as S;
    match subject {
        S::Fox | S::Dog | S::Robot => 0.44,
        S::Wolf | S::Bear | S::Person => 0.47,
        S::Cat | S::Owl | S::Penguin => 0.42,
        S::Rabbit => 0.38,
        S::Deer | S::Horse => 0.54,
        S::Bird => 0.34,
        S::Butterfly => 0.26,
        S::Tree => 0.72,
        S::House | S::Tent => 0.34,
        S::Castle => 0.50,
        S::Lighthouse => 0.55,
        S::Windmill => 0.50,
        S::Bridge => 0.30,
        S::Balloon => 0.46,
        S::Rocket => 0.50,
        S::Boat => 0.34,
        S::Mushroom => 0.36,
        S::Fish | S::Whale | S::Turtle => 0.40,
        S::Jellyfish => 0.46,
        S::Astronaut => 0.50,
        S::Planet | S::Portrait | S::Flower => 0.40,
        S::Apple | S::Orange | S::Lemon | S::Pear | S::Cup | S::Vase | S::Candle | S::Book => 0.30,
    }
}

/// The colour of a subject: what the prompt says, made natural for animals, or one that suits it.
pub fn colour(actor: &Actor, seed: &mut Seed) -> Rgb {
    use Subject as S;
    let natural = |list: &[u32], seed: &mut Seed| hex(list[seed.below(list.len())]);
    let own = match actor.subject {
        S::Fox => natural(&[0xE0602A], seed),
        S::Wolf => natural(&[0x8C96A4, 0x727C8C], seed),
        S::Cat => natural(&[0xDE8F4A, 0x6E7080, 0x38343E, 0xE9D6B8], seed),
        S::Dog => natural(&[0xC98A4C, 0x8A5836, 0xE3BE84, 0x4A4046], seed),
        S::Rabbit => natural(&[0xB99A7C, 0xD9C8B0, 0x9C8E88], seed),
        S::Bear => natural(&[0x7A4E30, 0x5E3E2C], seed),
        S::Owl => natural(&[0x8A6440, 0x9A7A58, 0x7C6A6A], seed),
        S::Bird => natural(&[0x4A7AA8, 0x8A6A50, 0x3F8A80], seed),
        S::Deer => natural(&[0xA9683A, 0xB9783E], seed),
        S::Horse => natural(&[0x8A5230, 0x5E3A2A, 0xE9DCC8], seed),
        S::Penguin => natural(&[0x2A2C3A], seed),
        S::Butterfly => natural(&[0xE8843A, 0x4A86D0, 0xB85AC0], seed),
        S::Fish => natural(&[0xF0803A, 0xF2B53A, 0xE05A5A], seed),
        S::Whale => natural(&[0x3A5E86, 0x2F4E70], seed),
        S::Jellyfish => natural(&[0xE88AC0, 0x9AA8F2, 0xF2A08A], seed),
        S::Turtle => natural(&[0x6E7A3A, 0x8A6A3A], seed),
        S::Person | S::Portrait => natural(&[0xC8442E, 0xE0A030, 0x2E6E8A, 0x3E7A5A], seed),
        S::Robot => natural(&[0x9AB4BE, 0xE9C46A, 0xC9D2D4], seed),
        S::Astronaut => hex(0xF2F0EA),
        S::House => natural(&[0xB8503A, 0xE6D5B0, 0x6E8A94, 0xD9A25A], seed),
        S::Castle => natural(&[0xC9BBA6, 0xA8A4A8], seed),
        S::Lighthouse | S::Boat | S::Mushroom | S::Rocket => hex(0xC8402E),
        S::Windmill => hex(0xE8DCC4),
        S::Bridge => hex(0xA89A88),
        S::Tent => natural(&[0xE8963A, 0x3F8A86], seed),
        S::Balloon => natural(&[0xD84A34, 0x2E7A96, 0xE89A34], seed),
        S::Planet => natural(&[0xE0985A, 0x6AA8C0, 0xC87A9A], seed),
        S::Flower => natural(&[0xE0503A, 0xE86A9A, 0xF2C23A, 0x9A6AD0, 0xF4EEE6], seed),
        S::Tree => natural(&[0x5E9A4A, 0x3F8A5A], seed),
        S::Apple => natural(&[0xC8322E, 0x8AB04A], seed),
        S::Orange => hex(0xF0892A),
        S::Lemon => hex(0xF4D03A),
        S::Pear => hex(0xC9C04A),
        S::Cup => natural(&[0xF2ECE0, 0x3E7A8A, 0xD8704A], seed),
        S::Vase => natural(&[0x2E6E8A, 0xD8785A, 0xE9DFC8], seed),
        S::Candle => hex(0xF6EEDA),
        S::Book => natural(&[0x8A2E34, 0x2E5A6E, 0x3E6A4A], seed),
    };
    match (actor.colour, actor.subject) {
        // "A red fox" and "a brown bear" name a coat, not a paint.
        (Some(said), S::Fox)
            if said.to(own, 0.5).colourfulness() > 0.12 && said.r > said.b + 60.0 =>
        {
            own.to(said, 0.25)
        }
        (
            Some(said),
            S::Bear | S::Deer | S::Horse | S::Dog | S::Cat | S::Wolf | S::Rabbit | S::Owl,
        ) => said.chroma(0.9),
        (Some(said), _) => said,
        (None, _) => own,
    }
}

/// Draws one subject.
pub fn draw(studio: &mut Studio<'_>, subject: Subject, stand: Stand, colour: Rgb, seed: &mut Seed) {
    use Subject as S;
    match subject {
        S::Fox | S::Wolf => fox::draw(studio, stand, colour),
        S::Cat => pets::cat(studio, stand, colour),
        S::Dog => pets::dog(studio, stand, colour),
        S::Rabbit => pets::rabbit(studio, stand, colour),
        S::Bear => wild::bear(studio, stand, colour),
        S::Deer => wild::deer(studio, stand, colour),
        S::Horse => wild::horse(studio, stand, colour),
        S::Owl => birds::owl(studio, stand, colour),
        S::Bird => birds::songbird(studio, stand, colour),
        S::Penguin => birds::penguin(studio, stand, colour),
        S::Butterfly => birds::butterfly(studio, stand.leaning(seed.range(-0.5, 0.5)), colour),
        S::Fish => swimmers::fish(studio, stand, colour),
        S::Whale => swimmers::whale(studio, stand, colour),
        S::Jellyfish => swimmers::jellyfish(studio, stand, colour),
        S::Turtle => swimmers::turtle(studio, stand, colour),
        S::Person | S::Portrait => people::walker(studio, stand, colour),
        S::Robot => people::robot(studio, stand, colour),
        S::Astronaut => people::astronaut(studio, stand, colour),
        S::House => buildings::house(studio, stand, colour),
        S::Castle => buildings::castle(studio, stand, colour),
        S::Lighthouse => buildings::lighthouse(studio, stand, colour),
        S::Windmill => buildings::windmill(studio, stand, colour),
        S::Bridge => buildings::bridge(studio, stand, colour),
        S::Tent => buildings::tent(studio, stand, colour),
        S::Boat => craft::boat(studio, stand, colour, hex(0xF8EFDC)),
        S::Balloon => craft::balloon(studio, stand, colour),
        S::Rocket => craft::rocket(studio, stand.leaning(stand.lean + 0.35), colour),
        S::Planet => planet::draw(studio, stand.at, stand.height * 0.45, colour, true),
        S::Flower => plants::flower(studio, stand, colour, seed.below(3)),
        S::Mushroom => plants::mushroom(studio, stand, colour),
        S::Tree => {
            let bark = studio.palette.dark.to(hex(0x5A4030), 0.6);
            let leaf = studio.palette.seen(colour, stand.distance);
            flora::broad(studio, stand.at, stand.height, leaf, bark, seed);
        }
        S::Apple | S::Orange | S::Lemon | S::Pear | S::Cup | S::Vase | S::Candle | S::Book => {
            objects::draw(studio, subject, stand, colour, seed);
        }
    }
}
