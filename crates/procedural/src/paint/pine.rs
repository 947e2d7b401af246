//! Conifers, built of skirts from the ground up, with snow on them if there is snow.

use crate::colour::Rgb;
use crate::fill::{Along, Edge, Fill, Gradient};
use crate::seed::Seed;
use crate::shape::{Point, Shape};
use crate::studio::Studio;

/// A conifer; `snow` is the colour of the snow on it.
pub fn pine(
    studio: &mut Studio<'_>,
    (x, y): Point,
    height: f32,
    colour: Rgb,
    snow: Option<Rgb>,
    seed: &mut Seed,
) {
    let s = studio.short();
    let tiers = if height > s * 0.3 {
        11
    } else if height > s * 0.12 {
        8
    } else {
        6
    };
    let spread = height * seed.range(0.22, 0.28);
    let (left, top) = (x - height * 0.018, y - height * 0.14);
    let trunk = Shape::rect(left, top, height * 0.036, height * 0.145);
    studio.wash(trunk, colour.lift(-0.08), 1.0);
    let light = studio.palette.light;
    let toward = studio.toward_light((x, y)).0 * spread * 0.9;
    let span = Along::Line((x + toward, 0.0), (x - toward, 0.0));
    let lit = colour.to(light, 0.16);
    let tones = Gradient::of(&[lit, colour, colour.lift(-0.04), colour.lift(-0.09)]);
    let under = colour.lift(-0.10).to(studio.palette.dark, 0.4);
    let needles = Fill::gradient(tones, span).stippled(0.6).shaded(Edge::new(
        (0.0, -1.0),
        height * 0.035,
        under,
        0.75,
    ));
    let white = snow.map(|snow| {
        let shade = snow.to(studio.palette.ground[1], 0.6);
        let tones = Gradient::of(&[snow.to(light, 0.3), snow, shade, shade]);
        Fill::gradient(tones, span).stippled(0.5)
    });
    for tier in (0..tiers).rev() {
        let t = (tier as f32 + 1.0) / tiers as f32;
        let skirt = Skirt {
            x,
            reach: spread * (0.10 + 0.90 * t) * seed.range(0.90, 1.08),
            level: y - height * (0.06 + 0.94 * (1.0 - t)),
            height,
            tiers: tiers as f32,
        };
        studio.fill(&skirt.needles(5 + tier / 2, seed), &needles);
        if let Some(white) = &white {
            studio.fill(&skirt.snow(2 + tier / 3, seed), white);
        }
    }
}

/// One tier of branches of a conifer that is `height` high.
struct Skirt {
    x: f32,
    reach: f32,
    level: f32,
    height: f32,
    tiers: f32,
}

impl Skirt {
    fn needles(&self, fringe: usize, seed: &mut Seed) -> Shape {
        let Self {
            x,
            reach,
            level,
            height,
            tiers,
        } = *self;
        let peak = level - height * (1.9 / tiers + 0.02);
        let shoulder = level - height * 0.62 / tiers;
        let mut points = vec![(x, peak), (x - reach * 0.52, shoulder)];
        let step = 1.0 / fringe as f32;
        for k in 0..=fringe * 2 {
            let mut f = k as f32 * step - 1.0;
            if k > 0 && k < fringe * 2 {
                f += seed.range(-0.35, 0.35) * step;
            }
            let sag = height * 0.030 * f * f * f.abs();
            let tooth = if k % 2 == 0 {
                seed.range(0.1, 1.0)
            } else {
                -seed.range(0.0, 0.5)
            };
            let rim = level - height * 0.012 + sag + tooth * height * 0.28 / tiers;
            points.push((x + reach * f, rim));
        }
        points.push((x + reach * 0.52, shoulder));
        Shape::polygon(points)
    }

    /// Snow lies as a few pads, and leaves the fringe and some gaps dark.
    fn snow(&self, count: usize, seed: &mut Seed) -> Shape {
        let Self {
            x,
            reach,
            height,
            tiers,
            ..
        } = *self;
        let point = |f: f32, down: f32| (x + reach * f * 0.98, self.surface(f) + down);
        let mut pads = Shape::default();
        for pad in 0..count {
            let middle = (pad as f32 + 0.5 + seed.range(-0.22, 0.22)) / count as f32 * 2.0 - 1.0;
            let half = seed.range(0.62, 1.0) / count as f32;
            let along = |u: f32| (middle + half * u).clamp(-0.97, 0.97);
            let across = |k: usize| k as f32 / 8.0 * 2.0 - 1.0;
            let upper = (0..=8).map(|k| point(along(across(k)), height * 0.006));
            let mut points: Vec<Point> = upper.collect();
            let depth = height * seed.range(0.32, 0.58) / tiers;
            for k in (0..=8).rev() {
                let u = across(k);
                let ragged = if k % 2 == 0 {
                    1.0
                } else {
                    seed.range(0.6, 0.9)
                };
                let (px, py) = point(along(u), height * 0.008);
                points.push((px, py + (1.0 - u * u) * depth * ragged));
            }
            pads.add(Shape::polygon(points));
        }
        pads
    }

    /// The skirt's slope at a fraction of its reach. The skirt above hides its upper end.
    fn surface(&self, f: f32) -> f32 {
        let f = f.abs();
        let up = if f < 0.52 {
            0.84 - 0.42 * f
        } else {
            0.62 - 1.18 * (f - 0.52)
        };
        self.level - self.height / self.tiers * up + self.height * 0.030 * f * f * f
    }
}
