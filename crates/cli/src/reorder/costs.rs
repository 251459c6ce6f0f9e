//! The options that say what an order costs.

use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};
use clearway_reorder::{
    profile::{Profile, Weights},
    weights::{Costing, Objective},
};

use crate::failure::{Context, Outcome};

#[derive(Group, Debug)]
pub(super) struct CostArgs {
    /// The measured times of the queries [default: estimates from the schema]
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// The property of the times that measures contention
    #[arg(long, value_enum, default_value = "stddev", requires = "profile")]
    weights: WeightsArg,
    /// The sum that the order minimizes
    #[arg(long, value_enum, default_value = "hold")]
    objective: ObjectiveArg,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum WeightsArg {
    /// The standard deviation
    Stddev,
    /// The mean less the time without waits
    Wait,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum ObjectiveArg {
    /// Of weight × number of queries from each query to the end
    Position,
    /// Of weight × time from each query to the end
    Hold,
}

impl CostArgs {
    /// Reads the profile.
    pub(super) fn read(&self) -> Outcome<Costing> {
        let attempt = || "cannot use the profile".to_owned();
        let profile = self.profile.as_deref().map(Profile::read).transpose();
        Ok(Costing {
            profile: profile.with_context(attempt)?,
            weights: match self.weights {
                WeightsArg::Stddev => Weights::Stddev,
                WeightsArg::Wait => Weights::Wait,
            },
            objective: match self.objective {
                ObjectiveArg::Position => Objective::Position,
                ObjectiveArg::Hold => Objective::Hold,
            },
        })
    }
}
