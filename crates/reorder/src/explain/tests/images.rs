//! The timelines and the page, as an XML reader sees them.

use std::collections::BTreeMap;

use super::*;

/// An element: its name, its attributes, the text directly in it.
#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    text: String,
}

/// Reads well-formed XML without comments and instructions; panics if it is none.
fn read(text: &str) -> Vec<Element> {
    let mut rest = text.strip_prefix("<!DOCTYPE html>\n").unwrap_or(text);
    let (mut all, mut open): (Vec<Element>, Vec<usize>) = (Vec::new(), Vec::new());
    while let Some(at) = rest.find('<') {
        let content = unescaped(&rest[..at]);
        match open.last() {
            Some(&element) => all[element].text.push_str(&content),
            None => assert!(content.trim().is_empty(), "text outside of the root: {content}"),
        }
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let element = open.pop().expect("an element is open");
            assert_eq!(all[element].name, name);
            continue;
        }
        assert!(all.is_empty() || !open.is_empty(), "two roots");
        all.push(element(tag.trim_end_matches('/')));
        if !tag.ends_with('/') {
            open.push(all.len() - 1);
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "the end lacks: {open:?} {rest}");
    all
}

fn element(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut attributes = BTreeMap::new();
    while let Some((key, after)) = rest.trim_start().split_once("=\"") {
        let (value, after) = after.split_once('"').expect("a value ends");
        assert!(attributes.insert(key.to_owned(), unescaped(value)).is_none(), "{tag}");
        rest = after;
    }
    assert!(rest.trim().is_empty(), "{tag}");
    Element { name: name.to_owned(), attributes, text: String::new() }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('&').enumerate() {
        let names = [("amp;", '&'), ("lt;", '<'), ("gt;", '>'), ("quot;", '"')];
        match names.iter().find(|(name, _)| part.starts_with(name)) {
            _ if at == 0 => out.push_str(part),
            Some((name, character)) => {
                out.push(*character);
                out.push_str(&part[name.len()..]);
            }
            None => panic!("an unknown entity: &{part}"),
        }
    }
    out
}

/// Returns the left end and the width of each bar of a class.
fn bars(elements: &[Element], class: &str) -> Vec<(f64, f64)> {
    let is_bar = |one: &&Element| {
        one.name == "rect" && one.attributes["class"].split(' ').any(|one| one == class)
    };
    let number = |one: &Element, name: &str| one.attributes[name].parse::<f64>().unwrap();
    let ends = |one: &Element| (number(one, "x"), number(one, "width"));
    elements.iter().filter(is_bar).map(ends).collect()
}

/// A transaction of three locks and a read that locks nothing.
fn report() -> Report {
    let mut report = report_of("pay", [(9, 10), (1, 30), (0, 20), (4, 40)]);
    report.units[2].locks.clear();
    report.units[2].queries = vec!["SELECT a FROM t2 WHERE a < 1 AND b > 'x & \"y\"'".to_owned()];
    report
}

#[test]
fn bars_are_as_long_as_the_holds_in_both_orders() {
    let report = report();
    for (shown, order) in
        [(Shown::Old, vec![0, 1, 2, 3]), (Shown::New, report.solution.order.clone())]
    {
        let elements = read(&timeline(&report, shown, "a"));
        let locked: Vec<UnitIndex> = order.iter().copied().filter(|&unit| unit != 2).collect();
        let held = bars(&elements, "hold");
        assert_eq!(held.len(), 3, "{shown:?}");
        let length = |unit: UnitIndex| report.units[unit].cost.length as f64;
        let hold = |unit: UnitIndex| {
            let from = order.iter().position(|&one| one == unit).unwrap();
            order[from..].iter().map(|&one| length(one)).sum::<f64>()
        };
        for (&unit, &(start, width)) in locked.iter().zip(&held) {
            let expected = 640.0 * hold(unit) / 100.0;
            assert!((width - expected).abs() < 0.02, "{shown:?} {unit}: {width} {expected}");
            assert!((start + width - 890.0).abs() < 0.02, "{shown:?} {unit} ends at the commit");
        }
        let [(_, width)] = bars(&elements, "read")[..] else { panic!("one read") };
        assert!((width - 640.0 * 0.2).abs() < 0.02, "a read lasts as long as it runs");
    }
    assert_ne!(report.solution.order, [0, 1, 2, 3]);
}

#[test]
fn image_says_in_words_what_it_draws() {
    let elements = read(&timeline(&report(), Shown::Old, "a"));
    let by_id = |id: &str| {
        elements.iter().find(|one| one.attributes.get("id").is_some_and(|one| one == id))
    };
    let root = &elements[0];
    assert_eq!(root.attributes["role"], "img");
    let ids: Vec<&str> = root.attributes["aria-labelledby"].split(' ').collect();
    assert_eq!(by_id(ids[0]).unwrap().text, "Order of the source of pay");
    let description = &by_id(ids[1]).unwrap().text;
    assert!(
        description.starts_with("t0, line 1 is held for 100 queries; t1, line 2"),
        "{description}"
    );
    let tooltips: Vec<&str> = elements
        .iter()
        .filter(|one| one.name == "title" && one.attributes.is_empty())
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(tooltips.len(), 4);
    assert!(tooltips[2].ends_with("b > 'x & \"y\"'"), "{tooltips:?}");
}

#[test]
fn lines_stand_at_their_numbers() {
    let elements = read(&timeline(&report_of("f", [(2, 4), (1, 6)]), Shown::Old, "a"));
    let axis: Vec<(f64, &str)> = elements
        .iter()
        .filter(|one| one.attributes.get("class").is_some_and(|class| class == "axis"))
        .map(|one| (one.attributes["x"].parse().unwrap(), one.text.as_str()))
        .collect();
    let at = |count: f64| 250.0 + 640.0 * count / 10.0;
    let expected =
        [(at(0.0), "0"), (at(2.0), "2"), (at(5.0), "5"), (at(7.0), "7"), (at(10.0), "commit")];
    assert_eq!(axis, expected);
}

#[test]
fn transaction_without_lengths_has_bars_without_width() {
    let elements = read(&timeline(&report_of("f", [(0, 0), (0, 0)]), Shown::New, "a"));
    assert!(bars(&elements, "hold").iter().all(|&(_, width)| width == 0.0));
}

#[test]
fn page_needs_no_other_file() {
    let transactions = vec![report(), report_of("g<1>", [(9, 1), (1, 1)])];
    let lock_order = Some(Imposed::Impossible);
    let rewritten = Rewritten {
        text: String::new(),
        moved: Default::default(),
        splits: Vec::new(),
        sorted: Vec::new(),
        unsorted: Vec::new(),
        renamings: Vec::new(),
        refusals: Vec::new(),
        unstated: Vec::new(),
        left_open: Vec::new(),
        transactions,
        lock_order,
    };
    let page = html("a&b.c", &rewritten);
    let elements = read(&page);
    let count = |name: &str| elements.iter().filter(|one| one.name == name).count();
    assert_eq!((count("svg"), count("h2"), count("script"), count("link")), (4, 2, 0, 0));
    assert_eq!(bars(&elements, "hold").len(), 2 * 3 + 2 * 2);
    let mut ids: Vec<&String> =
        elements.iter().filter_map(|one| one.attributes.get("id")).collect();
    ids.sort();
    let unique = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), unique, "an id occurs twice");
    let refers = |one: &Element| one.attributes.keys().any(|key| key == "src" || key == "href");
    assert!(!elements.iter().any(refers) && !page.contains("url("));
    assert!(page.contains("prefers-color-scheme: dark"));
    assert!(elements.iter().any(|one| one.name == "h1" && one.text == "Transactions of a&b.c"));
    assert!(elements.iter().any(|one| one.name == "pre" && one.text.contains("--lock-order")));
}
