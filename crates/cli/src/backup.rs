//! `clearway backup`: a copy that opens.

use crate::{
    args::BackupArgs,
    failure::{Doing, Outcome},
    output::print,
};

pub(crate) fn run(args: &BackupArgs) -> Outcome {
    let db = args.open.open()?;
    db.backup(&args.to).doing(|| format!("cannot back up to {}", args.to.display()))?;
    db.close().doing(|| format!("cannot close {}", args.open.dir.display()))?;
    print(format_args!("{} is copied to {}\n", args.open.dir.display(), args.to.display()))
}
