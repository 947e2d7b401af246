//! Fills of shapes: a stippled colour gradient, with light and shade along the edges.

use super::colour::Rgb;
use super::shape::Point;

/// 256 colours with opacity, looked up by position.
#[derive(Debug, Clone)]
pub struct Gradient {
    steps: Vec<[u8; 4]>,
}

impl Gradient {
    /// One opaque colour.
    pub fn flat(colour: Rgb) -> Self {
        Self {
            steps: vec![bytes(colour, 1.0); 256],
        }
    }

    /// Opaque colours at equal distances, mixed in OKLab.
    pub fn of(colours: &[Rgb]) -> Self {
        let stops: Vec<(Rgb, f32)> = colours.iter().map(|&c| (c, 1.0)).collect();
        Self::with_opacity(&stops)
    }

    /// Colours with opacities (0 to 1) at equal distances.
    pub fn with_opacity(stops: &[(Rgb, f32)]) -> Self {
        let Some(&first) = stops.first() else {
            return Self {
                steps: vec![[0; 4]; 256],
            };
        };
        // OKLab at every eighth step is precise enough. Linear interpolation between them saves most of the cost.
        let sample = |t: f32| {
            let place = t * (stops.len() - 1) as f32;
            let i = (place as usize).min(stops.len().saturating_sub(2));
            let (a, b) = (stops[i], stops.get(i + 1).copied().unwrap_or(first));
            let f = place - i as f32;
            (a.0.to(b.0, f), a.1 + (b.1 - a.1) * f)
        };
        let keys: Vec<(Rgb, f32)> = if stops.len() == 1 {
            vec![first; 33]
        } else {
            (0..=32).map(|k| sample(k as f32 / 32.0)).collect()
        };
        let steps = (0..256)
            .map(|i| {
                let place = i as f32 / 255.0 * 32.0;
                let k = (place as usize).min(31);
                let (f, p, q) = (place - k as f32, keys[k], keys[k + 1]);
                let colour = Rgb {
                    r: p.0.r + (q.0.r - p.0.r) * f,
                    g: p.0.g + (q.0.g - p.0.g) * f,
                    b: p.0.b + (q.0.b - p.0.b) * f,
                };
                bytes(colour, p.1 + (q.1 - p.1) * f)
            })
            .collect();
        Self { steps }
    }

    /// One colour with opacities (0 to 1) at equal distances.
    pub fn fade(colour: Rgb, opacities: &[f32]) -> Self {
        let stops: Vec<(Rgb, f32)> = opacities.iter().map(|&o| (colour, o)).collect();
        Self::with_opacity(&stops)
    }

    /// The colour (red, green, blue, opacity) at step 0 to 255.
    pub fn at(&self, step: i32) -> [u8; 4] {
        self.steps[step.clamp(0, 255) as usize]
    }
}

fn bytes(c: Rgb, opacity: f32) -> [u8; 4] {
    [c.r + 0.5, c.g + 0.5, c.b + 0.5, opacity * 255.0 + 0.5].map(|v| v as u8)
}

/// The geometry of a gradient.
#[derive(Debug, Clone, Copy)]
pub enum Along {
    /// From the first point to the second.
    Line(Point, Point),
    /// From the centre to the radius.
    Radius(Point, f32),
}

/// A stippled band along one side of a shape: rim light or shade.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// Unit vector toward the lit or shaded side.
    pub toward: Point,
    /// How far into the shape it reaches, in pixels.
    pub reach: f32,
    pub colour: Rgb,
    /// Opacity at the edge, 0 to 1.
    pub strength: f32,
}

impl Edge {
    pub fn new(toward: Point, reach: f32, colour: Rgb, strength: f32) -> Self {
        Self {
            toward,
            reach,
            colour,
            strength,
        }
    }
}

/// How a shape is filled.
#[derive(Debug, Clone)]
pub struct Fill {
    pub gradient: Gradient,
    pub along: Along,
    /// Width of the stipple relative to the gradient: 0 is smooth, 1 dissolves it.
    pub stipple: f32,
    /// Opacity of the whole, 0 to 1.
    pub opacity: f32,
    /// Light and shade, in this order.
    pub edges: [Option<Edge>; 2],
}

impl Fill {
    pub fn flat(colour: Rgb) -> Self {
        Self::gradient(Gradient::flat(colour), Along::Line((0.0, 0.0), (0.0, 1.0)))
    }

    /// A colour that deepens from one point to another.
    pub fn deepening(tone: Rgb, from: Point, to: Point) -> Self {
        let gradient = Gradient::of(&[tone.lift(0.05), tone, tone.lift(-0.12)]);
        Self::gradient(gradient, Along::Line(from, to)).stippled(0.8)
    }

    /// A gradient along something, lightly stippled.
    pub fn gradient(gradient: Gradient, along: Along) -> Self {
        Self {
            gradient,
            along,
            stipple: 0.25,
            opacity: 1.0,
            edges: [None, None],
        }
    }

    /// Colours from top to bottom.
    pub fn down(colours: &[Rgb], top: f32, bottom: f32) -> Self {
        Self::gradient(
            Gradient::of(colours),
            Along::Line((0.0, top), (0.0, bottom)),
        )
    }

    pub fn stippled(mut self, stipple: f32) -> Self {
        self.stipple = stipple;
        self
    }

    pub fn faint(mut self, opacity: f32) -> Self {
        self.opacity = opacity;
        self
    }

    pub fn lit(mut self, edge: Edge) -> Self {
        self.edges[0] = Some(edge);
        self
    }

    pub fn shaded(mut self, edge: Edge) -> Self {
        self.edges[1] = Some(edge);
        self
    }
}
