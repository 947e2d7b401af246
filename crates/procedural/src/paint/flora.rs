//! Trees and grass of the landscape.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::fill::{Along, Fill, Gradient};
use crate::lexicon::{Place, Season};
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke, trace};
use crate::studio::Studio;

use super::pine::pine;

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
