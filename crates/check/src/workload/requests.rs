//! Operations that another thread awaits: the body of a transaction runs on the thread that wants
//! its result, and the transaction belongs to an asynchronous closure, a task of a pipeline.
//!
//! ```text
//!   body ── request ──► closure: awaits the operation
//!     └──────◄──── reply ───┘
//! ```
//!
//! So the tasks of an agent wait for locks and pages in any order, beside each other, and each
//! waits for its next request as it would for any other event of its program.

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Poll, Waker},
};

use clearway::{AsyncTransaction, Error, Result};
use clearway_sync::{Mutex, wake};

use crate::history::Op;

/// The reason given for a transaction whose body is over although its closure runs again.
const OVER: &str = "its body is over";

/// An operation, which sends its result itself.
type Operation = Box<dyn for<'t> FnOnce(&'t mut AsyncTransaction) -> Operating<'t> + Send>;

/// An operation that runs.
pub(super) type Operating<'t> = Pin<Box<dyn Future<Output = ()> + 't>>;

/// A request of a body.
enum Request {
    Operate(Operation),
    /// The body has ended with this result.
    End(Result<Vec<Op>>),
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Request>,
    waker: Option<Waker>,
    is_over: bool,
}

/// The body's end of the queue.
pub(super) struct Requests(Arc<Mutex<Queue>>);

impl Requests {
    /// Requests an operation.
    pub(super) fn operate(
        &self,
        operation: impl for<'t> FnOnce(&'t mut AsyncTransaction) -> Operating<'t> + Send + 'static,
    ) {
        self.send(Request::Operate(Box::new(operation)));
    }

    /// Ends the attempt with the result of the body.
    pub(super) fn end(&self, result: Result<Vec<Op>>) {
        self.send(Request::End(result));
    }

    fn send(&self, request: Request) {
        self.change(|queue| queue.requests.push_back(request));
    }

    fn change(&self, change: impl FnOnce(&mut Queue)) {
        let mut queue = self.0.lock();
        change(&mut queue);
        let waker = queue.waker.take();
        drop(queue);
        waker.into_iter().for_each(wake);
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.change(|queue| queue.is_over = true);
    }
}

/// The closure's end of the queue.
pub(super) struct Serving(Arc<Mutex<Queue>>);

/// A queue for one attempt of a transaction.
pub(super) fn requests() -> (Requests, Serving) {
    let queue = Arc::<Mutex<Queue>>::default();
    (Requests(queue.clone()), Serving(queue))
}

impl Serving {
    /// Runs the operations of a body in a transaction. Returns the result of the body.
    ///
    /// # Errors
    /// That of the body.
    pub(super) async fn serve(self, tx: &mut AsyncTransaction) -> Result<Vec<Op>> {
        loop {
            match self.next().await {
                Some(Request::Operate(operation)) => operation(tx).await,
                Some(Request::End(result)) => return result,
                None => return Err(Error::Aborted { reason: OVER.to_owned() }),
            }
        }
    }

    /// Waits for a request. `None` if none comes any more.
    async fn next(&self) -> Option<Request> {
        poll_fn(|cx| {
            let mut queue = self.0.lock();
            match queue.requests.pop_front() {
                Some(request) => Poll::Ready(Some(request)),
                None if queue.is_over => Poll::Ready(None),
                None => {
                    queue.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}
