//! `clearway reorder instrument` and `clearway reorder profile`.

use std::{fs, path::PathBuf};

use clap::Args as Group;
use clearway_reorder::profile::{self, Profile, RUNTIME};

use super::{input::SourceArgs, write_or_print};
use crate::{
    failure::{Context, Outcome},
    output::print_status,
};

#[derive(Group, Debug)]
pub(super) struct InstrumentArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The new source [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write the C files that the new source needs to this folder
    #[arg(long, value_name = "DIR")]
    runtime: Option<PathBuf>,
}

#[derive(Group, Debug)]
pub(super) struct ProfileArgs {
    /// The profiles of runs with many clients
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The profile of a run with a single client; may be repeated
    #[arg(long, value_name = "FILE")]
    single: Vec<PathBuf>,
    /// The merged profile
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

/// Writes the source that measures its queries.
pub(super) fn instrument(args: &InstrumentArgs) -> Outcome {
    let source = args.source.read()?;
    let function = args.source.function.as_deref();
    let instrumented = profile::instrument(&source.program, &source.text, &source.models, function)
        .with_context(|| format!("cannot instrument {}", args.source.file.display()))?;
    print_status(format_args!("{} calls are measured", instrumented.measured.len()));
    for (key, reason) in &instrumented.left_out {
        print_status(format_args!("not measured: {key}: {reason}"));
    }
    if let Some(folder) = &args.runtime {
        let attempt = || format!("cannot write the C files to {}", folder.display());
        fs::create_dir_all(folder).with_context(attempt)?;
        for (name, text) in RUNTIME {
            fs::write(folder.join(name), text).with_context(attempt)?;
        }
    }
    write_or_print(args.output.as_deref(), &instrumented.text)
}

/// Merges profiles.
pub(super) fn merge(args: &ProfileArgs) -> Outcome {
    let attempt = || "cannot merge the profiles".to_owned();
    let mut merged = Profile::default();
    for path in &args.files {
        merged.merge(Profile::read(path).with_context(attempt)?);
    }
    for path in &args.single {
        merged.merge_single_client(Profile::read(path).with_context(attempt)?);
    }
    merged.write(&args.output).with_context(attempt)
}
