//! Reads a prompt into a plan: which colour, number and size belong to which noun.

use super::colour::Rgb;
use super::lexicon::{Meaning, Place, Subject, is_neutral, meaning, sign};
use super::scene::{Actor, Plan};
use super::seed::Seed;

/// At most this many different things are drawn.
const SUBJECTS: usize = 6;
/// The number of words that are read. The seed uses the whole prompt.
const WORDS: usize = 400;
/// The distance of a colour word from its noun, in words ("red, very old house").
const COLOUR_REACH: usize = 3;

/// Reads a prompt into a plan. The seed decides what the prompt leaves open.
pub fn read(prompt: &str, seed: &mut Seed) -> Plan {
    let mut plan = Plan::default();
    let mut reader = Reader::default();
    let words = words(prompt);
    for (meaning, many) in words.meanings {
        reader.take(&mut plan, meaning, many);
    }
    plan.has_unknown = words.has_unknown;
    reader.end(&mut plan);
    plan.complete(seed);
    plan
}

/// Attributes that wait for their noun.
#[derive(Default)]
struct Reader {
    colour: Option<(Rgb, usize)>,
    count: Option<u8>,
    size: Option<f32>,
    not: usize,
}

impl Reader {
    fn take(&mut self, plan: &mut Plan, meaning: Option<Meaning>, many: bool) {
        if let Some((_, age)) = &mut self.colour {
            *age += 1;
        }
        self.not = self.not.saturating_sub(1);
        if self.colour.is_some_and(|(_, age)| age > COLOUR_REACH) {
            self.end(plan);
        }
        let Some(meaning) = meaning else { return };
        let noun = matches!(
            meaning,
            Meaning::Subject(_) | Meaning::Place(_) | Meaning::Light(_) | Meaning::Weather(_)
        );
        if noun && self.not > 0 {
            self.not = 0;
            return;
        }
        match meaning {
            Meaning::Subject(subject) => self.subject(plan, subject, many),
            Meaning::Place(place) => {
                if let Some((colour, _)) = self.colour.take() {
                    let target = if place == Place::Sky {
                        &mut plan.sky_colour
                    } else {
                        &mut plan.ground_colour
                    };
                    *target = Some(colour);
                }
                if !plan.places.contains(&place) && place != Place::Sky {
                    plan.places.push(place);
                }
            }
            Meaning::Light(light) => {
                if let Some((colour, _)) = self.colour.take() {
                    plan.tint.get_or_insert(colour);
                }
                if !plan.lights.contains(&light) {
                    plan.lights.push(light);
                }
            }
            Meaning::Time(time) => plan.time = time,
            Meaning::Weather(weather) => plan.weather = weather,
            Meaning::Season(season) => plan.season = season,
            Meaning::Style(style) => plan.style = style,
            Meaning::Mood(mood) if !plan.moods.contains(&mood) => plan.moods.push(mood),
            Meaning::Mood(_) => {}
            Meaning::Colour(colour) => {
                self.end(plan);
                self.colour = Some((colour, 0));
            }
            Meaning::Count(count) => self.count = Some(count),
            Meaning::Size(size) => self.size = Some(size),
            Meaning::Not => self.not = 4,
        }
    }

    fn subject(&mut self, plan: &mut Plan, subject: Subject, many: bool) {
        let colour = self.colour.take().map(|(c, _)| c);
        let count = self.count.take().unwrap_or(if many { 3 } else { 1 });
        let size = self.size.take().unwrap_or(1.0);
        if let Some(known) = plan.actors.iter_mut().find(|a| a.subject == subject) {
            known.colour = known.colour.or(colour);
            return;
        }
        if plan.actors.len() < SUBJECTS {
            plan.actors.push(Actor {
                subject,
                colour,
                count,
                size,
            });
        }
    }

    /// A colour with an unknown noun ("in a red coat") applies to the thing before it, or else tints the image.
    fn end(&mut self, plan: &mut Plan) {
        let Some((colour, _)) = self.colour.take() else {
            return;
        };
        match plan.actors.last_mut() {
            Some(actor) => {
                actor.colour.get_or_insert(colour);
            }
            None => {
                plan.tint.get_or_insert(colour);
            }
        }
    }
}

/// The words of a prompt.
#[derive(Default)]
struct Words {
    /// Unknown words are `None`, because they count as distance.
    meanings: Vec<(Option<Meaning>, bool)>,
    /// Does a word name something unknown?
    has_unknown: bool,
}

impl Words {
    fn add(&mut self, word: &str) {
        let found = meaning(word);
        // Known signs in the word are read separately.
        let named = || word.chars().any(|c| !c.is_ascii() && sign(c).is_some());
        self.has_unknown |= found.is_none() && !is_neutral(word) && !named();
        self.meanings
            .push(found.map_or((None, false), |(m, many)| (Some(m), many)));
    }
}

fn words(prompt: &str) -> Words {
    let mut found = Words::default();
    for word in prompt
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .filter(|w| !w.is_empty())
        .take(WORDS)
    {
        let lower: String = word
            .chars()
            .take(32)
            .flat_map(char::to_lowercase)
            .map(plain)
            .collect();
        match meaning(&lower) {
            None if lower.contains('-') => {
                let parts = lower.split('-').filter(|p| !p.is_empty());
                parts.for_each(|part| found.add(part));
            }
            _ => found.add(&lower),
        }
    }
    for c in prompt.chars().take(WORDS * 8) {
        if !c.is_ascii() {
            match sign(c) {
                Some(m) => found.meanings.push((Some(m), false)),
                None => found.has_unknown |= is_symbol(c),
            }
        }
    }
    found
}

/// A pictograph such as an emoji, but not a modifier of the character before it.
fn is_symbol(c: char) -> bool {
    let changes = matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}');
    matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}') && !changes
}

/// Removes the accent of a Latin letter.
fn plain(c: char) -> char {
    match c {
        'à'..='å' => 'a',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::colour::hex;
    use super::super::lexicon::Weather;
    use super::super::scene::Stage;
    use super::*;

    fn plan(prompt: &str) -> Plan {
        read(prompt, &mut Seed::of_request(prompt, &[]))
    }

    #[test]
    fn a_colour_applies_to_the_noun_after_it() {
        let p = plan("a red fox in the snow near a small blue house");
        assert_eq!(p.actors[0].subject, Subject::Fox);
        assert_eq!(p.actors[0].colour, Some(hex(0xC8321F)));
        assert_eq!(p.actors[1].subject, Subject::House);
        assert_eq!(p.actors[1].colour, Some(hex(0x2F6DB5)));
        assert_eq!(p.actors[1].size, 0.7);
        assert_eq!(
            (p.weather, p.stage, p.tint),
            (Weather::Snow, Stage::Land, None)
        );
    }

    #[test]
    fn negated_subjects_are_omitted() {
        let p = plan("a lake without any boats, no people");
        assert!(p.actors.is_empty());
        assert_eq!(p.stage, Stage::Water);
    }

    #[test]
    fn words_of_the_prompt_determine_the_stage() {
        for (prompt, stage) in [
            ("a whale", Stage::Underwater),
            ("neon city at night", Stage::City),
            ("a rocket among the stars", Stage::Space),
            ("a cup of coffee and two lemons", Stage::StillLife),
            ("portrait of a queen", Stage::Portrait),
            ("abstract geometric composition", Stage::Abstract),
            ("sailboat at sunset", Stage::Water),
            ("un renard dans la neige", Stage::Land),
        ] {
            assert_eq!(plan(prompt).stage, stage, "{prompt}");
        }
    }

    #[test]
    fn characters_of_other_scripts_and_emoji_are_recognized() {
        assert_eq!(plan("雪の中の狐").actors[0].subject, Subject::Fox);
        assert!(plan("🦊❄️").is_snowy());
    }

    #[test]
    fn a_prompt_that_cannot_be_drawn_becomes_an_abstract_image() {
        for prompt in [
            "a bowl of ramen",
            "a living room with a sofa",
            "a wooden sign that says OPEN",
            "a bowl of ramen on a wooden table",
            "an electric guitar at night",
            "a kitchen",
            "qwzx",
            "🍜",
            "שלום עולם",
            "minimal logo of a bakery, blue",
        ] {
            let plan = plan(prompt);
            assert_eq!(plan.stage, Stage::Abstract, "{prompt}");
            assert!(plan.is_stand_in, "{prompt}");
        }
    }

    #[test]
    fn a_prompt_of_only_light_weather_or_a_table_is_drawn_without_a_substitute() {
        for prompt in [
            "",
            "night",
            "a beautiful sunset, highly detailed, 4k",
            "rain over nothing",
            "a winter morning",
            "朝",
            "静かな夜",
            "red",
        ] {
            assert!(!plan(prompt).is_stand_in, "{prompt}");
        }
        assert!(!plan("abstract sound of a trombone").is_stand_in);
        assert_eq!(plan("still life").stage, Stage::StillLife);
        assert_eq!(plan("still life with oysters").stage, Stage::StillLife);
        assert_eq!(plan("a table").stage, Stage::StillLife);
        assert_eq!(plan("a cup on a kitchen table").stage, Stage::StillLife);
        assert_eq!(plan("a dinosaur in the forest").stage, Stage::Land);
    }

    #[test]
    fn a_prompt_without_known_words_still_has_a_location() {
        for prompt in ["", "\u{301}\u{302}", "qwzx", "שלום עולם", "🧿"] {
            assert!(!plan(prompt).places.is_empty(), "{prompt:?}");
        }
    }
}
