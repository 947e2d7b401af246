//! The state that all painters share: canvas, colours, plan and light.

use super::canvas::Canvas;
use super::colour::Rgb;
use super::exact::mix;
use super::fill::{Edge, Fill};
use super::lexicon::Time;
use super::palette::{self, Palette};
use super::scene::Plan;
use super::seed::{Seed, lattice};
use super::shape::{Point, Shape};

/// An image while it is painted.
#[derive(Debug)]
pub struct Studio<'p> {
    pub canvas: Canvas,
    pub palette: Palette,
    pub plan: &'p Plan,
    /// Painters use their own branches of it.
    pub seed: Seed,
    /// The position of sun or moon.
    pub sun: Point,
    pub sun_radius: f32,
    /// In pixels from the top.
    pub horizon: f32,
    /// Is the subject right of the middle?
    pub right: bool,
}

impl<'p> Studio<'p> {
    /// Chooses the light and the horizon for an image of this size.
    pub fn new(plan: &'p Plan, seed: &Seed, width: u32, height: u32) -> Self {
        let canvas = Canvas::new(width, height);
        let palette = palette::choose(plan, &mut seed.branch(1));
        let mut own = seed.branch(2);
        let (w, h, s) = (canvas.w(), canvas.h(), canvas.short());
        let right = own.chance(0.5);
        let horizon = h * (own.range(0.56, 0.62) + 0.06 * ((h / w - 1.0).clamp(0.0, 1.0)));
        // On a tall scroll the ground stays at the bottom, and the scenery above it fills the rest.
        let horizon = horizon.max(h - 1.25 * s);
        let low = matches!(plan.time, Time::Sunset | Time::Dawn);
        let third = if right {
            own.range(0.24, 0.36)
        } else {
            own.range(0.64, 0.76)
        };
        let rise = if low {
            own.range(0.10, 0.17)
        } else {
            own.range(0.30, 0.40)
        };
        let height = (horizon - rise * s.max(h * 0.5)).max(s * 0.16);
        // A scroll is read from the top, and its ranges would hide a low sun.
        let height = if h > 1.9 * w {
            h * own.range(0.10, 0.15)
        } else {
            height
        };
        let sun = (w * third, height);
        let sun_radius = s * if low {
            own.range(0.075, 0.10)
        } else {
            own.range(0.05, 0.07)
        };
        Self {
            canvas,
            palette,
            plan,
            seed: seed.clone(),
            sun,
            sun_radius,
            horizon,
            right,
        }
    }

    pub fn size(&self) -> (f32, f32, f32) {
        (self.w(), self.h(), self.short())
    }

    pub fn w(&self) -> f32 {
        self.canvas.width as f32
    }

    pub fn h(&self) -> f32 {
        self.canvas.height as f32
    }

    /// The short side, which is the unit for the sizes of subjects.
    pub fn short(&self) -> f32 {
        self.canvas.short()
    }

    pub fn fill(&mut self, shape: &Shape, fill: &Fill) {
        self.canvas.fill(shape, fill);
    }

    /// Fills a shape with one colour at an opacity.
    pub fn wash(&mut self, shape: Shape, colour: Rgb, opacity: f32) {
        self.canvas.fill(&shape, &Fill::flat(colour).faint(opacity));
    }

    /// Fills the whole image.
    pub fn cover(&mut self, fill: &Fill) {
        self.canvas
            .fill(&Shape::rect(0.0, 0.0, self.w(), self.h()), fill);
    }

    pub fn dot(&mut self, centre: Point, radius: f32, colour: Rgb, opacity: f32) {
        self.canvas.dot(centre, radius, colour, opacity);
    }

    /// Light around a point that fades outward.
    pub fn glow(&mut self, centre: Point, radius: f32, colour: Rgb, strength: f32) {
        self.canvas.glow(centre, radius, colour, strength);
    }

    /// 1 if the subject is right of the middle, -1 if left.
    pub fn side(&self) -> f32 {
        if self.right { 1.0 } else { -1.0 }
    }

    /// A band of the image's light along one side of a shape.
    pub fn rim(&self, toward: Point, reach: f32, strength: f32) -> Edge {
        Edge::new(toward, reach, self.palette.light, strength)
    }

    /// The horizontal position of the subject: on the third opposite the sun.
    pub fn stage_x(&self) -> f32 {
        self.canvas.w() * if self.right { 0.62 } else { 0.38 }
    }

    /// The vertical position of near things: slightly above the lower edge, more so on tall images.
    pub fn front_y(&self) -> f32 {
        let (w, h, s) = (self.canvas.w(), self.canvas.h(), self.canvas.short());
        h - s * (0.115 + 0.07 * (h / w - 1.0).clamp(0.0, 3.0))
    }

    /// Unit vector from a point to the light, which is never directly below.
    pub fn toward_light(&self, from: Point) -> Point {
        let dx = self.sun.0 - from.0;
        let dy = (self.sun.1 - from.1).min(-self.canvas.short() * 0.12);
        let length = (dx * dx + dy * dy).sqrt().max(1.0);
        (dx / length, dy / length)
    }

    /// A fill with light on the sunny side and shade on the other, `reach` pixels wide.
    pub fn modelled(&self, fill: Fill, at: Point, reach: f32, strength: f32) -> Fill {
        let toward = self.toward_light(at);
        let away = (-toward.0, -toward.1);
        let shade = Edge::new(away, reach * 2.2, self.palette.dark, 0.5 * strength);
        fill.lit(self.rim(toward, reach, 0.8 * strength))
            .shaded(shade)
    }

    /// Fills a shape with one modelled colour.
    pub fn solid(&mut self, shape: &Shape, colour: Rgb, reach: f32, strength: f32) {
        let (l, t, r, b) = shape.bounds();
        let mut fill = self.modelled(
            Fill::flat(colour),
            ((l + r) / 2.0, (t + b) / 2.0),
            reach,
            strength,
        );
        if let Some(shade) = &mut fill.edges[1] {
            // Shade is the thing's own colour, deeper and toward the dark of the scene. Black would look like soot.
            shade.colour = colour.lift(-0.16).to(self.palette.dark, 0.28);
            shade.strength = 0.72 * strength;
        }
        self.canvas.fill(shape, &fill);
    }
}

/// Smooth noise from 0 to 1 along a line.
pub fn noise(seed: u32, x: f32) -> f32 {
    let cell = x.floor();
    let t = x - cell;
    let t = t * t * (3.0 - 2.0 * t);
    mix(
        lattice(seed, cell as i32, 0),
        lattice(seed, cell as i32 + 1, 0),
        t,
    )
}

/// Five octaves of [`noise`], from 0 to 1.
pub fn rough(seed: u32, x: f32) -> f32 {
    let (mut sum, mut weight, mut scale) = (0.0, 0.5, 1.0);
    for octave in 0..5 {
        sum += weight * noise(seed.wrapping_add(octave), x * scale);
        weight *= 0.5;
        scale *= 2.1;
    }
    sum / 0.97
}
