//! The table of a run on PostgreSQL: measurements beside their goals.

struct Finding {
    what: String,
    measured: String,
    goal: String,
    /// `None` without a goal.
    is_reached: Option<bool>,
}

#[derive(Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a measurement without a goal.
    pub fn note(&mut self, what: impl Into<String>, measured: impl Into<String>) {
        self.add(what.into(), measured.into(), String::new(), None);
    }

    /// Adds a figure that should be at least the goal.
    pub fn at_least(&mut self, what: impl Into<String>, figure: f64, goal: f64) {
        let measured = format!("{figure:.2}");
        let goal_text = format!(">= {goal}");
        self.add(what.into(), measured, goal_text, Some(figure >= goal));
    }

    /// Adds a figure that should be at most the goal.
    pub fn at_most(&mut self, what: impl Into<String>, figure: f64, goal: f64) {
        let measured = format!("{figure:.2}");
        let goal_text = format!("<= {goal}");
        self.add(what.into(), measured, goal_text, Some(figure <= goal));
    }

    fn add(&mut self, what: String, measured: String, goal: String, is_reached: Option<bool>) {
        eprintln!("{what}: {measured} {goal}");
        self.0.push(Finding {
            what,
            measured,
            goal,
            is_reached,
        });
    }

    pub fn print(&self) {
        println!("| What | measured | goal | reached |");
        println!("|---|---|---|---|");
        for it in &self.0 {
            let reached = match it.is_reached {
                None => "",
                Some(true) => "yes",
                Some(false) => "**no**",
            };
            println!(
                "| {} | {} | {} | {reached} |",
                it.what, it.measured, it.goal
            );
        }
    }
}
