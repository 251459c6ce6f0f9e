//! A session from outside: a thread that blocks, or a task that is polled when it was woken.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    task::{Context, Poll, Wake, Waker},
    thread::Scope,
    time::Duration,
};

use crate::{driver::Driver, session::Session};

/// The performer of a session's operations. It has at most one operation at a time.
pub(crate) enum Seat {
    Thread { orders: Sender<Vec<String>>, answers: Receiver<String> },
    Task(Box<Task>),
}

/// An operation of a task, which returns the session.
type Operation = Pin<Box<dyn Future<Output = (Session, String)>>>;

/// A task, polled by the thread that runs the permutation.
pub(crate) struct Task {
    /// `None` while an operation has it.
    idle: Option<Session>,
    operation: Option<Operation>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Task {
    fn give(&mut self, words: Vec<String>) {
        let mut session = self.idle.take().expect("it has one operation at a time");
        self.operation = Some(Box::pin(async move {
            let outcome = session.outcome(&words).await;
            (session, outcome)
        }));
        self.woken.0.store(true, Ordering::SeqCst);
    }

    /// Polls the operation, if it was woken.
    fn poll(&mut self) -> Option<String> {
        let operation = self.operation.as_mut()?;
        if !self.woken.0.swap(false, Ordering::SeqCst) {
            return None;
        }
        let waker = Waker::from(self.woken.clone());
        let Poll::Ready((session, outcome)) =
            operation.as_mut().poll(&mut Context::from_waker(&waker))
        else {
            return None;
        };
        (self.operation, self.idle) = (None, Some(session));
        Some(outcome)
    }
}

impl Seat {
    /// A session's thread, which ends with the seat, or its task.
    pub(crate) fn new<'scope>(
        mut session: Session,
        driver: Driver,
        scope: &'scope Scope<'scope, '_>,
    ) -> Seat {
        if driver != Driver::Blocking {
            let woken = Arc::new(Woken(AtomicBool::new(false)));
            return Seat::Task(Box::new(Task { idle: Some(session), operation: None, woken }));
        }
        let (orders, received) = mpsc::channel::<Vec<String>>();
        let (answer, answers) = mpsc::channel();
        scope.spawn(move || {
            for words in received {
                if answer.send(session.perform(&words)).is_err() {
                    return;
                }
            }
        });
        Seat::Thread { orders, answers }
    }

    pub(crate) fn give(&mut self, words: Vec<String>) {
        match self {
            Seat::Thread { orders, .. } => orders.send(words).unwrap(),
            Seat::Task(task) => task.give(words),
        }
    }

    /// The outcome of the operation, if it has one. Tasks go on in this call only.
    pub(crate) fn answer(&mut self) -> Option<String> {
        match self {
            Seat::Thread { answers, .. } => answers.try_recv().ok(),
            Seat::Task(task) => task.poll(),
        }
    }

    /// The outcome of the operation, if it has one within this time.
    pub(crate) fn answer_within(&mut self, limit: Duration) -> Option<String> {
        match self {
            Seat::Thread { answers, .. } => answers.recv_timeout(limit).ok(),
            // Nothing but other tasks, which stand still meanwhile, could wake it.
            Seat::Task(task) => task.poll(),
        }
    }
}
