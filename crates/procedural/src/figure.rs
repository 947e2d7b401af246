//! Figures: drawings in their own units that can stand anywhere, at any size, in any light.
//!
//! A figure is about 100 units high and stands at the origin; y grows downward, so its head is near y = -100.

use super::colour::Rgb;
use super::exact::{cos, sin};
use super::ink::Ink;
use super::shape::{Point, Shape, curve, knots, stroke};
use super::studio::Studio;

/// Where and how a figure stands.
#[derive(Debug, Clone, Copy)]
pub struct Stand {
    /// The point of the picture at the figure's origin.
    pub at: Point,
    /// Height of 100 units in pixels.
    pub height: f32,
    /// Mirrored left to right.
    pub flip: bool,
    /// Turned clockwise, in radians.
    pub lean: f32,
    /// 0 near, 1 far away in the haze.
    pub distance: f32,
}

impl Stand {
    /// Upright and near.
    pub fn at(x: f32, y: f32, height: f32) -> Self {
        Self {
            at: (x, y),
            height,
            flip: false,
            lean: 0.0,
            distance: 0.0,
        }
    }

    /// The same, mirrored or not.
    pub fn flipped(mut self, flip: bool) -> Self {
        self.flip = flip;
        self
    }

    /// The same, seen through haze.
    pub fn far(mut self, distance: f32) -> Self {
        self.distance = distance;
        self
    }

    /// The same, turned.
    pub fn leaning(mut self, lean: f32) -> Self {
        self.lean = lean;
        self
    }
}

/// A figure that is being drawn.
#[derive(Debug)]
pub struct Figure<'s, 'p> {
    studio: &'s mut Studio<'p>,
    stand: Stand,
    turn: (f32, f32),
    /// How strongly edges are lit and shaded.
    pub relief: f32,
}

impl<'s, 'p> Figure<'s, 'p> {
    /// Begins a figure.
    pub fn new(studio: &'s mut Studio<'p>, stand: Stand) -> Self {
        Self {
            studio,
            stand,
            turn: (sin(stand.lean), cos(stand.lean)),
            relief: 1.0 - 0.6 * stand.distance,
        }
    }

    /// Pixels per unit.
    pub fn unit(&self) -> f32 {
        self.stand.height / 100.0
    }

    /// The point of the picture for a point of the figure.
    pub fn point(&self, p: Point) -> Point {
        let x = if self.stand.flip { -p.0 } else { p.0 };
        let (s, c) = self.turn;
        let k = self.unit();
        (
            self.stand.at.0 + k * (x * c - p.1 * s),
            self.stand.at.1 + k * (x * s + p.1 * c),
        )
    }

    /// The colour as it is seen in the picture's light.
    pub fn seen(&self, own: Rgb) -> Rgb {
        self.studio.palette.seen(own, self.stand.distance)
    }

    fn outline(&self, text: &str, closed: bool, change: impl Fn(Point) -> Point) -> Vec<Point> {
        let steps = (self.unit() * 2.0) as usize + 4;
        curve(&knots(text), closed, steps)
            .into_iter()
            .map(|p| self.point(change(p)))
            .collect()
    }

    fn put(&mut self, shape: &Shape, colour: Rgb, reach: f32, strength: f32) {
        let colour = self.seen(colour);
        let reach = reach * self.unit();
        let strength = strength * self.relief;
        if reach < 0.8 {
            self.studio.canvas.fill(shape, &Ink::flat(colour));
        } else {
            self.studio.solid(shape, colour, reach, strength);
        }
    }

    /// A solid part with full light and shade.
    pub fn part(&mut self, text: &str, colour: Rgb) {
        let shape = Shape::polygon(self.outline(text, true, |p| p));
        self.put(&shape, colour, 5.0, 1.0);
    }

    /// A flat patch with little light of its own.
    pub fn patch(&mut self, text: &str, colour: Rgb) {
        let shape = Shape::polygon(self.outline(text, true, |p| p));
        self.put(&shape, colour, 2.5, 0.45);
    }

    /// A patch and its mirror image about the line `x = axis`.
    pub fn pair(&mut self, text: &str, axis: f32, colour: Rgb) {
        for side in [false, true] {
            let mirror = |p: Point| if side { (2.0 * axis - p.0, p.1) } else { p };
            let shape = Shape::polygon(self.outline(text, true, mirror));
            self.put(&shape, colour, 2.5, 0.45);
        }
    }

    /// Two solid parts, mirrored about the line `x = axis`.
    pub fn parts(&mut self, text: &str, axis: f32, colour: Rgb) {
        for side in [false, true] {
            let mirror = |p: Point| if side { (2.0 * axis - p.0, p.1) } else { p };
            let shape = Shape::polygon(self.outline(text, true, mirror));
            self.put(&shape, colour, 4.0, 0.9);
        }
    }

    /// A translucent flat patch, for shadows and blushes.
    pub fn veil(&mut self, text: &str, colour: Rgb, opacity: f32) {
        let shape = Shape::polygon(self.outline(text, true, |p| p));
        let colour = self.seen(colour);
        self.studio
            .canvas
            .fill(&shape, &Ink::flat(colour).faint(opacity));
    }

    /// A filled ellipse.
    pub fn oval(&mut self, centre: Point, rx: f32, ry: f32, colour: Rgb) {
        let shape = Shape::ellipse(0.0, 0.0, rx * self.unit(), ry * self.unit());
        let k = self.unit();
        let shape = shape.map(|p| self.point((centre.0 + p.0 / k, centre.1 + p.1 / k)));
        self.put(
            &shape,
            colour,
            2.0 + rx.min(ry) * 0.15,
            if rx.min(ry) > 6.0 { 0.9 } else { 0.25 },
        );
    }

    /// An open line from one width to another, in units.
    pub fn line(&mut self, text: &str, from: f32, to: f32, colour: Rgb) {
        let line = self.outline(text, false, |p| p);
        let shape = stroke(&line, from * self.unit(), to * self.unit());
        self.put(&shape, colour, 1.2, 0.5);
    }

    /// A translucent line, for steam and smoke.
    pub fn wisp(&mut self, text: &str, from: f32, to: f32, colour: Rgb, opacity: f32) {
        let line = self.outline(text, false, |p| p);
        let shape = stroke(&line, from * self.unit(), to * self.unit());
        let colour = self.seen(colour);
        self.studio
            .canvas
            .fill(&shape, &Ink::flat(colour).faint(opacity));
    }

    /// A small dot that is not shaded, such as the light in an eye.
    pub fn spark(&mut self, centre: Point, radius: f32, colour: Rgb) {
        let (at, r) = (self.point(centre), radius * self.unit());
        self.studio.canvas.dot(at, r.max(0.5), colour, 1.0);
    }

    /// Light around a point of the figure.
    pub fn glow(&mut self, centre: Point, radius: f32, colour: Rgb, strength: f32) {
        let (at, r) = (self.point(centre), radius * self.unit());
        self.studio.canvas.glow(at, r, colour, strength);
    }

    /// The soft shadow on the ground, away from the light.
    pub fn shadow(&mut self, half: f32, colour: Rgb) {
        let k = self.unit();
        let away = -self.studio.toward_light(self.stand.at).0;
        let (x, y) = self.stand.at;
        let centre = (x + away * half * 0.7 * k, y);
        let opacity = 0.62 * (1.0 - self.stand.distance);
        self.studio
            .canvas
            .pool(centre, half * 1.4 * k, half * 0.22 * k, colour, opacity);
    }
}
