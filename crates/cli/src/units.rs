//! Parses sizes and durations, and formats numbers for display.

use std::time::Duration;

use bytesize::ByteSize;
use indicatif::HumanCount;

/// Parses a size: `4096`, `64KiB`, `1.5 GiB`, `2GB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let size = text.trim().parse::<ByteSize>();
    size.map(|size| size.0).map_err(|_| format!("{text:?} is not a size such as 64MiB or 1GiB"))
}

/// Parses a duration: `100us`, `1ms`, `0.5s`, `2min`; `0` needs no unit.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text.trim());
    duration.map_err(|_| format!("{text:?} is not a duration such as 100us, 1ms or 2s"))
}

/// Parses a plain number of seconds, or a duration with its unit.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => parse_duration(text),
    }
}

/// Formats a number with separators between the thousands: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Formats a size with its unit: `1.5 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    ByteSize(bytes).to_string()
}

/// Converts nanoseconds to microseconds.
pub(crate) fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// Formats nanoseconds with a unit: `85.00µs`, `1.23ms`.
pub(crate) fn time(nanos: u64) -> String {
    format!("{:.2?}", Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_with_and_without_units() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("1GiB"), Ok(1 << 30));
        assert_eq!(parse_size("1.5 MiB"), Ok(3 << 19));
        assert_eq!(parse_size("2kB"), Ok(2000));
        let units = ["B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"];
        let sizes = units.map(|unit| parse_size(&format!("1{unit}")).unwrap());
        let decimal = [1, 1_000, 1_000, 1_000_000, 1_000_000_000, 1_000_000_000_000];
        assert_eq!(sizes[..6], decimal);
        assert_eq!(sizes[6..], [1 << 10, 1 << 20, 1 << 30, 1 << 40]);
        for bad in ["", "GiB", "1 GiBs", "-1", "1e9", "ten"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_need_a_unit_unless_they_are_zero() {
        assert_eq!(parse_duration("1ms"), Ok(Duration::from_millis(1)));
        assert_eq!(parse_duration("0.5 s"), Ok(Duration::from_millis(500)));
        let units = ["ns", "us", "µs", "ms", "s", "min"];
        let nanos = units.map(|unit| parse_duration(&format!("2{unit}")).unwrap().as_nanos());
        assert_eq!(nanos, [2, 2_000, 2_000, 2_000_000, 2_000_000_000, 120_000_000_000]);
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        assert!(parse_duration("5").is_err());
        assert_eq!(parse_seconds("2.5"), Ok(Duration::from_millis(2500)));
        assert_eq!(parse_seconds("100ms"), Ok(Duration::from_millis(100)));
        assert!(parse_seconds("-1").is_err());
    }

    #[test]
    fn numbers_are_formatted_with_separators_and_units() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(size(512), "512 B");
        assert_eq!(size(3 << 29), "1.5 GiB");
        assert_eq!(time(85_000), "85.00µs");
        assert_eq!(time(2_300_000), "2.30ms");
        assert_eq!(time(23_000_000), "23.00ms");
    }
}
