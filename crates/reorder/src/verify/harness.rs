//! Generates the main function of a test program: it makes inputs, calls the function, and records
//! the result and the outputs.
//!
//! The program under test stands before it in the same source file, so its types are known there.
//! Inputs are a function of the seed and of their place, such as `input.lines[2].amount`, so both
//! programs receive the same ones. Outputs are all values behind parameters that are not `const`,
//! field by field, and the global variables of the file. A pointer is followed as far as its type
//! is known; otherwise it is null.

mod inputs;
mod outputs;
mod preparing;
mod setup;

use std::{collections::BTreeMap, fmt::Write as _};

use super::{Options, VerifyError, compare::RESULT, constants::Constants};
use crate::ir::{Function, Language, Program, Record, Scope, Type, Variable};

/// The number of pointers that are followed one behind the other.
const DEPTH: usize = 3;
/// The size of a text buffer that a function receives as `char *`.
const BUFFER: usize = 256;

/// A generated main function.
#[derive(Debug)]
pub(crate) struct Harness {
    pub text: String,
    /// The inputs that the generator could not make.
    pub notes: Vec<String>,
}

/// Generates the main function that calls a function of the program.
pub(crate) fn generate(
    program: &Program,
    function: &Function,
    constants: &Constants,
    options: &Options,
) -> Result<Harness, VerifyError> {
    let mut writer = Writer {
        program,
        options,
        text: String::new(),
        notes: Vec::new(),
        next: 0,
        handles: Vec::new(),
        lacking: BTreeMap::new(),
    };
    writer.text.push_str(HEAD);
    for setup in &options.setup {
        writer.declare_setup(setup);
    }
    writer.text.push_str("int main(void)\n{\n");
    let pointer = options.interface.pointer;
    writer.line(&format!("    {pointer}connection = ({pointer})mockdb_connect();"));
    writer.constants(constants);
    writer.globals_before();
    for setup in &options.setup {
        writer.setup(setup);
    }
    let parameters: Vec<&Variable> =
        function.declared().iter().map(|&index| program.variable(index)).collect();
    let mut arguments = Vec::new();
    for parameter in &parameters {
        arguments.push(writer.parameter(parameter)?);
    }
    writer.prepare(function, &parameters, &arguments);
    if options.in_transaction {
        writer.line("    mockdb_begin(connection);");
    }
    writer.call(function, &arguments);
    for (parameter, argument) in parameters.iter().zip(&arguments) {
        writer.parameter_output(parameter, argument);
    }
    writer.globals_after();
    writer.text.push_str("    return 0;\n}\n");
    writer.note_lacking();
    writer.note_unused_setup(&parameters);
    Ok(Harness { text: writer.text, notes: writer.notes })
}

/// The text before the statements of the main function.
const HEAD: &str = "#include \"mock_input.h\"
#ifdef __cplusplus
#include <type_traits>
#define MOCKDB_SET(place, value) \\
    ((place) = static_cast<std::remove_reference<decltype(place)>::type>(value))
#ifdef __cpp_exceptions
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <string>
#include <typeinfo>
/* Names the exception that is handled: its type and its text. */
static std::string mockdb_thrown()
{
    std::string type = \"an exception\", text;
    if (const std::type_info *known = abi::__cxa_current_exception_type()) {
        char *name = abi::__cxa_demangle(known->name(), 0, 0, 0);
        type = name ? name : known->name();
        std::free(name);
    }
    try {
        throw;
    } catch (const std::exception &error) {
        text = error.what();
    } catch (const std::string &error) {
        text = error;
    } catch (const char *error) {
        text = error;
    } catch (long error) {
        text = std::to_string(error);
    } catch (int error) {
        text = std::to_string(error);
    } catch (...) {
    }
    return \"threw \" + type + (text.empty() ? \"\" : \": \") + text;
}
#endif
#else
#define MOCKDB_SET(place, value) ((place) = (value))
#endif
";

/// Writes the statements.
struct Writer<'a> {
    program: &'a Program,
    options: &'a Options<'a>,
    text: String,
    notes: Vec<String>,
    /// The number of the next local variable.
    next: usize,
    /// The types behind the pointers that functions of the setup return, with the variables.
    handles: Vec<(Type, String)>,
    /// The places for which no value is made, by their types.
    lacking: BTreeMap<String, Vec<String>>,
}

/// A value in the generated program.
#[derive(Clone)]
struct Place {
    /// A C expression: `(*input).amount`.
    expression: String,
    /// The path without indices, by which the user's hints find it: `input.amount`.
    path: String,
    /// The number of pointers that led to it.
    depth: usize,
}

impl Place {
    fn new(expression: &str, path: &str) -> Place {
        Place { expression: expression.to_owned(), path: path.to_owned(), depth: 0 }
    }

    fn field(&self, name: &str) -> Place {
        Place {
            expression: format!("{}.{name}", self.expression),
            path: format!("{}.{name}", self.path),
            depth: self.depth,
        }
    }

    fn element(&self, index: &str) -> Place {
        Place { expression: format!("{}[{index}]", self.expression), ..self.clone() }
    }

    fn behind(&self, pointer: &str) -> Place {
        Place { expression: pointer.to_owned(), path: self.path.clone(), depth: self.depth + 1 }
    }
}

/// The target of a pointer, as far as inputs and outputs are concerned.
enum Target {
    Connection,
    Stream,
    Text,
    /// Values of this type, as it is written in C.
    Values(String),
    Unknown,
}

impl<'a> Writer<'a> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("mockdb_{prefix}{}", self.next)
    }

    fn record(&self, name: &str) -> Option<&'a Record> {
        self.program.records.iter().find(|record| record.name == name)
    }

    /// Returns what a pointer to `to` leads to.
    fn target(&self, to: &Type) -> Target {
        match to {
            Type::Record(name) | Type::Other(name) | Type::Class(name)
                if self.options.interface.connections.contains(&name.as_str()) =>
            {
                Target::Connection
            }
            Type::Record(name) | Type::Other(name)
                if ["FILE", "struct _IO_FILE"].contains(&name.as_str()) =>
            {
                Target::Stream
            }
            Type::Record(name) | Type::Other(name) | Type::Class(name)
                if self.options.interface.handles.contains(&name.as_str()) =>
            {
                Target::Unknown
            }
            Type::Scalar(name) if name == "char" => Target::Text,
            _ => self.spell(to).map_or(Target::Unknown, Target::Values),
        }
    }

    /// Returns a type as it is written in C, if values of it can be made.
    fn spell(&self, ty: &Type) -> Option<String> {
        match ty {
            Type::Scalar(name) => Some(name.clone()),
            Type::Record(name) if !name.contains('(') => self.record(name).map(|_| name.clone()),
            Type::Class(name) if is_string(name) => Some("std::string".to_owned()),
            Type::Pointer { to, constant } => {
                let pointee = match self.target(to) {
                    Target::Connection | Target::Stream => match &**to {
                        Type::Record(name) | Type::Other(name) | Type::Class(name) => name.clone(),
                        _ => return None,
                    },
                    Target::Text => "char".to_owned(),
                    Target::Values(name) => name,
                    Target::Unknown => return None,
                };
                Some(format!("{}{pointee} *", if *constant { "const " } else { "" }))
            }
            _ => None,
        }
    }

    /// Returns true if the variable is a pointer to a connection.
    fn is_connection(&self, variable: &Variable) -> bool {
        matches!(&variable.ty, Type::Pointer { to, .. }
            if matches!(self.target(to), Target::Connection))
    }

    fn globals(&self) -> impl Iterator<Item = &'a Variable> + use<'a> {
        let global = |variable: &&Variable| variable.scope == Scope::Global && !variable.constant;
        self.program.variables.iter().filter(global)
    }

    /// Names the constants of the program, which values of rows and inputs often have.
    fn constants(&mut self, constants: &Constants) {
        for number in &constants.numbers {
            self.line(&format!("    mockdb_constant((long long)({number}));"));
        }
        for text in &constants.texts {
            self.line(&format!("    mockdb_constant_text({});", literal(text)));
        }
    }

    /// Gives the connection to global variables that hold one.
    fn globals_before(&mut self) {
        for variable in self.globals() {
            if self.is_connection(variable) {
                self.line(&format!("    {} = connection;", variable.name));
            }
        }
    }

    fn globals_after(&mut self) {
        for variable in self.globals() {
            let known = match &variable.ty {
                Type::Scalar(_) | Type::Array { .. } => true,
                Type::Record(name) => self.record(name).is_some(),
                _ => false,
            };
            if known {
                self.output_at(&Place::new(&variable.name, &variable.name), &variable.ty, 1);
            }
        }
    }

    /// Writes the call, and the recording of its result or of the exception that leaves it.
    fn call(&mut self, function: &Function, arguments: &[String]) {
        let call = format!("{}({})", function.name, arguments.join(", "));
        self.line("    mockdb_call_begins();");
        self.text.push_str("#ifdef __cpp_exceptions\n    try {\n#endif\n");
        self.call_and_record(function, &call);
        self.text.push_str("#ifdef __cpp_exceptions\n    } catch (...) {\n");
        self.line("        mockdb_call_ends();");
        self.line(&format!("        mockdb_push(\"{RESULT}\");"));
        self.line("        mockdb_output_text(mockdb_thrown().c_str());");
        self.line("        mockdb_pop();");
        self.text.push_str("    }\n#endif\n");
    }

    fn call_and_record(&mut self, function: &Function, call: &str) {
        if function.result == Type::Void {
            self.line(&format!("    {call};"));
            return self.line("    mockdb_call_ends();");
        }
        let Some(ty) = self.spell(&function.result) else {
            self.notes.push(format!("the result of {} is not compared", function.name));
            self.line(&format!("    (void){call};"));
            return self.line("    mockdb_call_ends();");
        };
        self.line(&format!("    {ty} mockdb_result = {call};"));
        self.line("    mockdb_call_ends();");
        self.output_at(&Place::new("mockdb_result", RESULT), &function.result, 1);
    }

    /// Returns the number of values behind the pointer at a path.
    fn elements(&self, path: &str) -> usize {
        self.options.inputs.get(path).and_then(|input| input.elements).unwrap_or(1)
    }

    /// Writes `for` statements over the elements of an array, around the statements of `body`.
    fn over_elements(
        &mut self,
        place: &Place,
        count: &str,
        indent: usize,
        body: impl FnOnce(&mut Self, &Place),
    ) {
        let index = self.fresh("index");
        let pad = "    ".repeat(indent);
        let _ = writeln!(
            self.text,
            "{pad}for (unsigned long {index} = 0; {index} < {count}; {index}++) {{"
        );
        self.line(&format!("{pad}    mockdb_push_index({index});"));
        body(self, &place.element(&index));
        self.line(&format!("{pad}    mockdb_pop();"));
        self.line(&format!("{pad}}}"));
    }
}

/// Writes a text as a C string literal.
fn literal(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'"' | b'\\' | b'?' => format!("\\{}", byte as char),
        b' '..=b'~' => (byte as char).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    format!("\"{}\"", text.bytes().map(escape).collect::<String>())
}

fn is_string(class: &str) -> bool {
    matches!(class, "std::basic_string" | "std::string" | "std::__cxx11::basic_string")
}

fn is_real(name: &str) -> bool {
    name.contains("double") || name.contains("float")
}

/// Returns true if an array of the type holds a text.
fn is_character(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(name)
        if matches!(name.as_str(), "char" | "signed char" | "unsigned char"))
}

/// Returns the number of elements of an array, as a C expression.
fn count_of(place: &Place) -> String {
    let array = &place.expression;
    format!("sizeof({array}) / sizeof({array}[0])")
}

/// Returns true if the language of the program has references.
fn is_cpp(program: &Program) -> bool {
    program.language == Language::Cpp
}
