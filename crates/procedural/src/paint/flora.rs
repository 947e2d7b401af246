//! Trees, grass and other plants of the landscape.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::ink::{Along, Edge, Ink, Ramp};
use crate::lexicon::{Place, Season};
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke};
use crate::studio::Studio;

/// A conifer, built of skirts from the ground up, with snow on them if there is snow.
pub fn pine(
    studio: &mut Studio<'_>,
    foot: Point,
    height: f32,
    colour: Rgb,
    snow: Option<Rgb>,
    seed: &mut Seed,
) {
    let tiers = if height > studio.canvas.short() * 0.3 {
        11
    } else if height > studio.canvas.short() * 0.12 {
        8
    } else {
        6
    };
    let spread = height * seed.range(0.22, 0.28);
    let (x, y) = foot;
    let trunk = Shape::rect(
        x - height * 0.018,
        y - height * 0.14,
        height * 0.036,
        height * 0.145,
    );
    studio.canvas.fill(&trunk, &Ink::flat(colour.lift(-0.08)));
    let toward = studio.toward_light(foot);
    let span = Along::Line(
        (x + toward.0 * spread * 0.9, 0.0),
        (x - toward.0 * spread * 0.9, 0.0),
    );
    let needles = Ramp::of(&[
        colour.to(studio.palette.light, 0.16),
        colour,
        colour.lift(-0.04),
        colour.lift(-0.09),
    ]);
    let mut skirt = Ink::ramp(needles, span).stippled(0.6);
    let low = Edge {
        toward: (0.0, -1.0),
        reach: height * 0.035,
        colour: colour.lift(-0.10).to(studio.palette.dark, 0.4),
        strength: 0.75,
    };
    skirt.edges[1] = Some(low);
    let white = snow.map(|snow| {
        let shade = snow.to(studio.palette.ground[1], 0.6);
        Ink::ramp(
            Ramp::of(&[snow.to(studio.palette.light, 0.3), snow, shade, shade]),
            span,
        )
        .stippled(0.5)
    });
    for tier in (0..tiers).rev() {
        let t = (tier as f32 + 1.0) / tiers as f32;
        let reach = spread * (0.10 + 0.90 * t) * seed.range(0.90, 1.08);
        let (level, peak) = (
            y - height * (0.06 + 0.94 * (1.0 - t)),
            y - height * (0.06 + 0.94 * (1.0 - t)) - height * (1.9 / tiers as f32 + 0.02),
        );
        let fringe = 5 + tier / 2;
        let step = 1.0 / fringe as f32;
        let mut line = Vec::with_capacity(fringe * 2 + 1);
        for k in 0..=fringe * 2 {
            let inner = k > 0 && k < fringe * 2;
            let f = k as f32 * step - 1.0
                + if inner {
                    seed.range(-0.35, 0.35) * step
                } else {
                    0.0
                };
            let sag = height * 0.030 * f * f * f.abs();
            let tooth = if k % 2 == 0 {
                seed.range(0.1, 1.0)
            } else {
                -seed.range(0.0, 0.5)
            };
            line.push((
                x + reach * f,
                level - height * 0.012 + sag + tooth * height * 0.28 / tiers as f32,
            ));
        }
        let shoulder = level - height * 0.62 / tiers as f32;
        let mut points = vec![(x, peak), (x - reach * 0.52, shoulder)];
        points.extend(line.iter().copied());
        points.push((x + reach * 0.52, shoulder));
        studio.canvas.fill(&Shape::polygon(points), &skirt);
        let Some(white) = &white else { continue };
        // Snow lies as a few pads on each skirt, and leaves the fringe and some gaps dark.
        let mut pads = Shape::default();
        let count = 2 + tier / 3;
        for pad in 0..count {
            let middle = (pad as f32 + 0.5 + seed.range(-0.22, 0.22)) / count as f32 * 2.0 - 1.0;
            let half = seed.range(0.62, 1.0) / count as f32;
            // Follows the skirt's own slope; its upper end is hidden by the skirt above.
            let unit = height / tiers as f32;
            let top = |f: f32| {
                let f = f.abs();
                let up = if f < 0.52 {
                    0.84 - 0.42 * f
                } else {
                    0.62 - 1.18 * (f - 0.52)
                };
                level - unit * up + height * 0.030 * f * f * f
            };
            let n = 8;
            let upper = (0..=n).map(|k| middle + half * (k as f32 / n as f32 * 2.0 - 1.0));
            let mut points: Vec<Point> = upper
                .map(|f| f.clamp(-0.97, 0.97))
                .map(|f| (x + reach * f * 0.98, top(f) + height * 0.006))
                .collect();
            let depth = height * seed.range(0.32, 0.58) / tiers as f32;
            for k in (0..=n).rev() {
                let u = k as f32 / n as f32 * 2.0 - 1.0;
                let f = (middle + half * u).clamp(-0.97, 0.97);
                let drip = (1.0 - u * u)
                    * depth
                    * if k % 2 == 0 {
                        1.0
                    } else {
                        seed.range(0.6, 0.9)
                    };
                points.push((x + reach * f * 0.98, top(f) + height * 0.008 + drip));
            }
            pads.add(Shape::polygon(points));
        }
        studio.canvas.fill(&pads, white);
    }
}

/// Whether the trees of this picture are conifers.
pub fn wants_pines(studio: &Studio<'_>) -> bool {
    let plan = studio.plan;
    let cold = plan.is_snowy() || plan.at(Place::Mountain) || plan.at(Place::Forest);
    let leafy = matches!(
        plan.season,
        Season::Autumn | Season::Spring | Season::Summer
    );
    plan.is_snowy() || (cold && !leafy)
}

/// The tree that grows here, at a distance.
pub fn of_place(studio: &mut Studio<'_>, foot: Point, height: f32, distance: f32, seed: &mut Seed) {
    let colour = studio.palette.at_distance(distance);
    if distance < 0.3 {
        let away = -studio.toward_light(foot).0;
        let shade = studio.palette.ground[1].lift(-0.10);
        let at = (foot.0 + away * height * 0.22, foot.1 - height * 0.004);
        studio
            .canvas
            .pool(at, height * 0.42, height * 0.035, shade, 0.6);
    }
    let snow = studio
        .plan
        .is_snowy()
        .then(|| studio.palette.ground[0].to(studio.palette.sky[2], distance * 0.8));
    if snow.is_some() && seed.chance(0.16) {
        return bare(
            studio,
            foot,
            height * 0.9,
            studio.palette.dark.to(colour, 0.5),
            seed,
        );
    }
    if wants_pines(studio) {
        return pine(studio, foot, height, colour, snow, seed);
    }
    let leaf = match studio.plan.season {
        Season::Autumn => [hex(0xD8662A), hex(0xE8A238), hex(0xB23E22), hex(0xC98A2E)]
            [seed.below(4)]
        .to(colour, 0.15 + distance),
        Season::Spring => {
            [hex(0xF6B8CC), hex(0xFAD3DC), hex(0x9CCB84)][seed.below(3)].to(colour, distance)
        }
        _ => colour
            .to(studio.palette.ground[1], 0.45)
            .lift(seed.range(-0.04, 0.03)),
    };
    let leaf = if studio.plan.season == Season::Any {
        leaf
    } else {
        studio.palette.seen(leaf, 0.0)
    };
    let bark = studio.palette.dark.to(colour, 0.35 + distance);
    broad(studio, foot, height * 0.72, leaf, bark, seed);
}

/// A line of conifers that is only seen as a silhouette.
pub fn far_pines(
    studio: &mut Studio<'_>,
    ground: impl Fn(f32) -> f32,
    height: f32,
    ink: &Ink,
    seed: &mut Seed,
) {
    let w = studio.canvas.w();
    let mut shape = Shape::default();
    let mut x = -height * 0.3;
    while x < w + height * 0.3 {
        let tall = height * seed.range(0.45, 1.0);
        let y = ground(x) + height * 0.08;
        let (half, steps) = (tall * 0.19, 5);
        let side = |sign: f32| {
            (1..=steps).flat_map(move |k| {
                let t = k as f32 / steps as f32;
                let level = y - tall * (1.0 - t);
                [
                    (x + sign * half * t, level),
                    (x + sign * half * t * 0.5, level - tall * 0.012),
                ]
            })
        };
        let mut points = vec![(x, y - tall)];
        points.extend(side(-1.0));
        let right: Vec<Point> = side(1.0).collect();
        points.extend(right.into_iter().rev());
        shape.add(Shape::polygon(points));
        x += height * seed.range(0.10, 0.24);
    }
    studio.canvas.fill(&shape, ink);
}

/// A line of round crowns that is only seen as a silhouette.
pub fn far_broad(
    studio: &mut Studio<'_>,
    ground: impl Fn(f32) -> f32,
    height: f32,
    ink: &Ink,
    seed: &mut Seed,
) {
    let w = studio.canvas.w();
    let mut shape = Shape::default();
    let mut x = -height;
    while x < w + height {
        let r = height * seed.range(0.25, 0.55);
        shape.add(Shape::ellipse(x, ground(x) - r * 0.3, r * 1.1, r));
        x += r * seed.range(0.5, 1.6);
    }
    studio.canvas.fill(&shape, ink);
}

/// A broad-leaved tree: trunk, boughs and a crown of lit clumps.
pub fn broad(
    studio: &mut Studio<'_>,
    foot: Point,
    height: f32,
    leaf: Rgb,
    bark: Rgb,
    seed: &mut Seed,
) {
    let (x, y) = foot;
    let lean = height * seed.range(-0.06, 0.06);
    let trunk = [
        (x, y),
        (x + lean * 0.3, y - height * 0.3),
        (x + lean, y - height * 0.62),
    ];
    let bark_ink = studio.modelled(Ink::flat(bark), foot, height * 0.015, 0.8);
    studio
        .canvas
        .fill(&stroke(&trunk, height * 0.07, height * 0.035), &bark_ink);
    for side in [-1.0, 1.0] {
        let bough = [
            (x + lean * 0.4, y - height * 0.36),
            (x + lean + side * height * 0.16, y - height * 0.60),
        ];
        studio
            .canvas
            .fill(&stroke(&bough, height * 0.03, height * 0.012), &bark_ink);
    }
    let (cx, cy) = (x + lean, y - height * 0.66);
    let clumps: Vec<(f32, f32, f32)> = (0..13)
        .map(|i| {
            let (a, d) = (
                TURN * i as f32 / 12.0 + seed.range(-0.2, 0.2),
                if i == 0 { 0.0 } else { seed.range(0.15, 0.25) },
            );
            (
                cx + 1.15 * height * d * cos(a),
                cy + 0.95 * height * d * sin(a),
                height * seed.range(0.11, 0.17),
            )
        })
        .collect();
    let mut crown = Shape::default();
    for &(px, py, r) in &clumps {
        crown.add(bumpy(px, py, r, seed));
    }
    let ink = Ink::down(
        &[leaf, leaf.lift(-0.07), leaf.lift(-0.15)],
        cy - height * 0.3,
        cy + height * 0.32,
    )
    .stippled(0.6);
    let ink = studio.modelled(ink, foot, height * 0.05, 0.5);
    studio.canvas.fill(&crown, &ink);
    let toward = studio.toward_light(foot);
    for &(px, py, r) in &clumps {
        let (lx, ly) = (px + toward.0 * r * 0.25, py + toward.1 * r * 0.25);
        let bright = leaf.to(studio.palette.light, 0.22);
        let ramp = Ramp::with_opacity(&[(bright, 0.75), (bright, 0.5), (leaf, 0.0)]);
        let centre = (lx + toward.0 * r * 0.35, ly + toward.1 * r * 0.35);
        let ink = Ink::ramp(ramp, Along::Radius(centre, r * 1.05)).stippled(0.7);
        studio.canvas.fill(&bumpy(lx, ly, r * 0.8, seed), &ink);
    }
}

/// A roundish clump with a leafy rim.
fn bumpy(x: f32, y: f32, r: f32, seed: &mut Seed) -> Shape {
    let n = 22;
    let points = (0..n)
        .map(|i| {
            let a = TURN * i as f32 / n as f32;
            let d = r * if i % 2 == 0 {
                seed.range(0.95, 1.1)
            } else {
                seed.range(0.84, 0.95)
            };
            (x + d * cos(a), y + d * sin(a))
        })
        .collect();
    Shape::polygon(points)
}

/// A leafless tree; each bough forks, at most seven times.
pub fn bare(studio: &mut Studio<'_>, foot: Point, height: f32, colour: Rgb, seed: &mut Seed) {
    let mut open = vec![(foot, -TURN / 4.0, height * 0.30, height * 0.05, 0)];
    let mut shape = Shape::default();
    while let Some((from, angle, length, width, depth)) = open.pop() {
        let bend = angle + seed.range(-0.12, 0.12);
        let to = (from.0 + length * cos(bend), from.1 + length * sin(bend));
        shape.add(stroke(&[from, to], width, width * 0.68));
        if depth < 6 {
            for side in [-1.0, 1.0] {
                if depth < 2 || seed.chance(0.88) {
                    let next = bend + side * seed.range(0.22, 0.55);
                    open.push((
                        to,
                        next,
                        length * seed.range(0.66, 0.84),
                        width * 0.64,
                        depth + 1,
                    ));
                }
            }
        }
    }
    let ink = studio.modelled(Ink::flat(colour), foot, height * 0.012, 0.7);
    studio.canvas.fill(&shape, &ink);
}

/// A tuft of grass.
pub fn tuft(studio: &mut Studio<'_>, foot: Point, height: f32, colour: Rgb, seed: &mut Seed) {
    let mut shape = Shape::default();
    for _ in 0..7 {
        let (lean, tall) = (seed.range(-0.5, 0.5), height * seed.range(0.5, 1.0));
        let x = foot.0 + height * seed.range(-0.35, 0.35);
        let blade: Vec<Point> = (0..=4)
            .map(|k| k as f32 / 4.0)
            .map(|t| (x + lean * tall * t * t, foot.1 - tall * t))
            .collect();
        shape.add(stroke(&blade, height * 0.07, height * 0.008));
    }
    studio.canvas.fill(&shape, &Ink::flat(colour));
}
