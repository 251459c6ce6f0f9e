//! A future that is dropped while it waits.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

/// Polls a future once. If it waits, drops it and returns `None`.
pub async fn polled_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, future::pending};

    use clearway_sync::block_on;

    use super::*;

    struct Dropped<'c>(&'c Cell<bool>);

    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }

    #[test]
    fn future_that_waits_is_dropped_after_one_poll() {
        let (is_polled, is_dropped) = (Cell::new(false), Cell::new(false));
        let waits = async {
            let _dropped = Dropped(&is_dropped);
            is_polled.set(true);
            pending::<()>().await;
        };
        assert_eq!(block_on(polled_once(waits)), None);
        assert_eq!((is_polled.get(), is_dropped.get()), (true, true));
        assert_eq!(block_on(polled_once(async { 7 })), Some(7));
    }
}
