//! The values that an expression may have.

use crate::api::Server;

/// The values that an expression may have.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// A part that may be null, and make the whole null.
    pub(super) nullable: Option<String>,
}

/// The values that an expression may have, besides null.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    /// A value that comes from no row.
    Given,
    /// Numbers.
    Number(Range),
    /// Texts; with the most characters, if there is a limit.
    Text(Option<usize>),
    /// Values of another type.
    Other(String),
    /// Not known.
    Unknown,
}

/// A range of numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Range {
    /// The largest number; infinite for `numeric` without limits, which may be larger than each
    /// number with a floating point.
    pub(super) most: f64,
    /// True if no number is less than zero.
    pub(super) unsigned: bool,
    /// True for whole numbers of a fixed size, whose products overflow.
    pub(super) whole: bool,
}

/// The range of types whose sums are assumed to be in range: six digits.
const WIDE: f64 = 999_999.0;

/// The largest number of `real`, and of `double precision`.
const REAL: f64 = f32::MAX as f64;
const DOUBLE: f64 = f64::MAX;

impl Shape {
    /// Returns values that come from no row.
    pub(super) fn given() -> Shape {
        Shape { kind: Kind::Given, nullable: None }
    }

    /// Returns values that are never null.
    pub(super) fn of(kind: Kind) -> Shape {
        Shape { kind, nullable: None }
    }

    /// Returns the values of two shapes together.
    pub(super) fn or(self, other: Shape) -> Shape {
        let kind = self.kind.or(other.kind);
        Shape { kind, nullable: self.nullable.or(other.nullable) }
    }
}

impl Kind {
    /// Returns numbers that are whole, up to one.
    pub(super) fn whole(most: f64) -> Kind {
        Kind::Number(Range { most, unsigned: false, whole: true })
    }

    /// Returns the values of a type.
    pub(super) fn of_type(ty: &str, server: Server) -> Kind {
        let ty = ty.strip_prefix("pg_catalog.").unwrap_or(ty);
        let word = ty.split([' ', '(', '[']).next().unwrap_or_default();
        let unsigned = ty.contains("unsigned") || ty.contains("zerofill");
        let bits = |bits: i32| {
            let most = if unsigned { 2f64.powi(bits) - 1.0 } else { 2f64.powi(bits - 1) - 1.0 };
            Kind::Number(Range { most, unsigned, whole: true })
        };
        let other = || Kind::Other(ty.to_owned());
        if is_array(ty) {
            return other();
        }
        match word {
            "signed" => bits(64),
            "tinyint" | "int1" => bits(8),
            "bool" | "boolean" if server != Server::Postgresql => bits(8),
            "smallint" | "int2" | "smallserial" | "serial2" => bits(16),
            "mediumint" | "int3" | "middleint" => bits(24),
            "int" | "integer" | "int4" | "serial4" => bits(32),
            "serial" if server == Server::Postgresql => bits(32),
            "bigint" | "int8" | "bigserial" | "serial8" | "serial" => bits(64),
            "numeric" | "decimal" | "dec" | "fixed" => {
                Kind::Number(Range { most: decimal(ty, server), unsigned, whole: false })
            }
            "real" | "float" | "float4" | "float8" | "double" => {
                let most = floating(ty, word, server);
                Kind::Number(Range { most, unsigned, whole: false })
            }
            "text" | "citext" | "longtext" | "clob"
                if word != "text" || server != Server::Mysql =>
            {
                Kind::Text(None)
            }
            "text" => Kind::Text(Some(65_535 / 4)),
            "tinytext" => Kind::Text(Some(255 / 4)),
            "mediumtext" => Kind::Text(Some(16_777_215 / 4)),
            "varchar" | "varchar2" | "nvarchar" if !ty.contains('(') => Kind::Text(None),
            "varchar" | "varchar2" | "nvarchar" | "char" | "nchar" | "bpchar" => {
                Kind::Text(Some(length(ty).unwrap_or(1)))
            }
            "character" if ty.contains("varying") => Kind::Text(length(ty)),
            "character" => Kind::Text(Some(length(ty).unwrap_or(1))),
            "bool" => Kind::Other("boolean".to_owned()),
            "date" | "timestamp" | "timestamptz" if server == Server::Postgresql => {
                Kind::Other("timestamp".to_owned())
            }
            _ => other(),
        }
    }

    /// Returns the values of two kinds together.
    pub(super) fn or(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Given, kind) | (kind, Kind::Given) => kind,
            (Kind::Number(one), Kind::Number(other)) => Kind::Number(Range {
                most: one.most.max(other.most),
                unsigned: one.unsigned && other.unsigned,
                whole: one.whole && other.whole,
            }),
            (Kind::Text(one), Kind::Text(other)) => {
                Kind::Text(one.zip(other).map(|(one, other)| one.max(other)))
            }
            (one, other) if one == other => one,
            _ => Kind::Unknown,
        }
    }

    /// Returns true if all values fit into a column with the values of `target`.
    pub(super) fn fits(&self, target: &Kind) -> bool {
        match (self, target) {
            (Kind::Given, _) => true,
            (Kind::Number(one), Kind::Number(column)) => {
                one.most <= column.most && (one.unsigned || !column.unsigned)
            }
            (Kind::Text(_), Kind::Text(None)) => true,
            (Kind::Text(Some(one)), Kind::Text(Some(column))) => one <= column,
            (Kind::Number(range), Kind::Other(ty)) => {
                range.most <= 1.0 && matches!(ty.as_str(), "bit" | "bit(1)")
            }
            (Kind::Unknown, _) | (_, Kind::Unknown) => false,
            (one, column) => one == column,
        }
    }

    /// Returns true for an array.
    pub(super) fn is_array(&self) -> bool {
        matches!(self, Kind::Other(ty) if is_array(ty))
    }

    /// Returns true for the type `json` of PostgreSQL, which keeps texts as they are written.
    pub(super) fn is_json(&self) -> bool {
        matches!(self, Kind::Other(ty) if ty == "json")
    }

    /// Returns true for strings of bits whose lengths may differ, and for addresses.
    pub(super) fn is_bits(&self) -> bool {
        let Kind::Other(ty) = self else { return false };
        let words = ["bit varying", "varbit", "binary", "varbinary", "blob", "inet", "cidr"];
        words.iter().any(|word| ty.starts_with(word)) || ty.ends_with("blob")
    }

    /// Returns true for a date, a time or both.
    pub(super) fn is_time(&self) -> bool {
        let Kind::Other(ty) = self else { return false };
        ["date", "time", "interval"].iter().any(|word| ty.starts_with(word))
    }
}

impl Range {
    /// Returns true for PostgreSQL's `smallint`.
    pub(super) fn is_small(self) -> bool {
        self.whole && self.most <= 32_767.0
    }

    /// Returns true for numbers with a floating point.
    fn is_floating(self) -> bool {
        !self.whole && (REAL..=DOUBLE).contains(&self.most)
    }

    /// Returns the products or quotients of numbers of two ranges, up to `most` if they have no
    /// floating point. Those that have one are assumed to be in the wider range.
    pub(super) fn scaled(self, other: Option<Range>, most: f64) -> Range {
        let ranges = [Some(self), other];
        let floating = ranges.into_iter().flatten().filter(|range| range.is_floating());
        let floating = floating.map(|range| range.most).reduce(f64::max);
        let is_finite = ranges.iter().flatten().all(|range| range.most.is_finite());
        let most = if is_finite { most.min(DOUBLE) } else { most };
        let whole = self.whole && other.is_none_or(|other| other.whole);
        Range { most: floating.unwrap_or(most), unsigned: false, whole }
    }

    /// Returns the numbers with the other sign, of which a type with fewer than six digits may have
    /// one too few.
    pub(super) fn negated(self) -> Range {
        let is_narrow = self.whole && self.most < WIDE;
        Range { most: self.most + f64::from(u8::from(is_narrow)), unsigned: false, ..self }
    }

    /// Returns the numbers rounded to digits behind the point, or before it as well.
    pub(super) fn rounded(self, is_before_point: bool) -> Range {
        let most = if is_before_point { self.most * 10.0 } else { self.most.ceil() };
        Range { most: if self.is_floating() { self.most } else { most }, ..self }
    }

    /// Returns the sums of numbers of two ranges, which are assumed to be in the wider one.
    pub(super) fn sum(self, other: Range) -> Range {
        let most = self.most.max(other.most);
        let most = if most < WIDE { 2.0 * WIDE } else { most };
        Range { most, unsigned: self.unsigned && other.unsigned, whole: self.whole && other.whole }
    }
}

/// Returns the numbers in the parentheses of a type.
fn numbers(ty: &str) -> Vec<i32> {
    let inner = ty.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let inner = inner.map_or("", |(inner, _)| inner);
    inner.split(',').filter_map(|one| one.trim().parse().ok()).collect()
}

/// Returns the number of characters of a type.
pub(super) fn length(ty: &str) -> Option<usize> {
    usize::try_from(*numbers(ty).first()?).ok()
}

/// Returns true for the type of arrays.
pub(super) fn is_array(ty: &str) -> bool {
    ty.contains('[') || ty.ends_with(" array")
}

/// Returns the largest number of a type with a floating point.
fn floating(ty: &str, word: &str, server: Server) -> f64 {
    let has_digits = ty.contains('(');
    let is_single = match server {
        Server::Postgresql if word == "float" && has_digits => numbers(ty).iter().all(|&n| n <= 24),
        Server::Postgresql => matches!(word, "real" | "float4"),
        Server::Mysql if has_digits => return decimal(ty, server),
        Server::Mysql => matches!(word, "float" | "float4"),
        Server::Sqlite => false,
    };
    if is_single { REAL } else { DOUBLE }
}

/// Returns the largest number of a decimal type: a larger one with more places is rounded to the
/// least power of ten that the type does not have.
fn decimal(ty: &str, server: Server) -> f64 {
    let (digits, places) = match numbers(ty)[..] {
        [digits, places] => (digits - places, places),
        [digits] => (digits, 0),
        _ if server == Server::Mysql => (10, 0),
        _ => return f64::INFINITY,
    };
    let power = 10f64.powi(digits);
    // The difference may be less than the precision of the power.
    (power - 10f64.powi(-places)).min(power * (1.0 - f64::EPSILON))
}
