//! The sizes of the data.

use clap::Args;
use clearway_workloads::TpccScale;

use super::site::{Data, Sites};
use crate::{experiment::Outcome, report::Findings};

/// The options for the size of the data.
#[derive(Args, Debug)]
pub(in super::super) struct Sizes {
    /// Load one row in this many of those that TPC-C has
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=50))]
    part: u32,
    /// Load all rows and measure at all points of the paper; takes longer
    #[arg(long)]
    pub(in super::super) full: bool,
}

impl Sizes {
    fn part(&self) -> u32 {
        if self.full { 1 } else { self.part }
    }

    /// Returns TPC-C data with this number of warehouses.
    pub(in super::super) fn tpcc(&self, warehouses: u32) -> Data {
        let (part, all) = (self.part(), TpccScale::standard(warehouses));
        Data::Tpcc(TpccScale {
            warehouses,
            items: all.items / part,
            customers_per_district: all.customers_per_district / part,
            orders_per_district: all.orders_per_district / part,
            new_orders_per_district: all.new_orders_per_district / part,
        })
    }

    /// Adds the size of data to the settings.
    pub(in super::super) fn report(
        &self,
        name: &'static str,
        sites: &Sites,
        data: Data,
        found: &mut Findings,
    ) -> Outcome<()> {
        found.setting(name, format!("{} MiB", sites.bytes(data)? >> 20));
        Ok(())
    }
}
