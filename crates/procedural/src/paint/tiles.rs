//! Abstract images of tiles: squares with quarter circles, rings, leaves and dots.

use crate::colour::Rgb;
use crate::exact::TURN;
use crate::fill::Fill;
use crate::seed::Seed;
use crate::shape::{Point, Shape, arc, stroke, trace};
use crate::studio::Studio;

/// Fills the whole image with tiles.
pub fn paint(studio: &mut Studio<'_>, colours: &[Rgb; 6], seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let across = [4.0, 5.0, 6.0][seed.below(3)];
    let columns = (w / s * across).round().max(1.0) as usize;
    let rows = (h / s * across).round().max(1.0) as usize;
    let (tw, th) = (w / columns as f32, h / rows as f32);
    let mut ground = 0;
    for cell in 0..rows * columns {
        let x = (cell % columns) as f32 * tw;
        let y = (cell / columns) as f32 * th;
        ground = (ground + 1 + seed.below(5)) % 6;
        let mut other = || colours[(ground + 1 + seed.below(5)) % 6];
        let (a, b) = (other(), other());
        let fill = Fill::deepening(colours[ground], (x, y), (x + tw * 0.4, y + th * 1.6));
        studio.fill(&Shape::rect(x, y, tw + 1.0, th + 1.0), &fill);
        tile(studio, (x, y), (tw, th), [a, b], seed);
    }
}

fn tile(
    studio: &mut Studio<'_>,
    (x, y): Point,
    (tw, th): Point,
    [a, b]: [Rgb; 2],
    seed: &mut Seed,
) {
    let corner = seed.below(4);
    let (cx, cy) = [(x, y), (x + tw, y), (x + tw, y + th), (x, y + th)][corner];
    let (ox, oy) = (2.0 * x + tw - cx, 2.0 * y + th - cy);
    let (mx, my) = (x + tw / 2.0, y + th / 2.0);
    let start = corner as f32 * TURN / 4.0;
    let pie = |r: f32| {
        let mut points = vec![(cx, cy)];
        points.extend(arc((cx, cy), (r * tw, r * th), start, TURN / 4.0, 36));
        Shape::polygon(points)
    };
    let fill = |c: Rgb| Fill::deepening(c, (cx, cy), (mx + (mx - cx), my + (my - cy)));
    match seed.below(6) {
        0 => {
            for (k, c) in [(1.0, a), (0.75, b), (0.5, a), (0.25, b)] {
                studio.fill(&pie(k), &fill(c));
            }
        }
        1 => {
            studio.fill(&pie(1.0), &fill(a));
            let dot = Shape::ellipse(mx, my, tw * 0.16, th * 0.16);
            studio.fill(&dot, &Fill::flat(b));
        }
        2 => {
            let radii = (tw * 0.42, th * 0.42);
            studio.fill(&Shape::ellipse(mx, my, radii.0, radii.1), &fill(a));
            let half = arc((mx, my), radii, start, TURN / 2.0, 40);
            studio.fill(&Shape::polygon(half), &fill(b));
        }
        3 => {
            let mut leaf = bow((cx, cy), (ox, cy), (ox, oy));
            leaf.extend(bow((ox, oy), (cx, oy), (cx, cy)));
            studio.fill(&Shape::polygon(leaf), &fill(a));
            let rib = stroke(&[(cx, cy), (ox, oy)], tw * 0.02, tw * 0.02);
            studio.fill(&rib, &Fill::flat(b));
        }
        4 => {
            let half = Shape::polygon(vec![(cx, cy), (ox, cy), (cx, oy)]);
            studio.fill(&half, &fill(a));
        }
        _ => {
            for i in 0..4 {
                let left = x + tw * (0.06 + 0.25 * i as f32);
                let bar = Shape::rect(left, y + th * 0.1, tw * 0.12, th * 0.8);
                studio.fill(&bar, &fill(if i % 2 == 0 { a } else { b }));
            }
        }
    }
}

/// A quadratic curve: its start, its control point and its end.
fn bow(from: Point, control: Point, to: Point) -> Vec<Point> {
    trace(24, |t| {
        let u = 1.0 - t;
        let along = |a: f32, b: f32, c: f32| u * u * a + 2.0 * u * t * b + t * t * c;
        (
            along(from.0, control.0, to.0),
            along(from.1, control.1, to.1),
        )
    })
}
