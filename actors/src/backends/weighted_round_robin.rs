//! Smooth weighted round robin, as in nginx: distributes the runs of a tier over its backends by weight.

#[derive(Clone, Debug, Default)]
pub struct WeightedRoundRobin {
    /// By backend.
    credit: Vec<i64>,
}

impl WeightedRoundRobin {
    /// The next `ready` backend, in proportion to the weights; `None` if no backend with a weight is ready.
    ///
    /// `weights` has one weight per backend and must be the same at each call.
    pub fn pick(&mut self, weights: &[u32], ready: impl Fn(usize) -> bool) -> Option<usize> {
        self.credit.resize(weights.len(), 0);
        let mut total = 0;
        let mut best: Option<usize> = None;
        for (at, weight) in weights.iter().enumerate() {
            if *weight == 0 || !ready(at) {
                continue;
            }
            total += i64::from(*weight);
            self.credit[at] += i64::from(*weight);
            if best.is_none_or(|best| self.credit[at] > self.credit[best]) {
                best = Some(at);
            }
        }
        self.credit[best?] -= total;
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(weights: &[u32], count: usize, ready: impl Fn(usize) -> bool + Copy) -> Vec<usize> {
        let mut round_robin = WeightedRoundRobin::default();
        (0..count)
            .filter_map(|_| round_robin.pick(weights, ready))
            .collect()
    }

    #[test]
    fn runs_are_distributed_evenly_by_weight() {
        assert_eq!(picks(&[3, 1], 8, |_| true), [0, 0, 1, 0, 0, 0, 1, 0]);
        assert_eq!(picks(&[1, 1, 1], 6, |_| true), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn backends_that_are_not_ready_or_have_no_weight_are_skipped() {
        assert_eq!(picks(&[3, 1, 0], 3, |at| at != 0), [1, 1, 1]);
        assert_eq!(picks(&[3, 0], 2, |at| at == 1), [0usize; 0]);
    }
}
