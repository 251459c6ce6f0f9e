use super::*;

fn site(range: Option<(usize, usize)>, sql: Option<&str>) -> Site {
    Site {
        line: 1,
        call: String::new(),
        range: range.map(Range::from),
        sql: sql.map(str::to_owned),
    }
}

#[test]
fn outer_call_is_marked_around_the_inner_one() {
    let text = "f(g(x))";
    let marked = marked(text, &[site(Some((0, 7)), None), site(Some((2, 6)), None)]);
    assert_eq!(marked.unwrap(), "(mockdb_site(0), f((mockdb_site(1), g(x))))");
}

#[test]
fn text_up_to_the_first_format_stands_for_a_call() {
    assert_eq!(fixed_begin("UPDATE  item\n SET x = %d"), "UPDATE item SET x =");
}

#[test]
fn call_in_a_macro_without_a_text_is_not_known() {
    let sites = [site(Some((0, 1)), None), site(None, Some("SELECT")), site(None, None)];
    let mut reached = Reached::default();
    assert!(reached.add(&[Event::Site { number: 0 }], &sites, true));
    assert!(!reached.add(&[Event::Site { number: 0 }], &sites, true));
    let (missing, unknown) = reached.missing(&sites, true);
    assert_eq!((missing, unknown), (vec![&sites[1]], vec![&sites[2]]));
}
