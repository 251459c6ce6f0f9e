//! The front end on real libclang. Without one the tests print SKIPPED and pass, unless
//! `CLEARWAY_REQUIRE_LIBCLANG` is set.

mod c;
mod cpp;
mod input;
mod macros;
mod outline;
mod payment;
mod precompiled;
mod properties;

use std::path::Path;

use clearway_reorder::{
    clang::{FrontEnd, FrontEndError},
    ir::Program,
};

/// Loads the front end; `None` without libclang.
fn front_end() -> Option<FrontEnd> {
    match FrontEnd::load() {
        Ok(front_end) => Some(front_end),
        Err(error) if std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none() => {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn read(name: &str, text: &str, flags: &[&str]) -> Option<Result<Program, FrontEndError>> {
    let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
    Some(front_end()?.parse(Path::new(name), Some(text), &flags))
}

/// Reads C, and checks what holds for each program.
fn c(text: &str) -> Option<Program> {
    let program = read("test.c", text, &[])?.unwrap_or_else(|error| panic!("{error}\n{text}"));
    properties::check(&program, text);
    Some(program)
}

/// Reads C++, and checks what holds for each program.
fn cpp(text: &str) -> Option<Program> {
    let program =
        read("test.cpp", text, &["-std=c++17"])?.unwrap_or_else(|error| panic!("{error}\n{text}"));
    properties::check(&program, text);
    Some(program)
}
