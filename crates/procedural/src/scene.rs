//! From words to a plan: what the picture shows, where, when and in which manner. Pure data, no pixels.

use super::colour::Rgb;
use super::lexicon::{Light, Mood, Place, Season, Style, Subject, Time, Weather};
use super::seed::Seed;

/// One thing to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Actor {
    /// What it is.
    pub subject: Subject,
    /// Its colour, if the prompt says one.
    pub colour: Option<Rgb>,
    /// How many.
    pub count: u8,
    /// Relative size.
    pub size: f32,
}

/// The kind of picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Stage { Land, Water, City, Underwater, Space, StillLife, Portrait, Abstract }

/// All that the prompt decides.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Things to draw, in the order of the prompt.
    pub actors: Vec<Actor>,
    /// Places that are named.
    pub places: Vec<Place>,
    /// Lights that are named.
    pub lights: Vec<Light>,
    /// Time of day.
    pub time: Time,
    /// Weather.
    pub weather: Weather,
    /// Season.
    pub season: Season,
    /// Technique.
    pub style: Style,
    /// What bends the colours.
    pub moods: Vec<Mood>,
    /// A colour word without a noun: it tints everything.
    pub tint: Option<Rgb>,
    /// The colour of the sky, if said.
    pub sky_colour: Option<Rgb>,
    /// The colour of the ground, if said.
    pub ground_colour: Option<Rgb>,
    /// The kind of picture.
    pub stage: Stage,
}

impl Plan {
    /// A plan that names nothing yet.
    pub fn empty() -> Self {
        Self {
            actors: Vec::new(),
            places: Vec::new(),
            lights: Vec::new(),
            time: Time::Any,
            weather: Weather::Clear,
            season: Season::Any,
            style: Style::Print,
            moods: Vec::new(),
            tint: None,
            sky_colour: None,
            ground_colour: None,
            stage: Stage::Land,
        }
    }

    /// Adds what the prompt left open, and finds the stage for all of it.
    pub fn complete(&mut self, seed: &mut Seed) {
        self.invent(seed);
        self.stage = self.find_stage();
    }

    /// Whether a place is named.
    pub fn at(&self, place: Place) -> bool {
        self.places.contains(&place)
    }

    /// Whether a thing is named.
    pub fn shows(&self, subject: Subject) -> bool {
        self.actors.iter().any(|a| a.subject == subject)
    }

    /// Whether a light is named.
    pub fn has(&self, light: Light) -> bool {
        self.lights.contains(&light)
    }

    /// Whether the picture is under water.
    pub fn is_underwater(&self) -> bool {
        self.stage == Stage::Underwater
    }

    /// Whether the picture is in space.
    pub fn is_space(&self) -> bool {
        self.stage == Stage::Space
    }

    /// Whether the ground is sand.
    pub fn is_desert(&self) -> bool {
        self.at(Place::Desert)
    }

    /// Whether snow lies.
    pub fn is_snowy(&self) -> bool {
        self.weather == Weather::Snow || self.season == Season::Winter
    }

    /// A prompt that names nothing the generator knows still gets a place, a time and something to look at.
    fn invent(&mut self, seed: &mut Seed) {
        let nothing = self.actors.is_empty() && self.places.is_empty();
        let nightly = [Light::Stars, Light::Moon, Light::Aurora]
            .iter()
            .any(|l| self.has(*l));
        if nightly && self.time == Time::Any {
            self.time = Time::Night;
        }
        if self.moods.contains(&Mood::Dark) && self.time == Time::Any {
            self.time = Time::Night;
        }
        if !nothing {
            return;
        }
        let quiet =
            self.lights.is_empty() && self.weather == Weather::Clear && self.season == Season::Any;
        let choice = if quiet && self.time == Time::Any {
            seed.below(8)
        } else {
            seed.below(6)
        };
        let places: &[Place] = match choice {
            0 => &[Place::Mountain, Place::Lake],
            1 => &[Place::Hill],
            2 => &[Place::Sea],
            3 => &[Place::Mountain, Place::Forest],
            4 => &[Place::Desert],
            5 => &[Place::Lake, Place::Forest],
            _ => &[Place::Abstract],
        };
        let places = if self.is_snowy() && choice != 0 {
            &[Place::Mountain, Place::Forest]
        } else {
            places
        };
        self.places.extend_from_slice(places);
        if quiet && self.time == Time::Any {
            self.time = [Time::Any, Time::Sunset, Time::Dawn, Time::Night][seed.below(4)];
        }
    }

    fn find_stage(&self) -> Stage {
        let shows = |list: &[Subject]| list.iter().any(|s| self.shows(*s));
        let outdoors = self
            .places
            .iter()
            .any(|p| !matches!(p, Place::Indoors | Place::Abstract | Place::Sky));
        let wet = [
            Place::Sea,
            Place::Lake,
            Place::River,
            Place::Island,
            Place::Beach,
        ]
        .iter()
        .any(|p| self.at(*p));
        let afloat = shows(&[Subject::Boat, Subject::Lighthouse]);
        if self.at(Place::Underwater) {
            return Stage::Underwater;
        }
        if self.at(Place::Space) && !self.at(Place::City) {
            return Stage::Space;
        }
        if shows(&[
            Subject::Fish,
            Subject::Whale,
            Subject::Jellyfish,
            Subject::Turtle,
        ]) && !afloat
        {
            return Stage::Underwater;
        }
        if self.at(Place::City) {
            return Stage::City;
        }
        if shows(&[Subject::Rocket, Subject::Planet, Subject::Astronaut]) && !outdoors {
            return Stage::Space;
        }
        if self.shows(Subject::Portrait) {
            return Stage::Portrait;
        }
        if self.at(Place::Abstract) && self.actors.is_empty() && !outdoors {
            return Stage::Abstract;
        }
        let table = [
            Subject::Apple,
            Subject::Orange,
            Subject::Lemon,
            Subject::Pear,
            Subject::Cup,
            Subject::Vase,
            Subject::Candle,
            Subject::Book,
        ];
        let leading = self
            .actors
            .first()
            .is_some_and(|a| table.contains(&a.subject));
        if !outdoors && (leading || (self.at(Place::Indoors) && shows(&table))) {
            return Stage::StillLife;
        }
        if self.at(Place::Indoors) && self.actors.iter().all(|a| a.subject == Subject::Flower) {
            return Stage::StillLife;
        }
        let bare = !outdoors
            && self.weather == Weather::Clear
            && self.season == Season::Any
            && self.lights.is_empty();
        if bare && self.actors.len() == 1 && self.shows(Subject::Person) && self.time == Time::Any {
            return Stage::Portrait;
        }
        if wet || afloat {
            Stage::Water
        } else {
            Stage::Land
        }
    }
}
