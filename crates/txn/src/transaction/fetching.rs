//! The fetch stage of a transaction, as its runner and its operations see it.

use clearway_base::{Error, Result};
use clearway_tree::ReadIntent;

use super::{Aside, Transaction};
use crate::{
    staging::{self, FetchStage, Fetched},
    table::Table,
};

impl Transaction {
    /// Makes this transaction, which has done nothing yet, one in the fetch stage (`staging`): its
    /// operations take no locks and change nothing. It must be ended with
    /// [`end_fetch`](Transaction::end_fetch), or dropped. Does nothing to a transaction that could
    /// not begin.
    pub fn begin_fetch(&mut self) {
        if let Some(state) = self.state.take() {
            let stage = FetchStage::new(state, self.is_of_task);
            self.enter_fetch(stage);
        }
    }

    /// As [`begin_fetch`](Transaction::begin_fetch), for the next run of a closure whose `last` one
    /// is over at an absent page, which was [read](Fetched::read_absent).
    #[cold]
    pub fn continue_fetch(&mut self, last: Fetched) {
        if let Some(state) = self.state.take() {
            self.enter_fetch(FetchStage::again(state, last));
        }
    }

    fn enter_fetch(&mut self, mut stage: FetchStage) {
        stage.set_can_rerun(self.can_rerun);
        self.fetch = Some(Box::new(stage));
    }

    /// Lets the run of this transaction's closure be over when it comes to an absent page in its
    /// fetch stage, instead of reading the page (STAGING-7): if
    /// [`Fetched::is_at_absent_page`], the caller runs the closure again. Not for tasks. To be
    /// called before the stage begins, also if that will be a conversion.
    #[cold]
    pub fn set_can_rerun(&mut self) {
        self.can_rerun = true;
    }

    /// Makes this transaction, which has done nothing yet, one that is converted into a fetch stage
    /// when it needs a page that is not in memory (CONVERSION-1).
    #[cold]
    pub fn begin_optimistic(&mut self) {
        if let Some(state) = &mut self.state {
            state.begin_optimistic();
        }
    }

    /// Prevents a conversion of this transaction into a fetch stage from now on. Called
    /// when the program learns something that would not be true of both stages.
    pub fn prevent_conversion(&self) {
        if let Some(state) = &self.state {
            state.prevent_conversion();
        }
    }

    /// Ends the fetch stage; `None` if the transaction is in none.
    pub fn end_fetch(mut self) -> Option<Fetched> {
        self.fetch.take().map(|stage| stage.end())
    }

    /// Returns true if the transaction is in the fetch stage, or on the way there (TASK-7).
    pub fn is_fetching(&self) -> bool {
        let is_converted = |aside: &Aside| aside.conversion.is_some();
        self.fetch.is_some()
            || self.state.is_none() && self.aside.as_deref().is_some_and(is_converted)
    }

    /// Returns the fetch stage, if the transaction is in it.
    #[inline]
    pub(crate) fn stage(&mut self) -> Option<&mut FetchStage> {
        self.fetch.as_deref_mut()
    }

    /// Runs an operation of the fetch stage, for a transaction without a state.
    ///
    /// # Errors
    /// That of the operation, or the reason why the transaction has no state.
    pub(crate) fn fetch<R>(
        &mut self,
        operation: impl FnOnce(&mut FetchStage) -> Result<R>,
    ) -> Result<R> {
        self.check_process()?;
        match self.stage() {
            Some(stage) => operation(stage),
            None => Err(self.ended()),
        }
    }

    /// Returns the result of `run`, unless the transaction is in the fetch stage: then, that of
    /// `operation` there.
    #[inline]
    pub(crate) fn or_fetch<R>(
        &mut self,
        result: Result<R>,
        operation: impl FnOnce(&mut FetchStage) -> Result<R>,
    ) -> Result<R> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => self.fetch_instead(error, operation),
        }
    }

    /// Returns the result of `operation` in the fetch stage, or `error` if there is no such stage.
    #[cold]
    pub(crate) fn fetch_instead<R>(
        &mut self,
        error: Error,
        operation: impl FnOnce(&mut FetchStage) -> Result<R>,
    ) -> Result<R> {
        if self.is_fetching() { self.fetch(operation) } else { Err(error) }
    }

    /// Reads in the fetch stage, for a transaction without a state.
    #[inline(never)]
    pub(super) fn get_fetching(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
        value: &mut Vec<u8>,
    ) -> Result<bool> {
        self.check_process()?;
        match self.stage() {
            Some(stage) => stage.get(table, key, intent, value),
            None => Err(self.ended()),
        }
    }

    /// Writes in the fetch stage, for a transaction without a state.
    #[inline(never)]
    pub(super) fn write_fetching(
        &mut self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        check: fn(bool) -> Result<()>,
    ) -> Result<bool> {
        self.check_process()?;
        match self.stage() {
            Some(stage) => stage.write(table, key, value, check),
            None => Err(self.ended()),
        }
    }

    /// Makes the optimistic run of a closure, which has come to an absent page, a fetch stage
    /// (CONVERSION-1). Returns an error in any case.
    #[cold]
    pub(super) fn convert<R>(&mut self) -> Result<R> {
        let Some(mut state) = self.state.take() else { return Err(self.ended()) };
        let Some(next) = state.take_next_stage() else {
            self.state = Some(state);
            return Err(Error::Cancelled);
        };
        let (stage, context) = staging::convert(state, next, false);
        self.aside().retry = Some(context);
        let can_rerun = self.can_rerun;
        let stage = self.fetch.insert(Box::new(stage?));
        stage.set_can_rerun(can_rerun);
        staging::run_to_end(stage.keep_touched());
        Err(Error::Cancelled)
    }

    /// Ends the fetch stage of a transaction that the program has dropped.
    #[cold]
    pub(super) fn abandon_stage(&self, stage: Box<FetchStage>) {
        if self.process.is_current() {
            drop(stage.end());
        } else {
            std::mem::forget(stage);
        }
    }
}
