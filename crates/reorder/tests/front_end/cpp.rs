//! C++.

use clearway_reorder::ir::Language;

use crate::{
    cpp,
    outline::{assert_statements, type_name},
};

const SHOP: &str = r#"
#include <string>
#include <vector>
namespace shop { inline namespace v1 {
struct Pod { int a; int b; };
class Base { public: virtual ~Base(); virtual int price(int n); int base; };
class Order : public Base {
 public:
  Order(int id) : id_(id) {}
  int price(int n) override;
  int run(std::string &out, const std::string &in, Order *next);
  static int total();
  operator bool() const { return id_ != 0; }
  Order &self() { return *this; }
  int id_; Pod pod; std::string name;
  static int count;
};
"#;

/// Compares the statements of the method `run` with the body `body`.
fn run(body: &str, expected: &str) {
    let source = format!(
        "{SHOP}int Order::run(std::string &out, const std::string &in, Order *next) \
         {{ {body} return 0; }}\n}} }}"
    );
    let Some(program) = cpp(&source) else { return };
    let expected = format!("{}\n`return 0;` return 0", expected.trim_end());
    let expected: String =
        expected.lines().map(|line| format!("{}\n", line.trim_start_matches("        "))).collect();
    assert_statements(&program, &source, "shop::Order::run", &expected);
}

#[test]
fn methods_have_their_object_first() {
    run(
        "out.append(in.c_str()); next->self().run(out, in, this); id_ = this->id_ + total();
         next->Base::price(1);
         name.clear(); next->pod.a = count;",
        "
        `out.append(in.c_str());` evaluate std::basic_string::append(out,
        | std::basic_string::c_str(in))
        `next->self().run(out, in, this);` evaluate shop::Order::run(shop::Order::self('*next),
        | &out, &in, this)
        `id_ = this->id_ + total();` evaluate ('*'this.<shop::Order>id_ =
        | ('*this.<shop::Order>id_ + shop::Order::total()))
        `next->Base::price(1);` evaluate shop::Base::price('*next, 1)
        `name.clear();` evaluate std::basic_string::clear('*'this.<shop::Order>name)
        `next->pod.a = count;` evaluate ('*next.<shop::Order>pod.<struct shop::Pod>a =
        | shop::Order::count)
        ",
    );
}

#[test]
fn virtual_methods_are_called_by_name() {
    let source = "struct A { virtual int far(int); virtual int near(int n) { return n; } };\n\
                  int f(A *a, A b) { return a->far(1) + a->near(2) + b.near(3); }";
    let Some(program) = cpp(source) else { return };
    let expected = "((A::far('*a, 1) + A::near('*a, 2)) + A::near(b, 3))";
    let expected = format!("`return a->far(1) + a->near(2) + b.near(3);` return {expected}");
    assert_statements(&program, source, "f", &expected);
}

#[test]
fn strings_are_constructed_and_added() {
    run(
        r#"std::string s, t("abc"), u = "def", v{in}; s += "x"; s = t + u + std::to_string(3);
           run(s, "lit", nullptr); std::string w = s; s = std::string("y") + 'c';"#,
        r#"
        `std::string s, t("abc"), u = "def", v{in};` declare s = 'std::basic_string{}; t =
        | 'std::basic_string{"abc"}; u = std::basic_string{"def"}; v = 'std::basic_string{&in}
        `s += "x";` evaluate std::basic_string::operator+=(s, "x")
        `s = t + u + std::to_string(3);` evaluate std::basic_string::operator=(s,
        | std::operator+(std::operator+(&t, &u), std::to_string(3)))
        `run(s, "lit", nullptr);` evaluate shop::Order::run('*'this, &s,
        | std::basic_string{"lit"}, NULL)
        `std::string w = s;` declare w = std::basic_string{&s}
        `s = std::string("y") + 'c';` evaluate std::basic_string::operator=(s,
        | std::operator+(std::basic_string{"y"}, 99))
        "#,
    );
}

#[test]
fn references_are_addresses() {
    run(
        "int &r = id_; r++; const int &c = r; int *p = &r; int &d = *p; int &&x = 3; d = c + x;
         std::vector<int> xs{1, 2}; xs[0] = xs[1]; int &e = xs[0]; e = 1;",
        "
        `int &r = id_;` declare r = &'*'this.<shop::Order>id_
        `r++;` evaluate (r++)
        `const int &c = r;` declare c = &r
        `int *p = &r;` declare p = &r
        `int &d = *p;` declare d = &*p
        `int &&x = 3;` declare x = 3
        `d = c + x;` evaluate (d = (c + x))
        `std::vector<int> xs{1, 2};` declare xs = 'std::vector{{1, 2}}
        `xs[0] = xs[1];` evaluate (std::vector::operator[](xs, 0) = std::vector::operator[](xs, 1))
        `int &e = xs[0];` declare e = std::vector::operator[](xs, 0)
        `e = 1;` evaluate (e = 1)
        ",
    );
}

#[test]
fn conversions_and_words_are_operators() {
    run(
        "if (*next and not id_) id_ = static_cast<int>(2.5); bool b = true; id_ = b ? int('x') : -1;
         Pod p{1}, q = {}; p.a |= q.b; Pod z; (void)z; id_ xor_eq 3;",
        "
        `if (*next and not id_) id_ = static_cast<int>(2.5);` if (shop::Order::operator
        | bool(*next) && (!'*'this.<shop::Order>id_))
          `id_ = static_cast<int>(2.5);` evaluate ('*'this.<shop::Order>id_ = (int)2.5)
        `bool b = true;` declare b = 1
        `id_ = b ? int('x') : -1;` evaluate ('*'this.<shop::Order>id_ = (b ? (int)120 : (-1)))
        `Pod p{1}, q = {};` declare p = {1}; q = {}
        `p.a |= q.b;` evaluate (p.<struct shop::Pod>a |= q.<struct shop::Pod>b)
        `Pod z;` declare z = 'shop::Pod{}
        `(void)z;` evaluate (void)z
        `id_ xor_eq 3;` evaluate ('*'this.<shop::Order>id_ ^= 3)
        ",
    );
}

#[test]
fn what_has_no_form_is_opaque() {
    run(
        "for (char c : in) { id_ += c; } try { throw 3; } catch (int e) { id_ = e; }
         auto f = [&](int n) { return n + id_; }; if (int q = total()) id_ = q; int *n = new int(3);
         delete n; while (int z = total()) { id_ -= z; } throw id_; id_ = id_ ? throw 1 : 2;
         auto [u, v] = pod;",
        "
        `for (char c : in) { id_ += c; }` OPAQUE: a `for` over a range
        `try { throw 3; } catch (int e) { id_ = e; }` OPAQUE: `try` and `catch`
        `auto f = [&](int n) { return n + id_; };` declare f = OPAQUE: a lambda
        `if (int q = total()) id_ = q;` OPAQUE: a declaration in the condition of an `if`
        `int *n = new int(3);` declare n = OPAQUE: `new`
        `delete n;` evaluate OPAQUE: `delete`
        `while (int z = total()) { id_ -= z; }` OPAQUE: a declaration in the condition of a `while`
        `throw id_;` throw '*'this.<shop::Order>id_
        `id_ = id_ ? throw 1 : 2;` OPAQUE: `throw` within an expression
        `auto [u, v] = pod;` OPAQUE: a declaration of another kind
        ",
    );
}

#[test]
fn functions_have_qualified_names() {
    let source = format!(
        "{SHOP}int Order::price(int n) {{ return n; }}\n}} }}\n\
                          template <class T> T twice(T t) {{ return t + t; }}\n\
                          extern \"C\" int plain(void) {{ return twice(2); }}\n\
                          struct Plain {{ Plain() = default; Plain(int) = delete; }}; Plain p;\n\
                          namespace {{ void hidden(std::string s) try {{}} catch (...) {{}} }}"
    );
    let Some(program) = cpp(&source) else { return };
    assert_eq!(program.language, Language::Cpp);
    let names: Vec<&str> = program.functions.iter().map(|one| one.name.as_str()).collect();
    let expected = [
        "shop::Order::Order",
        "shop::Order::operator bool",
        "shop::Order::self",
        "shop::Order::price",
        "twice",
        "plain",
        "hidden",
    ];
    assert_eq!(names, expected);
    let opaque = |name: &str, text: &str, reason: &str| {
        assert_statements(&program, &source, name, &format!("`{text}` OPAQUE: {reason}"));
    };
    opaque("shop::Order::Order", "{}", "the member initializers of a constructor");
    opaque("twice", "return t + t;", "the code of a template");
    let text = "void hidden(std::string s) try {} catch (...) {}";
    opaque("hidden", text, "`try` around the body of a function");
    assert_statements(&program, &source, "plain", "`return twice(2);` return twice(2)");
    assert_eq!(type_name(&program.functions[2].result), "&class shop::Order");
    let hidden = program.function("hidden").expect("the function");
    let parameter = program.variable(hidden.parameters[0]);
    assert_eq!(type_name(&parameter.ty), "class std::basic_string");
}

#[test]
fn coroutines_are_opaque() {
    let source = "#include <coroutine>\nstruct Task { struct promise_type { \
                  Task get_return_object(); std::suspend_never initial_suspend(); \
                  std::suspend_never final_suspend() noexcept; \
                  void return_void(); void unhandled_exception(); }; };\n\
                  Task f(int n) { n++; co_return; }";
    let read = crate::read("test.cpp", source, &["-std=c++20"]);
    let Some(read) = read else { return };
    let program = match read {
        Ok(program) => program,
        // The library's <coroutine> may be made for another compiler.
        Err(error) => return assert!(error.to_string().contains("corouti"), "{error}"),
    };
    let expected = "`Task f(int n) { n++; co_return; }` OPAQUE: a coroutine";
    assert_statements(&program, source, "f", expected);
}

#[test]
fn inequality_that_is_made_of_equality_has_a_remedy() {
    let source = "struct P { int n; bool operator==(const P &o) const; };\n\
                  int f(const P &a, const P &b) { return a != b; }";
    let Some(read) = crate::read("test.cpp", source, &["-std=c++20"]) else { return };
    let text = format!("{:?}", read.expect("the code compiles").functions);
    assert!(text.contains("write `!(a == b)`, or pass -std=c++17"), "{text}");
}

#[test]
fn macros_expand_to_words_of_the_language() {
    let source = "#define CLASS class\n#define RET return\n#define OBJ (*this).\n\
                  #define SQL(x) R\"q(x)q\"\n\
                  CLASS A { int x; public: int get(int y) { RET OBJ x + y; } };\n\
                  const char *f() { RET R\"q(SELECT \"x\")q\"; }";
    let Some(program) = cpp(source) else { return };
    let expected = "`RET OBJ x + y;` return ('*'this.<struct A>x + y)";
    assert_statements(&program, source, "A::get", expected);
    let expected = r#"`RET R"q(SELECT "x")q";` return "SELECT \"x\"""#;
    assert_statements(&program, source, "f", expected);
}
