//! The ticket with which a client gets its result.

use std::{
    future::Future,
    panic::catch_unwind,
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
pub struct Ticket<T, E = Error> {
    place: Arc<ResultPlace<T, E>>,
    /// The process in which the transaction is run; the result is never delivered in a fork of it.
    process: Process,
}

/// The sending end. Its owner must deliver the result.
pub(super) struct Promise<T, E: From<Error>> {
    place: Arc<ResultPlace<T, E>>,
}

type ResultPlace<T, E> = Mutex<TicketState<T, E>>;

enum TicketState<T, E> {
    Empty(Option<Waker>),
    Delivered(Result<T, E>),
    /// The conversion of an error has panicked.
    Lost,
    Taken,
}

/// Creates a ticket and the promise of its result.
pub(super) fn new<T, E: From<Error>>() -> (Ticket<T, E>, Promise<T, E>) {
    let place = Arc::new(Mutex::new(TicketState::Empty(None)));
    let ticket = Ticket { place: Arc::clone(&place), process: Process::current() };
    (ticket, Promise { place })
}

impl<T, E: From<Error>> Promise<T, E> {
    /// Delivers the result.
    pub(super) fn fulfil(self, result: Result<T, E>) {
        self.deliver(TicketState::Delivered(result));
    }

    fn deliver(&self, delivered: TicketState<T, E>) {
        let mut state = self.place.lock();
        let TicketState::Empty(waker) = &mut *state else { return };
        let waker = waker.take();
        *state = delivered;
        drop(state);
        if let Some(waker) = waker {
            wake(waker);
        }
    }
}

/// Delivers [`Error::Closed`] if no result was delivered, so that no client waits for ever: the
/// transaction was not run.
impl<T, E: From<Error>> Drop for Promise<T, E> {
    fn drop(&mut self) {
        if !matches!(*self.place.lock(), TicketState::Empty(_)) {
            return;
        }
        // The program's code, perhaps while another panic of it unwinds.
        let closed = catch_unwind(|| E::from(Error::Closed));
        self.deliver(closed.map_or(TicketState::Lost, |error| TicketState::Delivered(Err(error))));
    }
}

impl<T, E> Ticket<T, E> {
    /// Returns true if [`wait`](Ticket::wait) would not block.
    pub fn is_ready(&self) -> bool {
        !self.process.is_current() || !matches!(*self.place.lock(), TicketState::Empty(_))
    }
}

impl<T, E: From<Error>> Ticket<T, E> {
    /// Waits for the result.
    ///
    /// # Errors
    /// Those of [`transact`](crate::Database::transact); [`Error::TransactionEnded`] if an
    /// asynchronous closure has kept its transaction.
    ///
    /// # Panics
    /// If the result was already taken by polling, or if the conversion of an error to `E` has
    /// panicked on the agent.
    pub fn wait(self) -> Result<T, E> {
        block_on(self)
    }
}

impl<T, E: From<Error>> Future for Ticket<T, E> {
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, E>> {
        if !self.process.is_current() {
            return Poll::Ready(Err(Error::Forked.into()));
        }
        let mut state = self.place.lock();
        match std::mem::replace(&mut *state, TicketState::Taken) {
            TicketState::Delivered(result) => Poll::Ready(result),
            TicketState::Empty(_) => {
                *state = TicketState::Empty(Some(context.waker().clone()));
                Poll::Pending
            }
            TicketState::Lost => panic!("the conversion of an error has panicked"),
            TicketState::Taken => panic!("the result of a Ticket is taken once"),
        }
    }
}

impl<T, E> std::fmt::Debug for Ticket<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("is_ready", &self.is_ready()).finish()
    }
}
