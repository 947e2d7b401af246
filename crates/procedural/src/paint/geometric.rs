//! Abstract images: tiles, floating forms, or layered waves.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::fill::{Edge, Fill};
use crate::seed::Seed;
use crate::shape::{Point, Shape, arc, stroke};
use crate::studio::{Studio, rough};

use super::{bank, tiles};

/// Paper and five colours that go together.
const SETS: [[u32; 6]; 6] = [
    [0xF3E6CC, 0xE2572E, 0xF0A93A, 0x2E6E72, 0x1F2E4A, 0xE9B7A0],
    [0xF5EBDD, 0x2F4B7C, 0xE4683C, 0xF4C35A, 0x7AA6A0, 0xC33C54],
    [0xEFE9DB, 0x274046, 0x5E9A86, 0xE9C46A, 0xE76F51, 0xA8C8BC],
    [0xF6EFE4, 0x5B3A6E, 0xE0607E, 0xF6A45C, 0x3E7CA6, 0xF2CFA8],
    [0xF1E7D6, 0x8A2E3A, 0xD9803A, 0x38543C, 0xE8C88C, 0x2A2A36],
    [0xECEDE6, 0x14466B, 0x3E8FB0, 0xF2B441, 0xE4572E, 0xB9D3D0],
];

pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(48);
    let bend = |c: u32| {
        let c = hex(c);
        studio.plan.tint.map_or(c, |t| c.tint(t, 0.5))
    };
    let colours = SETS[seed.below(SETS.len())].map(bend);
    // Waves under a disc look like dunes under a sun, which the prompt did not request.
    let kinds = if studio.plan.is_stand_in { 2 } else { 3 };
    match seed.below(kinds) {
        0 => tiles::paint(studio, &colours, &mut seed),
        1 => forms(studio, &colours, &mut seed),
        _ => waves(studio, &colours, &mut seed),
    }
}

/// Discs, bars, arcs and dots that float over paper, on one diagonal.
fn forms(studio: &mut Studio<'_>, colours: &[Rgb; 6], seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let paper = colours[0];
    let tones = [paper.lift(0.02), paper, paper.lift(-0.05)];
    studio.cover(&Fill::down(&tones, 0.0, h).stippled(0.4));
    let count = ((w / s).max(h / s) * 9.0) as usize + 4;
    let slope = seed.range(-0.5, 0.5);
    for i in 0..count {
        let t = (i as f32 + 0.5) / count as f32;
        let across = 0.5 + slope * (t - 0.5);
        let (x, y) = if w >= h {
            (t * w, h * across)
        } else {
            (w * across, t * h)
        };
        let x = x + s * seed.range(-0.22, 0.22);
        let y = y + s * seed.range(-0.28, 0.28);
        let tone = colours[1 + (i + seed.below(2)) % 5];
        form(studio, (x, y), slope, [tone, colours[4]], seed);
    }
    for _ in 0..count {
        let at = (seed.unit() * w, seed.unit() * h);
        let tone = colours[1 + seed.below(5)];
        studio.dot(at, s * seed.range(0.003, 0.010), tone, 1.0);
    }
    for _ in 0..4 {
        let mut end = || (seed.unit() * w, seed.unit() * h);
        let thread = stroke(&[end(), end()], s * 0.002, s * 0.004);
        studio.wash(thread, colours[4], 1.0);
    }
}

/// One form in a tone; the dot at the end of a bar has the other.
fn form(studio: &mut Studio<'_>, at: Point, slope: f32, [tone, dot]: [Rgb; 2], seed: &mut Seed) {
    let r = studio.short() * seed.range(0.05, 0.20);
    let fill = Fill::deepening(tone, (at.0 - r, at.1 - r), (at.0 + r, at.1 + r)).faint(0.92);
    let from_middle = |dx: f32, dy: f32| (at.0 + dx, at.1 + dy);
    match seed.below(6) {
        0 | 1 => studio.fill(&Shape::circle(at, r), &fill),
        2 => {
            let half = arc(at, (r, r), seed.unit() * TURN, TURN / 2.0, 48);
            studio.fill(&Shape::polygon(half), &fill);
        }
        3 => {
            let turn = seed.unit() * TURN;
            for k in 0..4 {
                let d = r * (1.0 - 0.2 * k as f32);
                let ring = arc(at, (d, d), turn, TURN * 0.42, 40);
                studio.wash(stroke(&ring, r * 0.07, r * 0.07), tone, 1.0);
            }
        }
        4 => {
            let a = slope + seed.range(-0.9, 0.9);
            let (dx, dy) = (cos(a) * r * 2.0, sin(a) * r * 2.0);
            let ends = [from_middle(-dx, -dy), from_middle(dx, dy)];
            studio.fill(&stroke(&ends, r * 0.22, r * 0.22), &fill);
            studio.dot(from_middle(dx * 1.15, dy * 1.15), r * 0.16, dot, 1.0);
        }
        _ => {
            let a = seed.unit() * TURN;
            let corner = |k: f32| {
                let a = a + k * TURN / 3.0;
                from_middle(r * cos(a), r * sin(a))
            };
            let triangle = [0.0, 1.0, 2.0].map(corner);
            studio.fill(&Shape::polygon(triangle.to_vec()), &fill);
        }
    }
}

/// Folds of colour, one behind the other, under a disc.
fn waves(studio: &mut Studio<'_>, colours: &[Rgb; 6], seed: &mut Seed) {
    let (_, h, s) = studio.size();
    let paper = [colours[0], colours[0].to(colours[2], 0.35)];
    studio.cover(&Fill::down(&paper, 0.0, h).stippled(0.3));
    let (x, y) = (studio.sun.0, h * 0.30);
    let fill = Fill::deepening(colours[1], (x, y - s * 0.17), (x, y + s * 0.22));
    studio.fill(&Shape::circle((x, y), s * 0.17), &fill);
    let count = (6.0 * (h / s).sqrt()) as usize + 3;
    for i in 0..count {
        let t = i as f32 / count as f32;
        let (base, key) = (h * (0.26 + 0.74 * t), seed.bits() as u32);
        let tone = colours[1 + i % 5].to(colours[0], 0.30 * (1.0 - t));
        let swing = s * (0.10 + 0.14 * t);
        let phase = seed.unit() * TURN;
        let toward = (-0.4 * studio.side(), -0.9);
        let tones = [tone.lift(0.07), tone, tone.lift(-0.12)];
        let fill = Fill::down(&tones, base - swing, base + h * 0.16)
            .stippled(0.7)
            .lit(Edge::new(toward, s * 0.02, hex(0xFFF3D8), 0.6));
        let line = |x: f32| {
            base + swing * (sin(x / s * 2.6 + phase) * 0.5 + rough(key, x / s * 0.8) - 0.5)
        };
        bank::fill(studio, line, h + s, &fill);
    }
}
