//! The conversion of a task's optimistic run into a fetch stage, without blocking the task
//! (TASK-7).

use std::future::poll_fn;

use clearway_base::{Error, Result};

use crate::{
    Transaction, away,
    staging::{Conversion, Converted, convert_for_task},
};

impl Transaction {
    /// Makes the optimistic run of a closure, which has come to an absent page, a fetch stage
    /// (CONVERSION-1). Returns an error in any case.
    #[cold]
    pub(super) async fn convert_as_task<R>(&mut self) -> Result<R> {
        let Some(mut state) = self.state.take() else { return Err(self.ended()) };
        let Some(next) = state.take_next_stage() else {
            self.state = Some(state);
            return Err(Error::Cancelled);
        };
        if away::is_undone_at_once(&state) {
            self.enter_stage(convert_for_task(state, next))?;
        } else {
            self.aside().conversion = Some(Conversion::begin(state, next));
            self.end_conversion().await?;
        }
        if let Some(stage) = self.stage() {
            stage.keep_touched().await;
        }
        Err(Error::Cancelled)
    }

    /// Waits until a conversion is made, if the operation that has begun it was dropped.
    ///
    /// # Errors
    /// Those of the conversion: the transaction has ended.
    pub async fn end_conversion(&mut self) -> Result<()> {
        let begun = self.aside.as_mut().and_then(|aside| aside.conversion.as_mut());
        let Some(conversion) = begun else { return Ok(()) };
        let converted = poll_fn(|cx| conversion.poll(cx)).await;
        self.aside().conversion = None;
        self.enter_stage(converted?)
    }

    fn enter_stage(&mut self, (stage, context): Converted) -> Result<()> {
        self.aside().retry = Some(context);
        self.fetch = stage?.take();
        Ok(())
    }
}
