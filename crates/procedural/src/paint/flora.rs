//! Trees, grass and flowers.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::figure::{Figure, Stand, drawing};
use crate::fill::{Along, Edge, Fill, Gradient};
use crate::lexicon::{Place, Season};
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke, trace};
use crate::studio::Studio;
use crate::swatches::Swatches;

/// Are the trees of this image conifers?
fn wants_pines(studio: &Studio<'_>) -> bool {
    let plan = studio.plan;
    let wild = plan.at(Place::Mountain) || plan.at(Place::Forest);
    plan.is_snowy() || (wild && matches!(plan.season, Season::Any | Season::Winter))
}

/// Draws a tree of the image's kind, at a distance.
pub fn of_place(studio: &mut Studio<'_>, foot: Point, height: f32, distance: f32, seed: &mut Seed) {
    let colour = studio.palette.at_distance(distance);
    let [ground, shade] = studio.palette.ground;
    if distance < 0.3 {
        let away = -studio.toward_light(foot).0;
        let at = (foot.0 + away * height * 0.22, foot.1 - height * 0.004);
        let (rx, ry) = (height * 0.42, height * 0.035);
        studio.canvas.pool(at, rx, ry, shade.lift(-0.10), 0.6);
    }
    let snowy = studio.plan.is_snowy();
    if snowy && seed.chance(0.16) {
        let bark = studio.palette.dark.to(colour, 0.5);
        return bare(studio, foot, height * 0.9, bark, seed);
    }
    if wants_pines(studio) {
        let snow = snowy.then(|| ground.to(studio.palette.sky[2], distance * 0.8));
        return pine(studio, foot, height, colour, snow, seed);
    }
    let leaf = leaf(studio, colour, distance, seed);
    let bark = studio.palette.dark.to(colour, 0.35 + distance);
    broad(studio, foot, height * 0.72, leaf, bark, seed);
}

/// The colour of the leaves in this season.
fn leaf(studio: &Studio<'_>, colour: Rgb, distance: f32, seed: &mut Seed) -> Rgb {
    let (list, share): (&[u32], f32) = match studio.plan.season {
        Season::Autumn => (&[0xD8662A, 0xE8A238, 0xB23E22, 0xC98A2E], 0.15 + distance),
        Season::Spring => (&[0xF6B8CC, 0xFAD3DC, 0x9CCB84], distance),
        season => {
            let shaded = colour.to(studio.palette.ground[1], 0.45);
            let leaf = shaded.lift(seed.range(-0.04, 0.03));
            let any = season == Season::Any;
            return if any {
                leaf
            } else {
                studio.palette.seen(leaf, 0.0)
            };
        }
    };
    let leaf = hex(list[seed.below(list.len())]).to(colour, share);
    studio.palette.seen(leaf, 0.0)
}

/// A line of far trees along the ground, conifers or round crowns, seen as a silhouette.
pub fn far(
    studio: &mut Studio<'_>,
    ground: impl Fn(f32) -> f32,
    pine_height: f32,
    crown_height: f32,
    fill: &Fill,
    seed: &mut Seed,
) {
    let w = studio.w();
    let mut shape = Shape::default();
    if wants_pines(studio) {
        let mut x = -pine_height * 0.3;
        while x < w + pine_height * 0.3 {
            let tall = pine_height * seed.range(0.45, 1.0);
            shape.add(far_pine(x, ground(x) + pine_height * 0.08, tall));
            x += pine_height * seed.range(0.10, 0.24);
        }
    } else {
        let mut x = -crown_height;
        while x < w + crown_height {
            let r = crown_height * seed.range(0.25, 0.55);
            shape.add(Shape::ellipse(x, ground(x) - r * 0.3, r * 1.1, r));
            x += r * seed.range(0.5, 1.6);
        }
    }
    studio.fill(&shape, fill);
}

fn far_pine(x: f32, y: f32, tall: f32) -> Shape {
    let half = tall * 0.19;
    let side = |sign: f32| {
        (1..=5).flat_map(move |k| {
            let t = k as f32 / 5.0;
            let level = y - tall * (1.0 - t);
            let notch = (x + sign * half * t * 0.5, level - tall * 0.012);
            [(x + sign * half * t, level), notch]
        })
    };
    let mut points = vec![(x, y - tall)];
    points.extend(side(-1.0));
    let right: Vec<Point> = side(1.0).collect();
    points.extend(right.into_iter().rev());
    Shape::polygon(points)
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
    let top = (x + lean, y - height * 0.62);
    let trunk = [foot, (x + lean * 0.3, y - height * 0.3), top];
    let fill = studio.modelled(Fill::flat(bark), foot, height * 0.015, 0.8);
    studio.fill(&stroke(&trunk, height * 0.07, height * 0.035), &fill);
    for side in [-1.0, 1.0] {
        let fork = (x + lean * 0.4, y - height * 0.36);
        let tip = (x + lean + side * height * 0.16, y - height * 0.60);
        studio.fill(&stroke(&[fork, tip], height * 0.03, height * 0.012), &fill);
    }
    crown(
        studio,
        foot,
        (x + lean, y - height * 0.66),
        height,
        leaf,
        seed,
    );
}

fn crown(
    studio: &mut Studio<'_>,
    foot: Point,
    (cx, cy): Point,
    height: f32,
    leaf: Rgb,
    seed: &mut Seed,
) {
    let mut clump = |i: usize| {
        let a = TURN * i as f32 / 12.0 + seed.range(-0.2, 0.2);
        let d = if i == 0 { 0.0 } else { seed.range(0.15, 0.25) };
        let x = cx + 1.15 * height * d * cos(a);
        let y = cy + 0.95 * height * d * sin(a);
        (x, y, height * seed.range(0.11, 0.17))
    };
    let clumps: Vec<_> = (0..13).map(&mut clump).collect();
    let mut crown = Shape::default();
    for &(x, y, r) in &clumps {
        crown.add(bumpy(x, y, r, seed));
    }
    let tones = [leaf, leaf.lift(-0.07), leaf.lift(-0.15)];
    let fill = Fill::down(&tones, cy - height * 0.3, cy + height * 0.32).stippled(0.6);
    let fill = studio.modelled(fill, foot, height * 0.05, 0.5);
    studio.fill(&crown, &fill);
    let toward = studio.toward_light(foot);
    let bright = leaf.to(studio.palette.light, 0.22);
    let gradient = Gradient::with_opacity(&[(bright, 0.75), (bright, 0.5), (leaf, 0.0)]);
    for &(x, y, r) in &clumps {
        let (x, y) = (x + toward.0 * r * 0.25, y + toward.1 * r * 0.25);
        let centre = (x + toward.0 * r * 0.35, y + toward.1 * r * 0.35);
        let fill = Fill::gradient(gradient.clone(), Along::Radius(centre, r * 1.05)).stippled(0.7);
        studio.fill(&bumpy(x, y, r * 0.8, seed), &fill);
    }
}

/// A roundish clump with a leafy rim.
fn bumpy(x: f32, y: f32, r: f32, seed: &mut Seed) -> Shape {
    let mut rim = |i: usize| {
        let a = TURN * i as f32 / 22.0;
        let (low, high) = if i.is_multiple_of(2) {
            (0.95, 1.1)
        } else {
            (0.84, 0.95)
        };
        let d = r * seed.range(low, high);
        (x + d * cos(a), y + d * sin(a))
    };
    Shape::polygon((0..22).map(&mut rim).collect())
}

/// A leafless tree; each bough forks, at most seven times.
pub fn bare(studio: &mut Studio<'_>, foot: Point, height: f32, colour: Rgb, seed: &mut Seed) {
    let mut open = vec![(foot, -TURN / 4.0, height * 0.30, height * 0.05, 0)];
    let mut shape = Shape::default();
    while let Some((from, angle, length, width, depth)) = open.pop() {
        let bend = angle + seed.range(-0.12, 0.12);
        let to = (from.0 + length * cos(bend), from.1 + length * sin(bend));
        shape.add(stroke(&[from, to], width, width * 0.68));
        for side in [-1.0, 1.0] {
            if depth < 6 && (depth < 2 || seed.chance(0.88)) {
                let next = bend + side * seed.range(0.22, 0.55);
                let length = length * seed.range(0.66, 0.84);
                open.push((to, next, length, width * 0.64, depth + 1));
            }
        }
    }
    let fill = studio.modelled(Fill::flat(colour), foot, height * 0.012, 0.7);
    studio.fill(&shape, &fill);
}

/// A tuft of grass.
pub fn tuft(studio: &mut Studio<'_>, foot: Point, height: f32, colour: Rgb, seed: &mut Seed) {
    let mut shape = Shape::default();
    for _ in 0..7 {
        let (lean, tall) = (seed.range(-0.5, 0.5), height * seed.range(0.5, 1.0));
        let x = foot.0 + height * seed.range(-0.35, 0.35);
        let blade = trace(4, |t| (x + lean * tall * t * t, foot.1 - tall * t));
        shape.add(stroke(&blade, height * 0.07, height * 0.008));
    }
    studio.wash(shape, colour, 1.0);
}

/// A conifer; `snow` is the colour of the snow on it.
fn pine(
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

/// A single flower on its stalk. `kind` is 0 for a tulip, 1 for a daisy, 2 for a poppy.
pub fn flower(studio: &mut Studio<'_>, stand: Stand, petal: Rgb, kind: usize) {
    let drawing = match kind {
        0 => drawing!("tulip"),
        1 => drawing!("daisy"),
        _ => drawing!("poppy"),
    };
    let swatches = Swatches::of(studio, petal);
    Figure::new(studio, stand).draw(drawing, &swatches);
}

/// Many small flowers over a strip of ground, larger toward the viewer.
pub fn carpet(
    studio: &mut Studio<'_>,
    top: f32,
    bottom: f32,
    petal: Rgb,
    density: f32,
    seed: &mut Seed,
) {
    let (w, _, s) = studio.size();
    let kind = seed.below(3);
    let stalk = studio.palette.range[1].tint(hex(0x4E9A4A), 0.4).lift(-0.05);
    for row in 0..9 {
        let t = row as f32 / 8.0;
        let size = s * (0.012 + 0.075 * t * t);
        let y = top + (bottom - top) * t;
        let count = (w / size * 0.55 * density) as usize;
        for i in 0..count.min(600) {
            let x = (i as f32 + seed.unit()) / count as f32 * w;
            let foot = y + s * 0.03 * seed.unit() * (0.3 + t);
            let tone = petal
                .turn(seed.range(-0.25, 0.25))
                .lift(seed.range(-0.08, 0.08));
            let far = 1.0 - t;
            if size > s * 0.03 {
                let stand = Stand::at(x, foot, size * seed.range(0.8, 1.25))
                    .leaning(seed.range(-0.18, 0.18))
                    .far(0.35 * far);
                flower(studio, stand, tone, kind);
            } else {
                let colour = studio.palette.seen(tone, 0.45 * far);
                studio.dot((x, foot - size * 0.3), size * 0.16, stalk, 0.6);
                studio.dot((x, foot - size * 0.6), size * 0.30, colour, 0.95);
            }
        }
    }
}
