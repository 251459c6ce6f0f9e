//! `clearway backup`: copies a database to another directory.

use crate::{
    args::BackupArgs,
    failure::{Context, Outcome},
    output::print,
};

pub(crate) fn run(args: &BackupArgs) -> Outcome {
    let db = args.open.open()?;
    db.backup(&args.to).with_context(|| format!("cannot back up to {}", args.to.display()))?;
    db.close().with_context(|| format!("cannot close {}", args.open.dir.display()))?;
    print(format_args!("{} is copied to {}\n", args.open.dir.display(), args.to.display()))
}
