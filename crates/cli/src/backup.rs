//! `clearway backup`: a copy that opens.

use crate::{
    args::BackupArgs,
    failure::{Doing, Outcome},
};

pub(crate) fn run(args: &BackupArgs) -> Outcome {
    let db = args.open.open()?;
    db.backup(&args.to).doing(|| format!("cannot back up to {}", args.to.display()))?;
    db.close().doing(|| format!("cannot close {}", args.open.dir.display()))?;
    println!("{} is copied to {}", args.open.dir.display(), args.to.display());
    Ok(())
}
