//! A bank: the ground below a line across the whole image.

use crate::fill::Fill;
use crate::shape::{Point, Shape};
use crate::studio::Studio;

/// Everything below a line, down to `bottom`.
pub fn fill(studio: &mut Studio<'_>, line: impl Fn(f32) -> f32, bottom: f32, fill: &Fill) {
    let (w, _, s) = studio.size();
    let step = s / 130.0;
    let margin = s * 0.12;
    let mut points: Vec<Point> = Vec::new();
    let mut x = -margin;
    while x < w + margin {
        points.push((x, line(x)));
        x += step;
    }
    points.push((w + margin, bottom));
    points.push((-margin, bottom));
    studio.fill(&Shape::polygon(points), fill);
}
