//! Types of variables and expressions, as far as aliasing and renaming need them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A type, with typedefs resolved and without its own qualifiers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Type {
    /// `void`.
    Void,
    /// An arithmetic type, `bool` or an enumeration (not of underlying type `bool`), as it is
    /// written: `unsigned long`.
    Scalar(String),
    /// A pointer.
    Pointer {
        /// The type that it points to.
        to: Box<Type>,
        /// True if the pointee is `const`.
        constant: bool,
    },
    /// An array.
    Array {
        /// The type of an element.
        of: Box<Type>,
        /// The number of elements, if it is a constant.
        length: Option<u64>,
    },
    /// A `struct` or `union` that is copied by copying its bytes, by its canonical name:
    /// `struct payment_input`.
    Record(String),
    /// A class with a constructor, a destructor or a copy operation of its own, by its canonical
    /// name without template arguments: `std::basic_string`.
    Class(String),
    /// A C++ reference.
    Reference {
        /// The type that it refers to.
        to: Box<Type>,
        /// True if what it refers to is `const`.
        constant: bool,
    },
    /// A function.
    Function,
    /// Any other type, an enumeration of underlying type `bool` among them, as it is written.
    Other(String),
}

/// Shows the type as C or C++ write it, for messages.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let qualifier = |constant: &bool| if *constant { "const " } else { "" };
        match self {
            Type::Void => f.write_str("void"),
            Type::Function => f.write_str("a function"),
            Type::Scalar(name) | Type::Record(name) | Type::Class(name) | Type::Other(name) => {
                f.write_str(name)
            }
            Type::Pointer { to, constant } => {
                let space = if matches!(**to, Type::Pointer { .. }) { "" } else { " " };
                write!(f, "{}{to}{space}*", qualifier(constant))
            }
            Type::Reference { to, constant } => write!(f, "{}{to} &", qualifier(constant)),
            Type::Array { of, length: Some(length) } => write!(f, "{of}[{length}]"),
            Type::Array { of, length: None } => write!(f, "{of}[]"),
        }
    }
}

impl Type {
    /// Returns the type behind a pointer or reference, or the type of an array's elements.
    pub fn pointee(&self) -> Option<&Type> {
        match self {
            Type::Pointer { to, .. } | Type::Reference { to, .. } => Some(to),
            Type::Array { of, .. } => Some(of),
            _ => None,
        }
    }

    /// Returns true if what a pointer or reference of this type leads to is `const`.
    pub fn has_constant_pointee(&self) -> bool {
        matches!(
            self,
            Type::Pointer { constant: true, .. } | Type::Reference { constant: true, .. }
        )
    }
}
