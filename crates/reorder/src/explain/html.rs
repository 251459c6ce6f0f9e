//! A page with both orders of each transaction as timelines: one file, without scripts and without
//! other files. It is well-formed XML too.

use std::fmt::Write;

use super::{
    explain, of_all,
    timeline::{COLORS, Shown, escaped, tables, timeline},
    words::{cost, percent},
};
use crate::rewrite::{Report, Rewritten};

/// The look: colors that people with defects of color vision can distinguish, for light and dark
/// surroundings.
const STYLE: &str = "
:root { color-scheme: light dark; --text: #1b1b1b; --page: #ffffff; --grid: #cfcfcf;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #b58900; --c5: #56b4e9;
  --c6: #7a5195; --c7: #6b6b6b; --c8: #8a8a8a; }
@media (prefers-color-scheme: dark) { :root { --text: #e8e8e8; --page: #161616; --grid: #444444;
  --c0: #4ba3e3; --c1: #ff8c42; --c2: #2fc79a; --c3: #e6a0c6; --c4: #e0b93c; --c5: #8fd0f5;
  --c6: #b48ad1; --c7: #a0a0a0; --c8: #808080; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { overflow-x: auto; font-size: 13px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--text); font: 12px system-ui, sans-serif; }
svg .axis { text-anchor: middle; }
svg .grid { stroke: var(--grid); }
svg .commit { stroke: var(--text); stroke-width: 2; }
svg .read { opacity: 0.45; }
.key { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 3px;
  margin: 0 0.3em 0 1em; }
";

/// Returns the page for the transactions of a file.
pub fn html(file: &str, rewritten: &Rewritten) -> String {
    let name = escaped(file);
    let mut out = format!(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n\
         <meta charset=\"utf-8\"/>\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"/>\n<title>Transactions of {name}</title>\n\
         <style>{STYLE}{}</style>\n</head>\n<body>\n<h1>Transactions of {name}</h1>\n<p>A bar \
         reaches from a lock to the commit: the time for which other transactions wait. A pale bar \
         is a query that locks nothing. An arrow marks a query that moved.</p>\n",
        colors()
    );
    for (number, report) in rewritten.transactions.iter().enumerate() {
        transaction(&mut out, report, number);
    }
    let whole = of_all(file, rewritten);
    if !whole.is_empty() {
        let _ = writeln!(out, "<pre>{}</pre>", escaped(&whole));
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn colors() -> String {
    let of_color =
        |color| format!(".c{color} {{ fill: var(--c{color}); background: var(--c{color}); }}\n");
    (0..=COLORS).map(of_color).collect()
}

fn transaction(out: &mut String, report: &Report, number: usize) {
    let (before, after) = (report.cost_before, report.solution.cost);
    let _ = writeln!(out, "<section>\n<h2>{}</h2>\n<p>", escaped(&report.function));
    for (color, table) in tables(report).iter().enumerate() {
        let color = color % COLORS;
        let _ = writeln!(out, "<span class=\"key c{color}\"></span>{}", escaped(table));
    }
    let _ = writeln!(
        out,
        "</p>\n<h3>Order of the source: expected cost {}</h3>\n{}<h3>New order: expected cost {} \
         ({})</h3>\n{}<details open=\"open\"><summary>Reasons</summary>\n<pre>{}</pre></details>\n\
         </section>",
        cost(before, report.scale),
        timeline(report, Shown::Old, &format!("old-{number}")),
        cost(after, report.scale),
        percent(before, after),
        timeline(report, Shown::New, &format!("new-{number}")),
        escaped(&explain(report)),
    );
}
