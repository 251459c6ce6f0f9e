//! The format of the numbers in tables.

use indicatif::HumanCount;

/// Formats a number with about three significant digits and separators between the thousands.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value.is_nan() => "–".into(),
        f64::INFINITY => "∞".into(),
        0.0 => "0".into(),
        1000.0.. => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", HumanCount(size.round() as u64))
        }
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        0.1.. => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let texts = [1_234_567.8, -1000.0, 123.4, 12.34, 1.234, 0.0123, 0.0, f64::INFINITY];
        let texts = texts.map(number);
        assert_eq!(texts, ["1,234,568", "-1,000", "123", "12.3", "1.23", "0.0123", "0", "∞"]);
    }
}
