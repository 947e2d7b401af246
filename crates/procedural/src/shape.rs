//! Outlines as plain polygons, already in pixels.
//!
//! This module flattens curves, because the curve clipping of the rasteriser calls the platform's mathematics library. Its polygon
//! filling is exact.

use super::exact::{TURN, cos, sin};

/// A point in pixels or in a drawing's own units.
pub type Point = (f32, f32);

/// Closed polygons, filled together by the non-zero rule.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    pub contours: Vec<Vec<Point>>,
}

impl Shape {
    pub fn polygon(points: Vec<Point>) -> Self {
        Self {
            contours: vec![points],
        }
    }

    /// An upright rectangle.
    pub fn rect(x: f32, y: f32, w: f32, h: f32) -> Self {
        Self::polygon(vec![(x, y), (x + w, y), (x + w, y + h), (x, y + h)])
    }

    /// An upright ellipse.
    pub fn ellipse(cx: f32, cy: f32, rx: f32, ry: f32) -> Self {
        let segments = ((rx.max(ry)).sqrt() * 5.0).clamp(12.0, 160.0) as usize;
        let points = (0..segments)
            .map(|i| {
                let a = TURN * i as f32 / segments as f32;
                (cx + rx * cos(a), cy + ry * sin(a))
            })
            .collect();
        Self::polygon(points)
    }

    pub fn circle(centre: Point, r: f32) -> Self {
        Self::ellipse(centre.0, centre.1, r, r)
    }

    /// Adds the polygons of another shape.
    pub fn add(&mut self, other: Shape) {
        self.contours.extend(other.contours);
    }

    /// Applies a change to every point.
    pub fn map(mut self, change: impl Fn(Point) -> Point) -> Self {
        for point in self.contours.iter_mut().flatten() {
            *point = change(*point);
        }
        self
    }

    /// The bounding box: left, top, right, bottom.
    pub fn bounds(&self) -> (f32, f32, f32, f32) {
        let mut b = (f32::MAX, f32::MAX, f32::MIN, f32::MIN);
        for &(x, y) in self.contours.iter().flatten() {
            b = (b.0.min(x), b.1.min(y), b.2.max(x), b.3.max(y));
        }
        b
    }
}

/// A knot of an outline: its position, and whether the curve has a corner there.
pub type Knot = (Point, bool);

/// Parses an outline such as `"0,0 10,-5! 20,0"`: points in order, with `!` for a corner.
///
/// Ignores invalid points: the outlines are constants of this program, and a test parses each of them.
pub fn knots(text: &str) -> Vec<Knot> {
    text.split_ascii_whitespace()
        .filter_map(|word| {
            let (pair, corner) = word.strip_suffix('!').map_or((word, false), |w| (w, true));
            let (x, y) = pair.split_once(',')?;
            Some(((x.parse().ok()?, y.parse().ok()?), corner))
        })
        .collect()
}

/// The curve through the knots (a Catmull-Rom spline, straight tangents at corners) as a polygon or open line.
pub fn curve(knots: &[Knot], closed: bool, steps: usize) -> Vec<Point> {
    let n = knots.len();
    if n < 3 {
        return knots.iter().map(|k| k.0).collect();
    }
    let at = |i: isize| {
        let i = if closed {
            i.rem_euclid(n as isize)
        } else {
            i.clamp(0, n as isize - 1)
        };
        knots[i as usize]
    };
    let spans = if closed { n } else { n - 1 };
    let steps = steps.clamp(2, 40);
    let mut points = Vec::with_capacity(spans * steps + 1);
    for i in 0..spans as isize {
        let (p0, (p1, c1), (p2, c2), p3) = (at(i - 1).0, at(i), at(i + 1), at(i + 2).0);
        let t1 = if c1 {
            (p2.0 - p1.0, p2.1 - p1.1)
        } else {
            ((p2.0 - p0.0) / 2.0, (p2.1 - p0.1) / 2.0)
        };
        let t2 = if c2 {
            (p2.0 - p1.0, p2.1 - p1.1)
        } else {
            ((p3.0 - p1.0) / 2.0, (p3.1 - p1.1) / 2.0)
        };
        for k in 0..steps {
            let t = k as f32 / steps as f32;
            let (tt, ttt) = (t * t, t * t * t);
            let (a, b) = (2.0 * ttt - 3.0 * tt + 1.0, ttt - 2.0 * tt + t);
            let (c, d) = (-2.0 * ttt + 3.0 * tt, ttt - tt);
            points.push((
                a * p1.0 + b * t1.0 + c * p2.0 + d * t2.0,
                a * p1.1 + b * t1.1 + c * p2.1 + d * t2.1,
            ));
        }
    }
    if !closed {
        points.push(knots[n - 1].0);
    }
    points
}

/// `n + 1` points, for a parameter from 0 to 1.
pub fn trace(n: usize, point: impl Fn(f32) -> Point) -> Vec<Point> {
    (0..=n).map(|k| point(k as f32 / n as f32)).collect()
}

/// A part of an ellipse in `n` steps, from an angle on.
pub fn arc(centre: Point, (rx, ry): Point, start: f32, sweep: f32, n: usize) -> Vec<Point> {
    let angles = (0..=n).map(|k| start + sweep * k as f32 / n as f32);
    let point = |a| (centre.0 + rx * cos(a), centre.1 + ry * sin(a));
    angles.map(point).collect()
}

/// A brush stroke along a line, from one width to another.
pub fn stroke(line: &[Point], from: f32, to: f32) -> Shape {
    let n = line.len();
    if n < 2 {
        return Shape::default();
    }
    let (mut left, mut right) = (Vec::with_capacity(2 * n), Vec::with_capacity(n));
    for i in 0..n {
        let (a, b) = (line[i.saturating_sub(1)], line[(i + 1).min(n - 1)]);
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let length = (dx * dx + dy * dy).sqrt().max(1e-4);
        let half = (from + (to - from) * i as f32 / (n - 1) as f32) / 2.0;
        let (nx, ny) = (-dy / length * half, dx / length * half);
        left.push((line[i].0 + nx, line[i].1 + ny));
        right.push((line[i].0 - nx, line[i].1 - ny));
    }
    right.reverse();
    left.extend(right);
    Shape::polygon(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_are_read_with_their_corners() {
        assert_eq!(
            knots("1,2 -3.5,4!"),
            vec![((1.0, 2.0), false), ((-3.5, 4.0), true)]
        );
        assert!(knots("nonsense").is_empty());
    }

    #[test]
    fn a_curve_passes_through_its_knots() {
        let line = curve(&knots("0,0 10,10 20,0 10,-10"), true, 8);
        assert_eq!(line.len(), 32);
        assert_eq!(line[8], (10.0, 10.0));
        assert_eq!(curve(&knots("0,0 1,1"), false, 8).len(), 2);
    }
}
