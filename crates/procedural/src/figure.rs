//! Figures: drawings in their own units, which can be placed anywhere, at any size, in any light.
//!
//! A figure is about 100 units high, with its foot at the origin. y grows downward, so its head is near y = -100.

use super::colour::Rgb;
use super::exact::{cos, sin};
use super::fill::Fill;
use super::shape::{Knot, Point, Shape, curve, knots, stroke};
use super::studio::Studio;
use super::swatches::Swatches;

/// The placement of a figure.
#[derive(Debug, Clone, Copy)]
pub struct Stand {
    /// The position of the figure's origin in the image.
    pub at: Point,
    /// The height of 100 units, in pixels.
    pub height: f32,
    /// Mirrored left to right?
    pub flip: bool,
    /// Clockwise rotation, in radians.
    pub lean: f32,
    /// From 0 (near) to 1 (far away in the haze).
    pub distance: f32,
}

impl Stand {
    /// An upright figure near the viewer.
    pub fn at(x: f32, y: f32, height: f32) -> Self {
        Self {
            at: (x, y),
            height,
            flip: false,
            lean: 0.0,
            distance: 0.0,
        }
    }

    pub fn flipped(mut self, flip: bool) -> Self {
        self.flip = flip;
        self
    }

    /// Adds haze.
    pub fn far(mut self, distance: f32) -> Self {
        self.distance = distance;
        self
    }

    pub fn leaning(mut self, lean: f32) -> Self {
        self.lean = lean;
        self
    }
}

/// Includes a drawing from the folder `figures`.
macro_rules! drawing {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/figures/",
            $name,
            ".txt"
        ))
    };
}
pub(crate) use drawing;

/// The reach of light and shade along the edges, in units, and their strength.
type Relief = (f32, f32);

/// A figure while it is drawn.
#[derive(Debug)]
pub struct Figure<'s, 'p> {
    studio: &'s mut Studio<'p>,
    stand: Stand,
    turn: (f32, f32),
}

impl<'s, 'p> Figure<'s, 'p> {
    pub fn new(studio: &'s mut Studio<'p>, stand: Stand) -> Self {
        Self {
            studio,
            stand,
            turn: (sin(stand.lean), cos(stand.lean)),
        }
    }

    /// Maps a point of the figure to the image.
    pub fn point(&self, p: Point) -> Point {
        let x = if self.stand.flip { -p.0 } else { p.0 };
        let (s, c) = self.turn;
        let k = self.unit();
        (
            self.stand.at.0 + k * (x * c - p.1 * s),
            self.stand.at.1 + k * (x * s + p.1 * c),
        )
    }

    /// Draws a drawing line by line, from back to front.
    ///
    /// `#` begins a comment. `name = colour` defines a colour. Every other line is a layer: its kind, colour, sizes and points, as in
    /// `line own.lift(-0.1) 2 0.5 0,0 10,-5! 20,0`. A bar separates layers that differ only in their points. `night: ` before a line
    /// restricts it to images with that condition. Drawings are constants of this program, and the tests draw each of them, so
    /// invalid lines are ignored.
    pub fn draw(&mut self, drawing: &str, swatches: &Swatches<'_>) {
        let mut swatches = swatches.clone();
        for line in drawing.lines().filter(|line| !line.starts_with('#')) {
            let line = match line.split_once(": ") {
                Some((condition, _)) if !swatches.holds(condition) => continue,
                Some((_, layer)) => layer,
                None => line,
            };
            let drawn = if let Some((name, expression)) = line.split_once(" = ") {
                let colour = swatches.colour(expression);
                colour.map(|colour| swatches = swatches.clone().with(name, colour))
            } else {
                self.layers(line, &swatches)
            };
            debug_assert!(drawn.is_some(), "a drawing has the line `{line}`");
        }
    }

    fn layers(&mut self, line: &str, swatches: &Swatches<'_>) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        let (expression, rest) = rest.split_once(' ')?;
        let colour = swatches.colour(expression)?;
        let numbers = rest.split(' ').map_while(|word| word.parse().ok());
        let sizes: Vec<f32> = numbers.collect();
        rest.split(" | ")
            .try_for_each(|points| self.layer(kind, colour, &sizes, &knots(points)))
    }

    fn layer(&mut self, kind: &str, colour: Rgb, sizes: &[f32], knots: &[Knot]) -> Option<()> {
        match (kind, sizes) {
            // Solid parts with full light and shade, and flat patches with little light of their own.
            ("part", []) => self.area(knots, None, colour, (5.0, 1.0)),
            ("patch", []) => self.area(knots, None, colour, (2.5, 0.45)),
            // Parts and their mirror images, about the middle or another axis.
            ("parts", []) => self.mirrored(knots, 0.0, colour, (4.0, 0.9)),
            ("parts", [axis]) => self.mirrored(knots, *axis, colour, (4.0, 0.9)),
            ("pair", []) => self.mirrored(knots, 0.0, colour, (2.5, 0.45)),
            ("pair", [axis]) => self.mirrored(knots, *axis, colour, (2.5, 0.45)),
            // Open lines from one width to another.
            ("line", [from, to]) => self.line(knots, None, (*from, *to), colour),
            ("lines", [from, to]) => {
                self.line(knots, None, (*from, *to), colour);
                self.line(knots, Some(0.0), (*from, *to), colour);
            }
            // Translucent areas and lines, for shadows, blushes, steam and smoke.
            ("veil", [opacity]) => {
                let area = Shape::polygon(self.outline(knots, true, None));
                self.glaze(&area, colour, *opacity);
            }
            ("wisp", [from, to, opacity]) => {
                let line = self.stroke(knots, None, (*from, *to));
                self.glaze(&line, colour, *opacity);
            }
            ("oval", [rx, ry]) => knots.iter().for_each(|k| self.oval(k.0, *rx, *ry, colour)),
            // Small unshaded dots, such as the light in an eye.
            ("spark", [radius]) => {
                for (centre, _) in knots {
                    let (at, r) = (self.point(*centre), radius * self.unit());
                    self.studio.dot(at, r.max(0.5), colour, 1.0);
                }
            }
            ("glow", [radius, strength]) => {
                for (centre, _) in knots {
                    let (at, r) = (self.point(*centre), radius * self.unit());
                    self.studio.glow(at, r, colour, *strength);
                }
            }
            ("shadow", [half]) => self.shadow(*half, colour),
            _ => return None,
        }
        Some(())
    }

    /// Draws the soft shadow on the ground, away from the light.
    pub fn shadow(&mut self, half: f32, colour: Rgb) {
        let k = self.unit();
        let away = -self.studio.toward_light(self.stand.at).0;
        let (x, y) = self.stand.at;
        let centre = (x + away * half * 0.7 * k, y);
        let opacity = 0.62 * (1.0 - self.stand.distance);
        let canvas = &mut self.studio.canvas;
        canvas.pool(centre, half * 1.4 * k, half * 0.22 * k, colour, opacity);
    }

    /// Pixels per unit.
    fn unit(&self) -> f32 {
        self.stand.height / 100.0
    }

    /// The colour in the light of the image.
    fn seen(&self, own: Rgb) -> Rgb {
        self.studio.palette.seen(own, self.stand.distance)
    }

    /// The curve through the knots in image coordinates, mirrored about the line `x = axis` if given.
    fn outline(&self, knots: &[Knot], closed: bool, axis: Option<f32>) -> Vec<Point> {
        let steps = (self.unit() * 2.0) as usize + 4;
        let mirror = |p: Point| axis.map_or(p, |axis| (2.0 * axis - p.0, p.1));
        let curve = curve(knots, closed, steps).into_iter();
        curve.map(|p| self.point(mirror(p))).collect()
    }

    fn stroke(&self, knots: &[Knot], axis: Option<f32>, (from, to): (f32, f32)) -> Shape {
        let line = self.outline(knots, false, axis);
        stroke(&line, from * self.unit(), to * self.unit())
    }

    fn area(&mut self, knots: &[Knot], axis: Option<f32>, colour: Rgb, relief: Relief) {
        let shape = Shape::polygon(self.outline(knots, true, axis));
        self.fill(&shape, colour, relief);
    }

    fn mirrored(&mut self, knots: &[Knot], axis: f32, colour: Rgb, relief: Relief) {
        self.area(knots, None, colour, relief);
        self.area(knots, Some(axis), colour, relief);
    }

    fn line(&mut self, knots: &[Knot], axis: Option<f32>, widths: (f32, f32), colour: Rgb) {
        let shape = self.stroke(knots, axis, widths);
        self.fill(&shape, colour, (1.2, 0.5));
    }

    fn oval(&mut self, centre: Point, rx: f32, ry: f32, colour: Rgb) {
        let (k, r) = (self.unit(), rx.min(ry));
        let shape = Shape::ellipse(0.0, 0.0, rx * k, ry * k)
            .map(|p| self.point((centre.0 + p.0 / k, centre.1 + p.1 / k)));
        let strength = if r > 6.0 { 0.9 } else { 0.25 };
        self.fill(&shape, colour, (2.0 + r * 0.15, strength));
    }

    fn fill(&mut self, shape: &Shape, colour: Rgb, (reach, strength): Relief) {
        let colour = self.seen(colour);
        let reach = reach * self.unit();
        let strength = strength * (1.0 - 0.6 * self.stand.distance);
        if reach < 0.8 {
            self.studio.fill(shape, &Fill::flat(colour));
        } else {
            self.studio.solid(shape, colour, reach, strength);
        }
    }

    fn glaze(&mut self, shape: &Shape, colour: Rgb, opacity: f32) {
        let fill = Fill::flat(self.seen(colour)).faint(opacity);
        self.studio.fill(shape, &fill);
    }
}
