//! Texts of one file are read alike, the first time with all headers and then with precompiled
//! ones.

use std::path::{Path, PathBuf};

use clearway_reorder::ir::Program;

use crate::front_end;

/// A folder with a header, removed behind the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, header: &str) -> Folder {
        let name = format!("clearway-{name}-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        folder.write(header);
        folder
    }

    fn write(&self, header: &str) {
        std::fs::write(self.0.join("header.h"), header).unwrap();
    }

    fn read(&self, name: &str, text: &str) -> Program {
        let front_end = front_end().expect("libclang was found");
        let flags = if name.ends_with("cpp") { vec!["-std=c++17".to_owned()] } else { Vec::new() };
        let read = front_end.parse(&self.0.join(name), Some(text), &flags);
        read.unwrap_or_else(|error| panic!("{error}\n{text}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(Path::new(&self.0));
    }
}

const HEADER: &str = "enum { LIMIT = SIZE };
#define TWICE(x) ((x) + (x))
struct pair { int a, b; };
static inline int add(struct pair one) { return one.a + one.b; }
";

const C: &str = "/* é */
#define SIZE 3
#include <stdio.h>
#include \"header.h\"
#define LOCAL TWICE
int f(struct pair one) { int sum = add(one); return sum + LIMIT + LOCAL(sum) + EOF; }
";

const CPP: &str = "#define SIZE 3
#include <string>
#include \"header.h\"
template <class T> T same(T one) { return one; }
template <> bool same(bool one) { return !one; }
template <class T> struct Box { T inner; T get() { return inner; } };
int f(std::string name) { Box<int> box{LIMIT}; return same(box.get()) + TWICE(int(name.size())); }
";

#[test]
fn file_is_read_alike_with_precompiled_headers() {
    if front_end().is_none() {
        return;
    }
    let folder = Folder::new("alike", HEADER);
    for (name, text) in [("a.c", C), ("a.cpp", CPP)] {
        let programs = [(); 3].map(|()| folder.read(name, text));
        assert!(!programs[0].functions.is_empty());
        assert_eq!(programs[1], programs[0], "{name}");
        assert_eq!(programs[2], programs[0], "{name}");
    }
}

#[test]
fn definition_before_a_header_has_its_effect() {
    if front_end().is_none() {
        return;
    }
    let folder = Folder::new("defined", HEADER);
    for size in [3, 4, 3, 4, 4, 3] {
        let program = folder.read("a.c", &C.replace("SIZE 3", &format!("SIZE {size}")));
        assert_eq!(program.enumerators["LIMIT"], Some(size));
    }
}

#[test]
fn header_that_was_changed_is_read_again() {
    if front_end().is_none() {
        return;
    }
    let folder = Folder::new("changed", HEADER);
    for sum in [3, 3, 3, 5, 5, 6] {
        folder.write(&HEADER.replace("SIZE", &format!("{sum} + 0")));
        let program = folder.read("a.c", C);
        assert_eq!(program.enumerators["LIMIT"], Some(sum));
        let before = program;
        assert_eq!(folder.read("a.c", C), before);
    }
}
