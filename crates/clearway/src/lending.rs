//! The transaction of an asynchronous closure: it is lent to the closure, which returns it.
//!
//! ```text
//!   runner ── lend ──▶ LentTransaction ── drop ──▶ Returned ── take_back ──▶ runner
//! ```
//!
//! Invariants:
//! - LEND-1. A lent transaction is in one place: its [`LentTransaction`], or the [`Returned`] that
//!   this shares with the lender. If the lender is gone, both are dropped, and the transaction with
//!   them.
//! - LEND-2. A [`Returned`] receives one transaction between two calls of `take_back`: if a closure
//!   keeps its transaction, the lender takes another [`Returned`].

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use clearway_sync::Exchange;

use crate::AsyncTransaction;

/// The transaction of an asynchronous closure: an [`AsyncTransaction`] that is committed when the
/// closure returns `Ok`, and rolled back when it returns an error or panics.
///
/// It is a value and not a reference, so that the futures of closures can move between threads. The
/// closure gives it back by dropping it. If the closure returns and still keeps it somewhere, the
/// call that runs the closure fails with [`TransactionEnded`](crate::Error::TransactionEnded): the
/// transaction cannot be committed, and the closure is not run again. The transaction is rolled
/// back when it is dropped.
pub struct LentTransaction {
    /// `None` only while this is being dropped.
    transaction: Option<Box<AsyncTransaction>>,
    returned: Arc<Returned>,
}

/// The place in which a closure leaves its transaction.
type Returned = Exchange<AsyncTransaction>;

/// Lends transactions to closures, one after the other.
#[derive(Default)]
pub(crate) struct Lender {
    returned: Arc<Returned>,
    /// The memory of an earlier transaction, which has ended, for the next one.
    memory: Option<Box<AsyncTransaction>>,
}

impl Lender {
    /// Lends a transaction.
    #[inline]
    pub(crate) fn lend(&mut self, transaction: AsyncTransaction) -> LentTransaction {
        let transaction = match self.memory.take() {
            Some(mut memory) => {
                *memory = transaction;
                memory
            }
            None => Box::new(transaction),
        };
        LentTransaction { transaction: Some(transaction), returned: Arc::clone(&self.returned) }
    }

    /// Takes the transaction, if it was returned (LEND-2).
    #[inline]
    pub(crate) fn take_back(&mut self) -> Option<Box<AsyncTransaction>> {
        let back = self.returned.take();
        if back.is_none() {
            self.returned = Arc::default();
        }
        back
    }

    /// Keeps the memory of a transaction that has ended for the next one.
    #[inline]
    pub(crate) fn keep(&mut self, ended: Box<AsyncTransaction>) {
        self.memory = Some(ended);
    }
}

/// The message of a panic that cannot happen: only the drop takes the transaction.
const LENT: &str = "a lent transaction is there until it is dropped";

impl Deref for LentTransaction {
    type Target = AsyncTransaction;

    #[inline]
    fn deref(&self) -> &AsyncTransaction {
        self.transaction.as_ref().expect(LENT)
    }
}

impl DerefMut for LentTransaction {
    #[inline]
    fn deref_mut(&mut self) -> &mut AsyncTransaction {
        self.transaction.as_mut().expect(LENT)
    }
}

impl Drop for LentTransaction {
    #[inline]
    fn drop(&mut self) {
        self.transaction.take().into_iter().for_each(|transaction| self.returned.put(transaction));
    }
}

impl std::fmt::Debug for LentTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LentTransaction").field(&self.tx.inner).finish()
    }
}
