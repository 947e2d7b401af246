//! How a story begins: with nodes alone, or with a process that has the store for itself and leaves them what it has begun.

use super::story::World;
use tokio::time::sleep;

impl World {
    pub async fn begin(&mut self) {
        let is_adopted = self.chance.one_in(2);
        if is_adopted {
            self.live_alone().await;
        }
        for _ in 0..2 + self.chance.below(3) {
            self.join();
        }
        if is_adopted && self.chance.one_in(2) {
            // In the middle of the adoption.
            sleep(self.chance.millis(0, 12)).await;
            if let Some(at) = self.chance.pick(&self.healthy()) {
                match self.chance.one_in(2) {
                    true => self.die(at),
                    false => self.stand_still(at),
                }
            }
        }
        // Callers do not wait for the adoption.
        for _ in 0..self.chance.below(4) {
            if let Some(at) = self.chance.pick(&self.healthy()) {
                self.send(at, None);
            }
        }
    }

    async fn live_alone(&mut self) {
        let id = self.next_id();
        self.start(id, None);
        self.shared.count("stores adopted");
        self.shared.tell(format!("{id} has the store for itself"));
        for _ in 0..self.chance.below(12) {
            sleep(self.chance.millis(0, 400)).await;
            match self.chance.below(8) {
                0..=1 => self.cancel(0),
                2 => self.redeliver(0),
                _ => self.send(0, None),
            }
        }
        if self.chance.one_in(6) {
            for _ in 0..self.chance.below(700) {
                self.send(0, None);
            }
            sleep(self.chance.millis(0, 100)).await;
        }
        self.die(0);
    }
}
