//! Mathematical functions built from operations that IEEE 754 rounds exactly.
//!
//! The standard library's `sin`, `powf` and `cbrt` call the platform's mathematics library, whose last bit differs between systems.
//! Equal requests must give equal pixels everywhere, so the generator does not use them.

/// One full turn, for [`sin`] and [`cos`] arguments in radians.
pub const TURN: f32 = std::f32::consts::TAU;

/// Sine, to about six digits.
pub fn sin(radians: f32) -> f32 {
    let turns = radians / TURN;
    let mut x = turns - (turns + 0.5).floor();
    if x > 0.25 {
        x = 0.5 - x;
    } else if x < -0.25 {
        x = -0.5 - x;
    }
    let a = x * TURN;
    let b = a * a;
    a * (1.0 - b / 6.0 * (1.0 - b / 20.0 * (1.0 - b / 42.0 * (1.0 - b / 72.0))))
}

/// Cosine, to about six digits.
pub fn cos(radians: f32) -> f32 {
    sin(radians + TURN / 4.0)
}

/// Cube root of a number that is not negative, by Newton's method.
pub fn cbrt(x: f32) -> f32 {
    if x <= 0.0 {
        return 0.0;
    }
    let mut y = f32::from_bits(x.to_bits() / 3 + 0x2A51_4067);
    for _ in 0..4 {
        y = (2.0 * y + x / (y * y)) / 3.0;
    }
    y
}

/// sRGB transfer function: a linear amount of light (0 to 1) as a display value (0 to 1).
pub fn to_display(linear: f32) -> f32 {
    let x = linear.clamp(0.0, 1.0);
    if x <= 0.003_130_8 {
        return 12.92 * x;
    }
    // x^(1/2.4) is the twelfth root of x^5.
    let root = cbrt((x * x * x * x * x).sqrt().sqrt());
    1.055 * root - 0.055
}

/// Inverse of [`to_display`].
pub fn to_linear(display: f32) -> f32 {
    let x = display.clamp(0.0, 1.0);
    if x <= 0.040_45 {
        return x / 12.92;
    }
    // y^2.4 is the fifth root of y^12.
    let y = (x + 0.055) / 1.055;
    let square = y * y;
    let mut root = y.sqrt();
    for _ in 0..5 {
        let fourth = root * root * root * root;
        root = (4.0 * root + square / fourth) / 5.0;
    }
    square * root
}

/// Linear interpolation.
pub fn mix(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// Hermite step from 0 at `low` to 1 at `high`.
pub fn smooth(low: f32, high: f32, x: f32) -> f32 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_functions_agree_closely_with_the_standard_library() {
        for step in -400..400 {
            let x = step as f32 * 0.05;
            assert!((sin(x) - x.sin()).abs() < 2e-5, "sin {x}");
            assert!((cos(x) - x.cos()).abs() < 2e-5, "cos {x}");
        }
        for step in 0..=1000 {
            let x = step as f32 / 1000.0;
            assert!((cbrt(x) - x.cbrt()).abs() < 1e-5, "cbrt {x}");
            assert!((to_linear(to_display(x)) - x).abs() < 1e-4, "transfer {x}");
        }
    }
}
