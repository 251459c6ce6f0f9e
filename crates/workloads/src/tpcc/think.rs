//! Waits of terminals: keying and think times (clause 5.2.5).

use std::time::Duration;

use clearway_testkit::Random;

use super::TpccTransaction;

/// The waits of a client between transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TpccThink {
    /// It does not: the next transaction follows at once.
    None,
    /// It waits as long as clauses 5.2.5.4 and 5.2.5.7 require.
    Spec,
}

/// Seconds that keying in a transaction takes, by type (clause 5.2.5.7).
const KEYING: [u64; 5] = [18, 3, 2, 2, 2];
/// Seconds for which its result is thought about on average, by type (clause 5.2.5.7).
const THINKING: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
/// Upper bound on a think time, as a multiple of the mean (clause 5.2.5.4).
const LONGEST: f64 = 10.0;

impl TpccThink {
    /// The most new orders a minute that the ten terminals of a warehouse can enter: with the
    /// standard mix, and if no transaction took any time.
    pub const MAXIMUM_TPMC: f64 = 12.86;

    /// From the result of the transaction `last` to the submission of `next`: the time to think
    /// about the one and the time to key the other in. A client's first transaction has no `last`;
    /// it waits as if it had been one like itself, so that not all clients begin at once.
    pub(super) fn pause(
        self,
        random: &mut Random,
        last: Option<TpccTransaction>,
        next: TpccTransaction,
    ) -> Duration {
        match self {
            TpccThink::None => Duration::ZERO,
            TpccThink::Spec => {
                let mean = THINKING[last.unwrap_or(next) as usize];
                Duration::from_secs(KEYING[next as usize]) + exponential(random, mean)
            }
        }
    }
}

/// Draws from a truncated exponential distribution with a mean in seconds.
fn exponential(random: &mut Random, mean: f64) -> Duration {
    // One minus, so that it is no logarithm of zero.
    let times = -(1.0 - random.unit()).ln();
    Duration::from_secs_f64(mean * times.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TpccMix;

    #[test]
    fn thinking_is_exponential_and_cut() {
        let mut random = Random::new(9);
        let n = 100_000;
        let times: Vec<_> = (0..n).map(|_| exponential(&mut random, 5.0).as_secs_f64()).collect();
        let mean = times.iter().sum::<f64>() / f64::from(n);
        assert!((4.9..5.1).contains(&mean), "{mean}");
        // A share of e⁻² exceeds twice the mean.
        let long = times.iter().filter(|&&time| time > 10.0).count();
        assert!((13_000..14_100).contains(&long), "{long}");
        // Without the limit, about five of them would exceed it.
        assert!(times.iter().all(|&time| time <= 50.0));
    }

    #[test]
    fn a_pause_is_of_the_last_ones_thinking_and_the_next_ones_keying() {
        use TpccTransaction::{Delivery, NewOrder, Payment};
        let mut random = Random::new(10);
        let mut mean = |last, next| {
            let pauses = (0..20_000).map(|_| TpccThink::Spec.pause(&mut random, last, next));
            let (least, sum) = pauses.fold((Duration::MAX, Duration::ZERO), |(least, sum), one| {
                (least.min(one), sum + one)
            });
            (least.as_secs(), (sum / 20_000).as_secs_f64().round() as u64)
        };
        assert_eq!(mean(Some(Payment), NewOrder), (18, 30));
        assert_eq!(mean(Some(NewOrder), Payment), (3, 15));
        assert_eq!(mean(Some(Delivery), Payment), (3, 8));
        assert_eq!(mean(None, Delivery), (2, 7), "as after another of its kind");
        assert_eq!(TpccThink::None.pause(&mut random, Some(Payment), NewOrder), Duration::ZERO);
    }

    #[test]
    fn ten_terminals_that_wait_for_no_answer_reach_the_maximum() {
        let (mut random, mut last) = (Random::new(11), None);
        let (mut orders, mut waited) = (0, Duration::ZERO);
        for _ in 0..200_000 {
            let next = TpccMix::Standard.pick(&mut random);
            waited += TpccThink::Spec.pause(&mut random, last, next);
            orders += u32::from(next == TpccTransaction::NewOrder);
            last = Some(next);
        }
        let tpmc = 10.0 * f64::from(orders) / (waited.as_secs_f64() / 60.0);
        assert!((tpmc - TpccThink::MAXIMUM_TPMC).abs() < 0.1, "{tpmc}");
    }
}
