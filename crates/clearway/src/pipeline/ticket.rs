//! The ticket with which a client gets its result.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use clearway_base::{Error, Result};
use clearway_sync::{Mutex, Process, block_on, wake};

/// The result of a transaction that was given to a [`Pipeline`](super::Pipeline). It is a `Future`;
/// a thread can [`wait`](Ticket::wait) for it instead. Dropping it discards the result. The
/// transaction is run all the same.
#[must_use = "the transaction's outcome is known only from its Ticket"]
pub struct Ticket<T> {
    place: Arc<ResultPlace<T>>,
    /// The process in which the transaction is run; the result is never delivered in a fork of it.
    process: Process,
}

/// The sending end. Its owner must deliver the result.
pub(super) struct Promise<T> {
    place: Arc<ResultPlace<T>>,
}

type ResultPlace<T> = Mutex<TicketState<T>>;

enum TicketState<T> {
    Empty(Option<Waker>),
    Delivered(Result<T>),
    Taken,
}

/// Creates a ticket and the promise of its result.
pub(super) fn new<T>() -> (Ticket<T>, Promise<T>) {
    let place = Arc::new(Mutex::new(TicketState::Empty(None)));
    let ticket = Ticket { place: Arc::clone(&place), process: Process::current() };
    (ticket, Promise { place })
}

impl<T> Promise<T> {
    /// Delivers the result.
    pub(super) fn fulfil(self, result: Result<T>) {
        self.deliver(result);
    }

    fn deliver(&self, result: Result<T>) {
        let mut state = self.place.lock();
        let TicketState::Empty(waker) = &mut *state else { return };
        let waker = waker.take();
        *state = TicketState::Delivered(result);
        drop(state);
        if let Some(waker) = waker {
            wake(waker);
        }
    }
}

/// Delivers [`Error::Closed`] if no result was delivered, so that no client waits for ever: the
/// transaction was not run.
impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.deliver(Err(Error::Closed));
    }
}

impl<T> Ticket<T> {
    /// Returns true if [`wait`](Ticket::wait) would not block.
    pub fn is_ready(&self) -> bool {
        !self.process.is_current() || !matches!(*self.place.lock(), TicketState::Empty(_))
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// Those of [`transact`](crate::Database::transact); [`Error::TransactionEnded`] if an
    /// asynchronous closure has kept its transaction.
    ///
    /// # Panics
    /// If the result was already taken by polling.
    pub fn wait(self) -> Result<T> {
        block_on(self)
    }
}

impl<T> Future for Ticket<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if !self.process.is_current() {
            return Poll::Ready(Err(Error::Forked));
        }
        let mut state = self.place.lock();
        match std::mem::replace(&mut *state, TicketState::Taken) {
            TicketState::Delivered(result) => Poll::Ready(result),
            TicketState::Empty(_) => {
                *state = TicketState::Empty(Some(context.waker().clone()));
                Poll::Pending
            }
            TicketState::Taken => panic!("the result of a Ticket is taken once"),
        }
    }
}

impl<T> std::fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("is_ready", &self.is_ready()).finish()
    }
}
