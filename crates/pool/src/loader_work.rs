//! The work of the loader's thread: serving the waits of tasks, and beginning reads ahead.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use clearway_base::PageId;
use clearway_sync::wake;

use crate::{
    Pool,
    clean::panicked,
    loader::{LoaderWork, Loads},
};

impl Loads for Pool {
    fn load_for(self: &Arc<Pool>, work: LoaderWork) {
        match work {
            LoaderWork::Serve(page) => self.serve_for_tasks(page),
            LoaderWork::ReadAhead(pages) => {
                let begun = catch_unwind(AssertUnwindSafe(|| self.begin_ahead(&pages)));
                if begun.is_err() {
                    let _ = self.fail(panicked("reading pages ahead"));
                }
            }
        }
    }
}

impl Pool {
    /// Serves the waits for a page, if a task still waits for it (LOADER-1).
    fn serve_for_tasks(self: &Arc<Pool>, page: PageId) {
        if !self.page_waits.is_awaited(page) {
            return;
        }
        let served = catch_unwind(AssertUnwindSafe(|| self.serve_waits_in_need(page)));
        if served.is_err() {
            let error = panicked("making room for a page");
            let _ = self.fail(error.clone());
            self.fail_waits(page, &error).into_iter().for_each(wake);
        }
    }
}
