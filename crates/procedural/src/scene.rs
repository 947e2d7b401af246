//! The plan of an image: what it shows, where, when and in which technique. Pure data, without pixels.

use super::colour::Rgb;
use super::lexicon::{Light, Mood, Place, Season, Style, Subject, Time, Weather};
use super::seed::Seed;

/// One thing to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Actor {
    pub subject: Subject,
    /// If the prompt names one.
    pub colour: Option<Rgb>,
    pub count: u8,
    pub size: f32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Stage { #[default] Land, Water, City, Underwater, Space, StillLife, Portrait, Abstract }

/// Everything that the prompt decides.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In the order of the prompt.
    pub actors: Vec<Actor>,
    pub places: Vec<Place>,
    pub lights: Vec<Light>,
    pub time: Time,
    pub weather: Weather,
    pub season: Season,
    pub style: Style,
    pub moods: Vec<Mood>,
    /// A colour word without a noun, which tints everything.
    pub tint: Option<Rgb>,
    pub sky_colour: Option<Rgb>,
    pub ground_colour: Option<Rgb>,
    /// Does the prompt name something that the generator does not know?
    pub has_unknown: bool,
    /// Is the image abstract because the generator cannot draw anything that the prompt names?
    pub is_stand_in: bool,
    pub stage: Stage,
}

impl Plan {
    /// Adds what the prompt leaves open, and chooses the stage.
    pub fn complete(&mut self, seed: &mut Seed) {
        self.invent(seed);
        self.stage = self.find_stage();
    }

    pub fn at(&self, place: Place) -> bool {
        self.places.contains(&place)
    }

    pub fn shows(&self, subject: Subject) -> bool {
        self.actors.iter().any(|a| a.subject == subject)
    }

    pub fn actor(&self, subject: Subject) -> Option<Actor> {
        self.actors.iter().find(|a| a.subject == subject).copied()
    }

    pub fn has(&self, light: Light) -> bool {
        self.lights.contains(&light)
    }

    pub fn is_underwater(&self) -> bool {
        self.stage == Stage::Underwater
    }

    pub fn is_space(&self) -> bool {
        self.stage == Stage::Space
    }

    /// Is the ground sand?
    pub fn is_desert(&self) -> bool {
        self.at(Place::Desert)
    }

    /// Is there snow on the ground?
    pub fn is_snowy(&self) -> bool {
        self.weather == Weather::Snow || self.season == Season::Winter
    }

    /// Chooses a place, a time and a subject for a prompt without known things. If the prompt names something unknown, chooses an abstract
    /// image: any other would show the wrong thing.
    fn invent(&mut self, seed: &mut Seed) {
        let nightly = [Light::Stars, Light::Moon, Light::Aurora];
        let dark = self.moods.contains(&Mood::Dark) || nightly.iter().any(|l| self.has(*l));
        if dark && self.time == Time::Any {
            self.time = Time::Night;
        }
        self.is_stand_in = self.is_beyond_drawing();
        if self.is_stand_in {
            self.places = vec![Place::Abstract];
        }
        if !self.actors.is_empty() || !self.places.is_empty() {
            return;
        }
        let open = self.is_quiet() && self.time == Time::Any;
        let choice = seed.below(if open { 8 } else { 6 });
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
        if open {
            self.time = [Time::Any, Time::Sunset, Time::Dawn, Time::Night][seed.below(4)];
        }
    }

    /// Is everything that the prompt names unknown?
    fn is_beyond_drawing(&self) -> bool {
        if !self.actors.is_empty() {
            return false;
        }
        // A room alone gives no image: the generator would have to invent the things in it.
        let bare = [Place::Room, Place::Table];
        let indoors = !self.places.is_empty() && self.places.iter().all(|it| bare.contains(it));
        if indoors {
            return self.at(Place::Room) || self.has_unknown;
        }
        let low = matches!(self.time, Time::Dawn | Time::Sunset);
        self.has_unknown && self.places.is_empty() && self.is_quiet() && !low
    }

    fn find_stage(&self) -> Stage {
        use Place as P;
        use Subject as S;
        let shows = |list: &[Subject]| list.iter().any(|s| self.shows(*s));
        let wet = [P::Sea, P::Lake, P::River, P::Island, P::Beach];
        let wet = wet.iter().any(|p| self.at(*p));
        let anywhere = [P::StillLife, P::Table, P::Room, P::Abstract, P::Sky];
        let outdoors = self.places.iter().any(|p| !anywhere.contains(p));
        let afloat = shows(&[S::Boat, S::Lighthouse]);
        let swims = shows(&[S::Fish, S::Whale, S::Jellyfish, S::Turtle]);
        let flies = shows(&[S::Rocket, S::Planet, S::Astronaut]);
        let abstracted = self.at(P::Abstract) && self.actors.is_empty();
        let rules = [
            (self.at(P::Underwater), Stage::Underwater),
            (self.at(P::Space) && !self.at(P::City), Stage::Space),
            (swims && !afloat, Stage::Underwater),
            (self.at(P::City), Stage::City),
            (flies && !outdoors, Stage::Space),
            (self.shows(S::Portrait), Stage::Portrait),
            (abstracted && !outdoors, Stage::Abstract),
            (self.is_on_a_table(outdoors), Stage::StillLife),
            (self.is_of_one_person(outdoors), Stage::Portrait),
            (wet || afloat, Stage::Water),
        ];
        let first = rules.into_iter().find(|(holds, _)| *holds);
        first.map_or(Stage::Land, |(_, stage)| stage)
    }

    fn is_on_a_table(&self, outdoors: bool) -> bool {
        use Subject as S;
        let things = [
            S::Apple,
            S::Orange,
            S::Lemon,
            S::Pear,
            S::Cup,
            S::Vase,
            S::Candle,
            S::Book,
        ];
        let fits = |a: &Actor| things.contains(&a.subject);
        let indoors = [Place::StillLife, Place::Table, Place::Room];
        let indoors = indoors.iter().any(|it| self.at(*it));
        let first = self.actors.first().is_some_and(fits);
        let flowers = self.actors.iter().all(|a| a.subject == S::Flower);
        (!outdoors && (first || (indoors && self.actors.iter().any(fits)))) || (indoors && flowers)
    }

    /// Does the plan have one person, but no place, light or time?
    fn is_of_one_person(&self, outdoors: bool) -> bool {
        let alone = self.actors.len() == 1 && self.shows(Subject::Person);
        alone && !outdoors && self.is_quiet() && self.time == Time::Any
    }

    /// Does the prompt name neither weather nor season nor light?
    fn is_quiet(&self) -> bool {
        let fair = self.weather == Weather::Clear && self.season == Season::Any;
        fair && self.lights.is_empty()
    }
}
