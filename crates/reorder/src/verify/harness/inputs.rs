//! The inputs of the function under test.

use super::{
    BUFFER, DEPTH, Place, Target, VerifyError, Writer, count_of, is_character, is_cpp, is_real,
    literal,
};
use crate::{
    ir::{Type, Variable},
    verify::Input,
};

impl Writer<'_> {
    /// Declares and fills the argument for a parameter, and returns its expression.
    pub(super) fn parameter(&mut self, parameter: &Variable) -> Result<String, VerifyError> {
        if let Some(handle) = self.handle(&parameter.ty) {
            return Ok(handle);
        }
        let name = self.fresh("argument");
        let place = Place::new(&name, &parameter.name);
        self.line(&format!("    mockdb_push(\"{}\");", parameter.name));
        let result = match &parameter.ty {
            Type::Pointer { to, constant } => self.pointer(&place, to, *constant, 1),
            Type::Array { of, length } => {
                let count = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(1);
                self.pointer(&place, of, false, count)
            }
            Type::Reference { to, .. } if is_cpp(self.program) => self.object(&place, to),
            ty => self.object(&place, ty),
        };
        self.line("    mockdb_pop();");
        result.map(|()| name)
    }

    /// Declares a variable that holds the value itself.
    fn object(&mut self, place: &Place, ty: &Type) -> Result<(), VerifyError> {
        let Some(spelled) = self.spell(ty) else {
            return Err(VerifyError::Parameter {
                place: place.path.clone(),
                reason: format!("its type is `{ty}`, of which the tool knows no fields"),
            });
        };
        self.line(&format!("    {spelled} {};", place.expression));
        self.input_at(place, ty, 1);
        Ok(())
    }

    /// Declares a variable that points to values.
    fn pointer(
        &mut self,
        place: &Place,
        to: &Type,
        constant: bool,
        count: usize,
    ) -> Result<(), VerifyError> {
        let name = &place.expression;
        match self.target(to) {
            Target::Connection => {
                let pointer = self.options.interface.pointer;
                self.line(&format!("    {pointer}{name} = connection;"));
            }
            Target::Stream => self.line(&format!("    FILE *{name} = stdout;")),
            Target::Text if constant => {
                let texts = self.texts(place);
                self.line(&format!("    char *{name} = mockdb_input_text({texts});"));
            }
            Target::Text => {
                let size = self.buffer_size(place, count);
                let texts = self.texts(place);
                self.line(&format!("    char *{name} = (char *)mockdb_input_memory({size});"));
                self.line(&format!("    mockdb_input_bytes({name}, {size}, {texts});"));
            }
            Target::Values(spelled) => {
                let count = self.elements(&place.path).max(count);
                self.line(&format!("    {}", allocation(&spelled, name, count)));
                self.fill_elements(&place.behind(name), to, count, 1);
            }
            Target::Unknown => {
                self.lacks(place, &pointer_to(to));
                self.line(&format!("    void *{name} = 0;"));
            }
        }
        Ok(())
    }

    /// Returns the size of the buffer behind a `char *`.
    pub(super) fn buffer_size(&self, place: &Place, declared: usize) -> usize {
        let given = self.options.inputs.get(&place.path).and_then(|input| input.elements);
        given.unwrap_or(if declared > 1 { declared } else { BUFFER })
    }

    fn fill_elements(&mut self, values: &Place, to: &Type, count: usize, indent: usize) {
        if count == 1 {
            return self.input_at(&values.element("0"), to, indent);
        }
        self.over_elements(values, &count.to_string(), indent, |writer, element| {
            writer.input_at(element, to, indent + 1);
        });
    }

    /// Fills the value at a place.
    fn input_at(&mut self, place: &Place, ty: &Type, indent: usize) {
        let pad = "    ".repeat(indent);
        let expression = &place.expression;
        match ty {
            Type::Scalar(name) => {
                let (low, high) = self.limits(place, name);
                let kind = if is_real(name) { "real" } else { "integer" };
                self.line(&format!(
                    "{pad}MOCKDB_SET({expression}, mockdb_input_{kind}({low}LL, {high}LL));"
                ));
            }
            Type::Array { of, length: Some(_) } if is_character(of) => {
                let texts = self.texts(place);
                self.line(&format!(
                    "{pad}mockdb_input_bytes({expression}, sizeof({expression}), {texts});"
                ));
            }
            Type::Array { of, length: Some(_) } => {
                self.over_elements(place, &count_of(place), indent, |writer, element| {
                    writer.input_at(element, of, indent + 1);
                });
            }
            Type::Record(name) => self.input_record(place, name, indent),
            Type::Class(_) => {
                let texts = self.texts(place);
                self.line(&format!("{pad}{expression} = mockdb_input_text({texts});"));
            }
            Type::Pointer { to, constant } => self.input_pointer(place, to, *constant, indent),
            _ => self.lacks(place, ty),
        }
    }

    fn input_record(&mut self, place: &Place, name: &str, indent: usize) {
        let Some(record) = self.record(name) else {
            return self.lacks(place, &Type::Record(name.to_owned()));
        };
        // The fields of a union share their bytes: the first one stands for all.
        let count = if record.union { 1 } else { record.fields.len() };
        for (field, ty) in &record.fields[..count.min(record.fields.len())] {
            if field.is_empty() {
                self.input_at(place, ty, indent);
                continue;
            }
            let pad = "    ".repeat(indent);
            self.line(&format!("{pad}mockdb_push(\"{field}\");"));
            self.input_at(&place.field(field), ty, indent);
            self.line(&format!("{pad}mockdb_pop();"));
        }
    }

    /// Fills a pointer that stands in a record or behind another pointer.
    fn input_pointer(&mut self, place: &Place, to: &Type, constant: bool, indent: usize) {
        let pad = "    ".repeat(indent);
        let expression = &place.expression;
        let texts = self.texts(place);
        match self.target(to) {
            Target::Connection => self.line(&format!("{pad}{expression} = connection;")),
            Target::Stream => self.line(&format!("{pad}{expression} = stdout;")),
            Target::Text if constant => {
                self.line(&format!("{pad}{expression} = mockdb_input_text({texts});"));
            }
            Target::Text => {
                let size = self.buffer_size(place, 1);
                self.line(&format!("{pad}{expression} = (char *)mockdb_input_memory({size});"));
                self.line(&format!("{pad}mockdb_input_bytes({expression}, {size}, {texts});"));
            }
            Target::Values(spelled) if place.depth < DEPTH => {
                let (name, count) = (self.fresh("values"), self.elements(&place.path));
                self.line(&format!("{pad}{{"));
                self.line(&format!("{pad}    {}", allocation(&spelled, &name, count)));
                self.fill_elements(&place.behind(&name), to, count, indent + 1);
                self.line(&format!("{pad}    {expression} = {name};"));
                self.line(&format!("{pad}}}"));
            }
            Target::Values(_) => self.line(&format!("{pad}{expression} = 0;")),
            Target::Unknown => {
                self.lacks(place, &pointer_to(to));
                self.line(&format!("{pad}{expression} = 0;"));
            }
        }
    }

    /// Remembers a place for which the tool makes no value, for the note about them.
    fn lacks(&mut self, place: &Place, ty: &Type) {
        let places = self.lacking.entry(ty.to_string()).or_default();
        if !places.contains(&place.path) {
            places.push(place.path.clone());
        }
    }

    /// Names the places without a value, in one note.
    pub(super) fn note_lacking(&mut self) {
        let named = |(ty, places): (&String, &Vec<String>)| {
            let first = places.iter().min_by_key(|place| place.len()).map_or("", |place| place);
            match places.len() {
                1 => format!("{first} ({ty})"),
                count => format!("{first} and {} more ({ty})", count - 1),
            }
        };
        let all: Vec<String> = self.lacking.iter().map(named).collect();
        if !all.is_empty() {
            self.notes.push(format!(
                "zero or null in every run, since the tool makes no values of these types: {}; a \
                 function of --setup can make what a parameter points to",
                all.join(", ")
            ));
        }
    }

    /// Returns the limits of a number; a low one above the high one if none are given.
    fn limits(&self, place: &Place, name: &str) -> (i64, i64) {
        let given = self.options.inputs.get(&place.path).and_then(|input| input.range);
        given.unwrap_or(match name {
            "char" => (i64::from(b'A'), i64::from(b'Z')),
            "_Bool" | "bool" => (0, 1),
            _ if name.starts_with("enum ") => (0, 3),
            _ => (1, 0),
        })
    }

    /// Declares the texts of which one is chosen, and returns the arguments that name them.
    fn texts(&mut self, place: &Place) -> String {
        let given: Option<&Input> = self.options.inputs.get(&place.path);
        let quoted: Vec<String> =
            given.iter().flat_map(|input| &input.texts).map(|text| literal(text)).collect();
        if quoted.is_empty() {
            return "0, 0".to_owned();
        }
        let (name, list) = (self.fresh("texts"), quoted.join(", "));
        self.line(&format!("    static const char *const {name}[] = {{{list}}};"));
        format!("{name}, {}", quoted.len())
    }
}

fn pointer_to(to: &Type) -> Type {
    Type::Pointer { to: Box::new(to.clone()), constant: false }
}

fn allocation(spelled: &str, name: &str, count: usize) -> String {
    format!("{spelled} *{name} = ({spelled} *)mockdb_input_memory({count} * sizeof({spelled}));")
}
