//! The colours and conditions that a drawing names.

use super::colour::{Rgb, hex};
use super::lexicon::Time;
use super::studio::Studio;

/// Named colours, and the conditions that hold for the image.
#[derive(Debug, Clone)]
pub struct Swatches<'a> {
    colours: Vec<(&'a str, Rgb)>,
    conditions: Vec<&'a str>,
}

impl<'a> Swatches<'a> {
    /// The names for every drawing: its `own` colour, and the image's colours and light.
    pub fn of(studio: &Studio<'_>, own: Rgb) -> Self {
        let palette = &studio.palette;
        let (time, snow) = (studio.plan.time, studio.plan.is_snowy());
        let lit = snow || matches!(time, Time::Night | Time::Sunset);
        let conditions = [
            ("night", time == Time::Night),
            ("beam", time != Time::Day),
            (if snow { "snow" } else { "bare" }, true),
            (if lit { "lit" } else { "unlit" }, true),
        ];
        Self {
            colours: vec![
                ("own", own),
                ("ground", palette.ground[1]),
                ("foliage", palette.range[1]),
                ("haze", palette.sky[2]),
                ("accent", palette.accent),
                ("darkest", palette.dark),
            ],
            conditions: conditions.iter().filter(|c| c.1).map(|c| c.0).collect(),
        }
    }

    /// Adds a colour. A later one hides an earlier one of the same name.
    pub fn with(mut self, name: &'a str, colour: Rgb) -> Self {
        self.colours.push((name, colour));
        self
    }

    /// Adds a condition that holds.
    pub fn when(mut self, condition: &'a str) -> Self {
        self.conditions.push(condition);
        self
    }

    pub fn holds(&self, condition: &str) -> bool {
        self.conditions.contains(&condition)
    }

    /// Evaluates a colour expression: a name or `#RRGGBB`, with changes, as in `own.to(#F6E8CE,0.7).lift(-0.1)`.
    pub fn colour(&self, expression: &str) -> Option<Rgb> {
        let (name, mut changes) =
            expression.split_at(expression.find('.').unwrap_or(expression.len()));
        let mut colour = self.named(name)?;
        while let Some(change) = changes.strip_prefix('.') {
            let (verb, rest) = change.split_once('(')?;
            let (arguments, rest) = rest.split_once(')')?;
            let (other, amount) = arguments.split_once(',').unwrap_or(("own", arguments));
            let (other, amount) = (self.named(other)?, amount.parse().ok()?);
            colour = match verb {
                "lift" => colour.lift(amount),
                "turn" => colour.turn(amount),
                "to" => colour.to(other, amount),
                "tint" => colour.tint(other, amount),
                _ => return None,
            };
            changes = rest;
        }
        Some(colour)
    }

    fn named(&self, name: &str) -> Option<Rgb> {
        if let Some(digits) = name.strip_prefix('#') {
            return u32::from_str_radix(digits, 16).ok().map(hex);
        }
        let known = self.colours.iter().rev().find(|known| known.0 == name);
        known.map(|known| known.1)
    }
}
