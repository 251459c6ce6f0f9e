//! The kinds of damage at an operation of a scenario, and their names on the command line.

use std::fmt;

use clearway_testkit::disk::CrashImage;

/// The damage at an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Damage {
    /// The power is cut, which leaves this image.
    Cut(CrashImage),
    /// The power is cut, which leaves the first image, and is cut again at an operation of the
    /// recovery of that image, which leaves the second one.
    CutTwice(CrashImage, u64, CrashImage),
    /// The disk fails.
    Failure(Failure),
}

/// A kind of disk failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// The operation fails once.
    Error,
    /// The operation fails, and so do all later ones until the runner sees the error and repairs
    /// the disk.
    ErrorForever,
    /// There is no space for the operation.
    Full,
    /// There is no space until the runner sees the error and frees some.
    FullForever,
    /// The next sync fails and drops the unsynced data; the sync after it succeeds regardless.
    SyncLies,
    /// The next read fails once.
    Read,
}

const IMAGES: [&str; 10] = [
    "drop-all",
    "keep-all",
    "drop-last",
    "tear-last",
    "keep-metadata",
    "keep-data",
    "tear-all",
    "reorder",
    "garbage",
    "random",
];

/// All failures and their names.
pub(super) const FAILURES: [(Failure, &str); 6] = [
    (Failure::Error, "error"),
    (Failure::ErrorForever, "error-forever"),
    (Failure::Full, "full"),
    (Failure::FullForever, "full-forever"),
    (Failure::SyncLies, "sync-lies"),
    (Failure::Read, "read"),
];

struct Image(CrashImage);

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CrashImage::TearAll(seed) => write!(f, "tear-all:{seed}"),
            CrashImage::Reorder(seed) => write!(f, "reorder:{seed}"),
            CrashImage::Garbage(seed) => write!(f, "garbage:{seed}"),
            CrashImage::Random(seed) => write!(f, "random:{seed}"),
            CrashImage::Subset(subset) => write!(f, "subset:{subset}"),
            image => {
                let index = CrashImage::kinds(0).iter().position(|kind| *kind == image);
                f.write_str(IMAGES[index.expect("it has no seed")])
            }
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Damage::Cut(image) => Image(image).fmt(f),
            Damage::CutTwice(first, at, second) => {
                write!(f, "{}/{at}/{}", Image(first), Image(second))
            }
            Damage::Failure(failure) => {
                let named = FAILURES.iter().find(|(one, _)| *one == failure);
                f.write_str(named.expect("all are named").1)
            }
        }
    }
}

fn parse_image(text: &str) -> Option<CrashImage> {
    let (name, seed) = text.split_once(':').unwrap_or((text, "0"));
    let seed = seed.parse().ok()?;
    if name == "subset" {
        return Some(CrashImage::Subset(seed));
    }
    let index = IMAGES.iter().position(|one| *one == name)?;
    Some(CrashImage::kinds(seed)[index])
}

impl std::str::FromStr for Damage {
    type Err = String;

    fn from_str(text: &str) -> Result<Damage, String> {
        let failure = FAILURES.iter().find(|(_, name)| *name == text);
        if let Some((failure, _)) = failure {
            return Ok(Damage::Failure(*failure));
        }
        let unknown = || format!("there is no damage {text:?}");
        let parts: Vec<&str> = text.split('/').collect();
        let image = |part| parse_image(part).ok_or_else(unknown);
        match parts[..] {
            [only] => Ok(Damage::Cut(image(only)?)),
            [first, at, second] => {
                let at = at.parse().map_err(|_| unknown())?;
                Ok(Damage::CutTwice(image(first)?, at, image(second)?))
            }
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printed_name_is_parsed_back() {
        let cuts = CrashImage::kinds(77).map(Damage::Cut);
        let twice = CrashImage::kinds(5).map(|image| Damage::CutTwice(image, 12, image));
        let failures = FAILURES.map(|(failure, _)| Damage::Failure(failure));
        for damage in cuts.into_iter().chain(twice).chain(failures) {
            assert_eq!(damage.to_string().parse(), Ok(damage));
        }
        assert!("tear-none".parse::<Damage>().is_err());
    }
}
