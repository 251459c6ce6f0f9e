//! The values of integer types, as far as a conversion between them may change a value.

use crate::ir::{Expression, ExpressionKind as Kind};

/// The range of an integer type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    signed: bool,
    /// The number of bits, at most and at least: `long` has 64 or 32.
    bits: (u32, u32),
}

const INT: Range = signed(32);

const fn signed(bits: u32) -> Range {
    Range { signed: true, bits: (bits, bits) }
}

const fn unsigned(bits: u32) -> Range {
    Range { signed: false, bits: (bits, bits) }
}

impl Range {
    /// Returns true if the type certainly has all values of another.
    pub(super) fn contains(self, other: Range) -> bool {
        let (most, least) = (other.bits.0, self.bits.1);
        self == other
            || match (self.signed, other.signed) {
                (true, false) => most < least,
                (false, true) => false,
                _ => most <= least,
            }
    }

    pub(super) fn is_signed(self) -> bool {
        self.signed
    }

    /// Returns true if a value of the type may come back after few steps.
    pub(super) fn is_small(self) -> bool {
        self.bits.1 < 32
    }
}

/// Returns the range of a type of C or C++.
pub(super) fn of_type(name: &str) -> Option<Range> {
    Some(match name {
        // A `char` has a sign or not.
        "char" => Range { signed: true, bits: (9, 7) },
        "signed char" => signed(8),
        "unsigned char" | "_Bool" | "bool" => unsigned(8),
        "short" => signed(16),
        "unsigned short" => unsigned(16),
        "int" => INT,
        "unsigned int" => unsigned(32),
        "long" => Range { signed: true, bits: (64, 32) },
        "unsigned long" => Range { signed: false, bits: (64, 32) },
        "long long" => signed(64),
        "unsigned long long" => unsigned(64),
        _ => return None,
    })
}

/// Returns the range of the values that a conversion of `printf`, without its `%`, writes as they
/// are, in the shortest form.
pub(super) fn of_conversion(conversion: &str) -> Option<Range> {
    of_type(match conversion {
        "d" | "i" => "int",
        "u" => "unsigned int",
        "ld" | "li" | "zd" | "td" | "jd" => "long",
        "lu" | "zu" | "ju" => "unsigned long",
        "lld" | "lli" => "long long",
        "llu" => "unsigned long long",
        _ => return None,
    })
}

/// Returns the range of a column of integers, by its type.
pub(super) fn of_column(ty: &str) -> Option<Range> {
    let bits = match ty.split([' ', '(']).next()? {
        "tinyint" => 8,
        "smallint" | "int2" | "smallserial" | "serial2" => 16,
        "mediumint" => 24,
        "int" | "integer" | "int4" | "serial4" => 32,
        "bigint" | "int8" | "bigserial" | "serial8" => 64,
        // MySQL's has 64 bits and no sign.
        "serial" => 31,
        _ => return None,
    };
    Some(if ty.contains("unsigned") { unsigned(bits) } else { signed(bits) })
}

/// Returns the value of an integer constant.
pub(super) fn constant(expression: &Expression) -> Option<i64> {
    match &expression.kind {
        Kind::Constant(number) => number.parse().ok(),
        _ => None,
    }
}

/// Returns true if two expressions without effects are written alike.
pub(super) fn are_alike(a: &Expression, b: &Expression) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::Variable(a), Kind::Variable(b)) => a == b,
        (Kind::Constant(a), Kind::Constant(b)) => a == b,
        (Kind::Dereference(a), Kind::Dereference(b)) => are_alike(a, b),
        (
            Kind::Field { base: a, record, name, .. },
            Kind::Field { base: b, record: other_record, name: other_name, .. },
        ) => record == other_record && name == other_name && are_alike(a, b),
        (Kind::Element { base: a, index: i }, Kind::Element { base: b, index: j }) => {
            are_alike(a, b) && are_alike(i, j)
        }
        (Kind::Binary(operator, a, i), Kind::Binary(other, b, j)) => {
            operator == other && are_alike(a, b) && are_alike(i, j)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_keeps_the_values_of_types_that_it_contains() {
        let contains =
            |outer: &str, inner: &str| of_type(outer).unwrap().contains(of_type(inner).unwrap());
        assert!(contains("long long", "int") && contains("long long", "long"));
        assert!(contains("long long", "unsigned int") && contains("int", "unsigned short"));
        assert!(contains("long", "long") && contains("long", "int") && contains("int", "char"));
        assert!(!contains("long", "long long"), "it may have 32 bits");
        assert!(!contains("int", "long") && !contains("int", "unsigned int"));
        assert!(!contains("unsigned long long", "int") && !contains("signed char", "char"));
        assert_eq!(of_type("double"), None);
    }

    #[test]
    fn formats_that_change_a_value_have_no_range() {
        assert_eq!(of_conversion("lld"), of_type("long long"));
        for conversion in ["hd", "5d", ".2f", "x", "s", "hhu", ".3d", "*d", "c"] {
            assert_eq!(of_conversion(conversion), None, "{conversion}");
        }
    }
}
