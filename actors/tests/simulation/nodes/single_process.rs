//! The beginning of a scenario: with nodes only, or with a single process whose store and jobs the nodes then adopt.

use super::scenario::World;
use tokio::time::sleep;

impl World {
    pub async fn begin(&mut self) {
        let is_adopted = self.rng.one_in(2);
        if is_adopted {
            self.run_single_process().await;
        }
        for _ in 0..2 + self.rng.below(3) {
            self.join();
        }
        self.call_meanwhile().await;
        if is_adopted && self.rng.one_in(2) {
            sleep(self.rng.millis(0, 6)).await;
            if let Some(at) = self.rng.pick(&self.healthy()) {
                match self.rng.one_in(2) {
                    true => self.die(at),
                    false => self.stall(at),
                }
            }
        }
        self.call_meanwhile().await;
    }

    /// Callers do not wait for the adoption.
    async fn call_meanwhile(&mut self) {
        for _ in 0..self.rng.below(4) {
            if let Some(at) = self.rng.pick(&self.healthy()) {
                match self.rng.one_in(4) {
                    true => self.cancel(at),
                    false => self.send(at, None),
                }
            }
            sleep(self.rng.millis(0, 3)).await;
        }
    }

    async fn run_single_process(&mut self) {
        let id = self.next_id();
        self.start(id, None);
        self.shared.count("stores adopted");
        self.shared.trace(format!("{id} is a single process"));
        for _ in 0..self.rng.below(12) {
            sleep(self.rng.millis(0, 400)).await;
            match self.rng.below(8) {
                0..=1 => self.cancel(0),
                2 => self.redeliver(0),
                3 => self.send_batch(0),
                _ => self.send(0, None),
            }
        }
        if self.rng.one_in(6) {
            for _ in 0..self.rng.below(700) {
                self.send(0, None);
            }
            sleep(self.rng.millis(0, 100)).await;
        }
        self.die(0);
    }
}
