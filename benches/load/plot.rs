//! Plots with two logarithmic axes, as SVG that is readable in light and dark mode and deterministic for the same figures.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
/// Margins around the drawing: left, top, right, bottom.
const LEFT: f64 = 64.0;
const TOP: f64 = 44.0;
const RIGHT: f64 = 190.0;
const BOTTOM: f64 = 48.0;
/// Distinguishable for colour-blind readers, and by their marks.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#6b5d00"];

/// One line of a plot.
pub struct Series {
    /// Its label.
    pub name: &'static str,
    /// Points from left to right. The plot skips points with a coordinate of 0 or less.
    pub points: Vec<(f64, f64)>,
}

pub struct Plot {
    pub title: String,
    /// Label of the lower axis.
    pub across: &'static str,
    /// Label of the left axis, with its unit.
    pub up: &'static str,
    /// At most five lines.
    pub series: Vec<Series>,
}

/// A logarithmic axis over whole decades.
struct Axis {
    low: i32,
    high: i32,
    /// Positions of the low end and the high end.
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        values.for_each(|value| (least, most) = (least.min(value), most.max(value)));
        let low = least.log10().floor() as i32;
        Self {
            low,
            high: (most.log10().ceil() as i32).max(low + 1),
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|power| 10.0_f64.powi(power))
    }
}

/// Formats a number for a label.
fn label(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{}M", value / 1e6),
        value if value >= 1e3 => format!("{}k", value / 1e3),
        value => format!("{value}"),
    }
}

impl Plot {
    /// Writes the plot to a file.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        Ok(fs::write(path, self.draw()?)?)
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let all = self.series.iter().flat_map(|series| &series.points);
        all.copied().filter(|(x, y)| *x > 0.0 && *y > 0.0)
    }

    fn draw(&self) -> Result<String, std::fmt::Error> {
        let across = Axis::over(self.points().map(|it| it.0), LEFT, WIDTH - RIGHT);
        let up = Axis::over(self.points().map(|it| it.1), HEIGHT - BOTTOM, TOP);
        let mut svg = String::new();
        writeln!(
            svg,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12" fill="#222222">
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
<text x="{LEFT}" y="24" font-size="15" font-weight="bold">{}</text>"##,
            self.title
        )?;
        let (top, bottom, left, right) = (up.to, up.from, across.from, across.to);
        for value in across.decades() {
            let x = across.at(value);
            writeln!(
                svg,
                r##"<path d="M{x:.1} {top:.1}V{bottom:.1}" stroke="#dddddd"/><text x="{x:.1}" y="{:.1}" text-anchor="middle">{}</text>"##,
                bottom + 17.0,
                label(value)
            )?;
        }
        for value in up.decades() {
            let y = up.at(value);
            writeln!(
                svg,
                r##"<path d="M{left:.1} {y:.1}H{right:.1}" stroke="#dddddd"/><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"##,
                left - 6.0,
                y + 4.0,
                label(value)
            )?;
        }
        writeln!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>
<text transform="translate(16 {:.1}) rotate(-90)" text-anchor="middle">{}</text>"#,
            (left + right) / 2.0,
            HEIGHT - 10.0,
            self.across,
            (top + bottom) / 2.0,
            self.up
        )?;
        // A reference line with the slope of linear growth.
        let decades = (across.high - across.low).min(up.high - up.low);
        let end = |axis: &Axis| axis.at(10.0_f64.powi(axis.low + decades));
        writeln!(
            svg,
            r##"<path d="M{left:.1} {bottom:.1}L{:.1} {:.1}" stroke="#999999" stroke-dasharray="4 4"/>
<text x="{:.1}" y="{:.1}" fill="#666666">- - linear growth</text>"##,
            end(&across),
            end(&up),
            right + 8.0,
            bottom
        )?;
        self.draw_series(&mut svg, &across, &up)?;
        svg.push_str("</svg>\n");
        Ok(svg)
    }

    fn draw_series(&self, svg: &mut String, across: &Axis, up: &Axis) -> std::fmt::Result {
        for (number, (series, colour)) in self.series.iter().zip(COLOURS).enumerate() {
            let mut line = String::new();
            let mut marks = String::new();
            let whole = series.points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0);
            for (x, y) in whole {
                let (x, y) = (across.at(*x), up.at(*y));
                let letter = if line.is_empty() { 'M' } else { 'L' };
                write!(line, "{letter}{x:.1} {y:.1}")?;
                mark(&mut marks, number, x, y)?;
            }
            let (x, y) = (across.to + 14.0, up.to + 12.0 + 20.0 * number as f64);
            mark(&mut marks, number, x, y)?;
            writeln!(
                svg,
                r#"<g stroke="{colour}" fill="{colour}"><path d="{line}" fill="none" stroke-width="2"/>{marks}</g>
<text x="{:.1}" y="{:.1}">{}</text>"#,
                x + 10.0,
                y + 4.0,
                series.name
            )?;
        }
        Ok(())
    }
}

/// Each line has a mark of a different shape.
fn mark(svg: &mut String, number: usize, x: f64, y: f64) -> std::fmt::Result {
    match number {
        0 => write!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="4"/>"#),
        1 => write!(svg, r#"<path d="M{x:.1} {y:.1}m-4 -4h8v8h-8z"/>"#),
        2 => write!(svg, r#"<path d="M{x:.1} {y:.1}m0 -5l5 9h-10z"/>"#),
        3 => write!(svg, r#"<path d="M{x:.1} {y:.1}m0 -6l5 6l-5 6l-5 -6z"/>"#),
        _ => write!(svg, r#"<path d="M{x:.1} {y:.1}m0 5l5 -9h-10z"/>"#),
    }
}
