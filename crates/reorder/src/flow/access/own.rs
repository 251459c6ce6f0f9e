//! Variables that end the object that they own where their scope ends.
//!
//! The end of the scope is no node: nothing moves out of a list of statements, the name of the
//! variable is gone behind it, and the end of a result, which needs no connection and has no other
//! effect, demands no place among the queries. So the function that ends the object must do nothing
//! else, and no other code may know the object: a call has made it for the variable.

use super::Evaluation;
use crate::{
    flow::place::{Place, Root},
    ir::{Callee, Declaration, Expression, Owner},
};

impl<'a> Evaluation<'a, '_> {
    /// Notes a barrier if it is not known what happens where the scope of a variable ends that owns
    /// what its initializer makes.
    pub(super) fn own(&mut self, declaration: &'a Declaration, initial: &'a Expression) {
        let variable = self.around.program.variable(declaration.variable);
        let reason = match &variable.owner {
            None => return,
            Some(Owner::Unknown(reason)) => Some(reason.clone()),
            Some(Owner::Ends(function)) => self.missing(function, initial),
        };
        if let Some(reason) = reason {
            self.unknown(reason);
        }
    }

    /// Returns the fact that is missing about a function that ends what an initializer makes.
    fn missing(&self, function: &str, initial: &'a Expression) -> Option<String> {
        let model = self.around.models.call(&Callee::Function(function.to_string()));
        match model {
            None => {
                return Some(format!(
                    "`{function}` is called where the scope ends, and no model describes it"
                ));
            }
            Some(model) if !model.only_ends() => {
                return Some(format!(
                    "`{function}` is called where the scope ends, and does more than to end its \
                     argument, by its model"
                ));
            }
            Some(_) => {}
        }
        let own = [Place::whole(Root::Object(self.node))];
        let made = self.around.targets(initial, self.pointers, self.node);
        (made != own).then(|| {
            "it is not known that a new object is made for the `std::unique_ptr`".to_string()
        })
    }
}
