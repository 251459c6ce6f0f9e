//! The outputs of the function under test.

use super::{DEPTH, Place, Target, Writer, count_of, is_character, is_real};
use crate::ir::{Type, Variable};

impl Writer<'_> {
    /// Records what stands behind a parameter, unless it is `const` or comes from the setup.
    pub(super) fn parameter_output(&mut self, parameter: &Variable, argument: &str) {
        let place = Place::new(argument, &parameter.name);
        if self.handle(&parameter.ty).is_some() {
            return;
        }
        match &parameter.ty {
            Type::Pointer { to, constant: false } => self.values_behind(&place, to, 1),
            Type::Array { of, length } => {
                let count = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(1);
                self.values_behind(&place, of, count);
            }
            Type::Reference { to, constant: false } => self.output_at(&place, to, 1),
            _ => {}
        }
    }

    fn values_behind(&mut self, place: &Place, to: &Type, declared: usize) {
        let name = &place.expression;
        match self.target(to) {
            Target::Text => {
                let size = self.buffer_size(place, declared);
                self.line(&format!("    mockdb_push(\"{}\");", place.path));
                self.line(&format!("    mockdb_output_bytes({name}, {size});"));
                self.line("    mockdb_pop();");
            }
            Target::Values(_) => {
                let count = self.elements(&place.path).max(declared);
                self.line(&format!("    mockdb_push(\"{}\");", place.path));
                self.elements_out(&place.behind(name), to, count, 1);
                self.line("    mockdb_pop();");
            }
            Target::Connection | Target::Stream | Target::Unknown => {}
        }
    }

    fn elements_out(&mut self, values: &Place, to: &Type, count: usize, indent: usize) {
        if count == 1 {
            return self.output(&values.element("0"), to, indent);
        }
        self.over_elements(values, &count.to_string(), indent, |writer, element| {
            writer.output(element, to, indent + 1);
        });
    }

    /// Records the value at a place, under the place's path.
    pub(super) fn output_at(&mut self, place: &Place, ty: &Type, indent: usize) {
        let pad = "    ".repeat(indent);
        self.line(&format!("{pad}mockdb_push(\"{}\");", place.path));
        self.output(place, ty, indent);
        self.line(&format!("{pad}mockdb_pop();"));
    }

    /// Records the value at a place, under the current path.
    fn output(&mut self, place: &Place, ty: &Type, indent: usize) {
        let pad = "    ".repeat(indent);
        let value = &place.expression;
        match ty {
            Type::Scalar(name) if is_real(name) => {
                self.line(&format!("{pad}mockdb_output_real((double){value});"));
            }
            Type::Scalar(_) => {
                self.line(&format!("{pad}mockdb_output_integer((long long){value});"));
            }
            Type::Array { of, length: Some(_) } if is_character(of) => {
                self.line(&format!("{pad}mockdb_output_bytes({value}, sizeof({value}));"));
            }
            Type::Array { of, length: Some(_) } => {
                self.over_elements(place, &count_of(place), indent, |writer, element| {
                    writer.output(element, of, indent + 1);
                });
            }
            Type::Record(name) => self.output_record(place, name, indent),
            Type::Class(_) => {
                self.line(&format!("{pad}mockdb_output_bytes({value}.data(), {value}.size());"));
            }
            Type::Pointer { to, .. } => self.output_pointer(place, to, indent),
            _ => {}
        }
    }

    fn output_record(&mut self, place: &Place, name: &str, indent: usize) {
        let Some(record) = self.record(name) else { return };
        let count = if record.union { 1 } else { record.fields.len() };
        for (field, ty) in &record.fields[..count.min(record.fields.len())] {
            if field.is_empty() {
                self.output(place, ty, indent);
                continue;
            }
            let pad = "    ".repeat(indent);
            self.line(&format!("{pad}mockdb_push(\"{field}\");"));
            self.output(&place.field(field), ty, indent);
            self.line(&format!("{pad}mockdb_pop();"));
        }
    }

    /// Records what a pointer leads to, or that it is null.
    fn output_pointer(&mut self, place: &Place, to: &Type, indent: usize) {
        let pad = "    ".repeat(indent);
        let value = &place.expression;
        match self.target(to) {
            Target::Connection | Target::Stream => {}
            Target::Text => self.line(&format!("{pad}mockdb_output_text({value});")),
            Target::Values(_) if place.depth < DEPTH => {
                let count = self.elements(&place.path);
                self.line(&format!("{pad}mockdb_output_null({value} == 0);"));
                self.line(&format!("{pad}if ({value} != 0) {{"));
                self.line(&format!("{pad}    mockdb_push(\"*\");"));
                self.elements_out(&place.behind(value), to, count, indent + 1);
                self.line(&format!("{pad}    mockdb_pop();"));
                self.line(&format!("{pad}}}"));
            }
            Target::Values(_) | Target::Unknown => {
                self.line(&format!("{pad}mockdb_output_null({value} == 0);"));
            }
        }
    }
}
