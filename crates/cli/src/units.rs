//! Sizes and durations as people write them, and numbers as they read them.

use std::time::Duration;

/// Reads a size: `4096`, `64KiB`, `1.5 GiB`, `2GB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let units = [
        ("B", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("KiB", 1024.0),
        ("MiB", 1024.0 * 1024.0),
        ("GiB", 1024.0 * 1024.0 * 1024.0),
        ("TiB", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ];
    let bytes = parse_with_unit(text, &units, Some(1.0), "a size such as 64MiB or 1GiB")?;
    Ok(bytes as u64)
}

/// Reads a duration: `100us`, `1ms`, `0.5s`, `2min`; `0` needs no unit.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)];
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    let seconds = parse_with_unit(text, &units, None, "a duration such as 100us, 1ms or 2s")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Reads a plain number of seconds, or a duration with its unit.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => parse_duration(text),
    }
}

fn parse_with_unit(
    text: &str,
    units: &[(&str, f64)],
    without: Option<f64>,
    wanted: &str,
) -> Result<f64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..split], text[split..].trim());
    let refuse = || format!("{text:?} is not {wanted}");
    let number: f64 = number.parse().map_err(|_| refuse())?;
    let factor = match unit {
        "" => without,
        _ => units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor),
    };
    factor.map(|factor| number * factor).ok_or_else(refuse)
}

/// A number with its thousands apart: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size for people: `1.5 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// Nanoseconds for people: `85 µs`, `1.2 ms`.
pub(crate) fn time(nanos: u64) -> String {
    let us = nanos as f64 / 1e3;
    match us {
        _ if us < 100.0 => format!("{us:.1} µs"),
        _ if us < 1e4 => format!("{us:.0} µs"),
        _ if us < 1e7 => format!("{:.1} ms", us / 1e3),
        _ => format!("{:.1} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("1GiB"), Ok(1 << 30));
        assert_eq!(parse_size("1.5 MiB"), Ok(3 << 19));
        assert_eq!(parse_size("2kB"), Ok(2000));
        for bad in ["", "GiB", "1 GiBs", "-1", "1e9", "ten"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_need_a_unit_unless_they_are_nothing() {
        assert_eq!(parse_duration("1ms"), Ok(Duration::from_millis(1)));
        assert_eq!(parse_duration("0.5 s"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        assert!(parse_duration("5").is_err());
        assert_eq!(parse_seconds("2.5"), Ok(Duration::from_millis(2500)));
        assert_eq!(parse_seconds("100ms"), Ok(Duration::from_millis(100)));
        assert!(parse_seconds("-1").is_err());
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(size(512), "512 B");
        assert_eq!(size(3 << 29), "1.5 GiB");
        assert_eq!(time(85_000), "85.0 µs");
        assert_eq!(time(2_300_000), "2300 µs");
        assert_eq!(time(23_000_000), "23.0 ms");
    }
}
