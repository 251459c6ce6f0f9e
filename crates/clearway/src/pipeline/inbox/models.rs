//! Models of an agent that parks and is woken.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `an_agent_sees_every_job_and_the_close`: the waker is stored after the mutex is released
//!   (INBOX-1).
//! - `a_job_for_a_busy_agent_is_taken_by_one_that_sleeps`: the other inbox is checked before the
//!   waker is stored (INBOX-4).
//! - `a_job_for_an_agent_with_all_its_tasks_is_taken_by_one_that_sleeps`: that agent stores its
//!   waker.

use std::sync::Arc;

use clearway_sync::{ThreadWaker, check, thread};

use super::*;

/// Acts as an agent: takes jobs until the inbox is closed. Returns their number.
fn work(inbox: &Inbox<u32>) -> usize {
    let mut jobs = 0;
    loop {
        if inbox.pop().is_some() {
            jobs += 1;
            continue;
        }
        match inbox.prepare_park(Some(&ThreadWaker::current())) {
            ParkCheck::MayPark => thread::park(),
            ParkCheck::Jobs => {}
            ParkCheck::Closed => return jobs,
        }
        inbox.clear_waker();
    }
}

/// A lost wake-up is a deadlock, which loom reports.
#[test]
fn an_agent_sees_every_job_and_the_close() {
    check(3, || {
        let inbox = Arc::new(Inbox::new());
        let agent = {
            let inbox = inbox.clone();
            thread::spawn(move || work(&inbox))
        };
        assert!(inbox.push(1, 9).is_ok());
        assert!(inbox.push(2, 9).is_ok());
        inbox.close();
        assert_eq!(agent.join().unwrap(), 2);
    });
}

/// Acts as the agent of the second inbox until it has taken a job out of the first one.
fn helper(inboxes: &Arc<[Inbox<u32>; 2]>) -> thread::JoinHandle<()> {
    let inboxes = inboxes.clone();
    thread::spawn(move || {
        loop {
            if inboxes[0].pop().is_some() {
                return;
            }
            // Like `Agent::park`.
            if inboxes[1].prepare_park(Some(&ThreadWaker::current())) == ParkCheck::MayPark
                && inboxes[0].is_empty()
            {
                thread::park();
            }
            inboxes[1].clear_waker();
        }
    })
}

/// The first inbox's agent never runs; the second one's takes the job (INBOX-4).
#[test]
fn a_job_for_a_busy_agent_is_taken_by_one_that_sleeps() {
    check(3, || {
        let inboxes = Arc::new([Inbox::new(), Inbox::new()]);
        let helper = helper(&inboxes);
        // Like `Pipeline::give`.
        assert!(matches!(inboxes[0].push(1, 9), Ok(false)));
        inboxes[1].wake();
        helper.join().unwrap();
    });
}

/// The first inbox's agent may begin no further task; the second one's takes the job (INBOX-4).
#[test]
fn a_job_for_an_agent_with_all_its_tasks_is_taken_by_one_that_sleeps() {
    check(3, || {
        let inboxes = Arc::new([Inbox::new(), Inbox::new()]);
        let helper = helper(&inboxes);
        let full = {
            let inboxes = inboxes.clone();
            thread::spawn(move || {
                // Like `Agent::park`.
                if inboxes[0].prepare_park(None) == ParkCheck::Jobs {
                    inboxes[1].wake();
                }
            })
        };
        // Like `Pipeline::give`.
        if let Ok(false) = inboxes[0].push(1, 9) {
            inboxes[1].wake();
        }
        helper.join().unwrap();
        full.join().unwrap();
    });
}
