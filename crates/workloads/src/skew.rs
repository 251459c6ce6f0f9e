//! Distributions by which a workload picks its rows: uniform, Zipf, or self-similar.
//!
//! Zipf: rank r is picked in proportion to r⁻ˢ. Sampled by rejection-inversion (Hörmann and
//! Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
//! 1996), which needs no table and works for every s > 0 and every n.
//!
//! Self-similar: the first fraction h of the items gets 1 − h of the picks, and again within that
//! fraction (Gray et al., "Quickly Generating Billion-Record Synthetic Databases", 1994).

use std::{fmt, str::FromStr};

use clearway_testkit::Random;

/// A choice of distribution.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Skew {
    /// Every row is equally likely.
    #[default]
    Uniform,
    /// Zipf with this exponent, above 0. 1 is the classic; larger is more skewed.
    Zipf(f64),
    /// The hottest fraction h gets 1 − h of the picks; h in (0, 0.5]. 0.2 is "80–20".
    SelfSimilar(f64),
}

impl FromStr for Skew {
    type Err = String;

    fn from_str(text: &str) -> Result<Skew, String> {
        let number = |value: &str| {
            value.parse::<f64>().map_err(|_| format!("{value:?} in {text:?} is not a number"))
        };
        match text.split_once('=') {
            None if text == "uniform" => Ok(Skew::Uniform),
            Some(("zipf", value)) => match number(value)? {
                s if s > 0.0 && s <= 10.0 => Ok(Skew::Zipf(s)),
                _ => Err(format!("the exponent in {text:?} must be above 0 and at most 10")),
            },
            Some(("self-similar", value)) => match number(value)? {
                h if h > 0.0 && h <= 0.5 => Ok(Skew::SelfSimilar(h)),
                _ => Err(format!("the fraction in {text:?} must be above 0 and at most 0.5")),
            },
            _ => Err(format!("{text:?} is none of uniform, zipf=S, self-similar=H")),
        }
    }
}

impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skew::Uniform => f.write_str("uniform"),
            Skew::Zipf(s) => write!(f, "zipf={s}"),
            Skew::SelfSimilar(h) => write!(f, "self-similar={h}"),
        }
    }
}

/// Picks items `0..n` by a [`Skew`]; item 0 is the hottest.
#[derive(Clone, Debug)]
pub struct Sampler {
    items: u64,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Uniform,
    Zipf(Zipf),
    SelfSimilar { exponent: f64 },
}

impl Sampler {
    /// A sampler over `items` items, at least one.
    pub fn new(skew: Skew, items: u64) -> Sampler {
        let items = items.max(1);
        let kind = match skew {
            Skew::Uniform => Kind::Uniform,
            Skew::Zipf(s) => Kind::Zipf(Zipf::new(s, items)),
            Skew::SelfSimilar(h) => Kind::SelfSimilar { exponent: h.ln() / (1.0 - h).ln() },
        };
        Sampler { items, kind }
    }

    /// One pick.
    #[inline]
    pub fn pick(&self, random: &mut Random) -> u64 {
        match &self.kind {
            Kind::Uniform => random.below(self.items),
            Kind::Zipf(zipf) => zipf.pick(random),
            Kind::SelfSimilar { exponent } => {
                ((self.items as f64 * random.unit().powf(*exponent)) as u64).min(self.items - 1)
            }
        }
    }
}

/// Hörmann and Derflinger's sampler. `area` is the integral of x⁻ˢ, up to a constant.
#[derive(Clone, Debug)]
struct Zipf {
    exponent: f64,
    items: f64,
    area_first: f64,
    area_last: f64,
    accept: f64,
}

impl Zipf {
    fn new(exponent: f64, items: u64) -> Zipf {
        let mut zipf =
            Zipf { exponent, items: items as f64, area_first: 0.0, area_last: 0.0, accept: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(zipf.items + 0.5);
        zipf.accept = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    fn height(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over((1.0 - self.exponent) * log) * log
    }

    fn area_inverse(&self, x: f64) -> f64 {
        let t = (x * (1.0 - self.exponent)).max(-1.0);
        (log1p_over(t) * x).exp()
    }

    fn pick(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.area_last + random.unit() * (self.area_first - self.area_last);
            let x = self.area_inverse(u);
            let rank = (x + 0.5).floor().clamp(1.0, self.items);
            if rank - x <= self.accept || u >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u64 - 1;
            }
        }
    }
}

/// `expm1(x) / x`, also near 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// `ln_1p(x) / x`, also near 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(skew: Skew, items: u64) -> Vec<f64> {
        let (sampler, mut random) = (Sampler::new(skew, items), Random::new(3));
        let mut counts = vec![0u32; items as usize];
        (0..100_000).for_each(|_| counts[sampler.pick(&mut random) as usize] += 1);
        counts.iter().map(|&c| f64::from(c) / 100_000.0).collect()
    }

    #[test]
    fn zipf_follows_its_law() {
        for exponent in [0.5, 1.0, 1.5] {
            let weights: Vec<f64> = (1..=10).map(|r| f64::from(r).powf(-exponent)).collect();
            let total: f64 = weights.iter().sum();
            for (share, weight) in shares(Skew::Zipf(exponent), 10).iter().zip(weights) {
                assert!((share - weight / total).abs() < 0.01, "s={exponent}: {share}");
            }
        }
    }

    #[test]
    fn self_similar_gives_the_hot_fifth_four_fifths() {
        let hot: f64 = shares(Skew::SelfSimilar(0.2), 100)[..20].iter().sum();
        assert!((hot - 0.8).abs() < 0.01, "{hot}");
    }

    #[test]
    fn one_item_is_always_picked() {
        for skew in [Skew::Uniform, Skew::Zipf(1.0), Skew::SelfSimilar(0.5)] {
            assert_eq!(shares(skew, 1), [1.0]);
        }
    }

    #[test]
    fn skews_are_read_and_written_alike() {
        for text in ["uniform", "zipf=0.99", "self-similar=0.2"] {
            assert_eq!(text.parse::<Skew>().unwrap().to_string(), text);
        }
        for text in ["zipf", "zipf=x", "zipf=0", "self-similar=0.9", "hot"] {
            assert!(text.parse::<Skew>().is_err(), "{text}");
        }
    }
}
