use clearway_testkit::Random;

use super::*;

fn unit(weight: u64, length: u64) -> UnitCost {
    UnitCost { weight, length }
}

fn before(pairs: &[(UnitIndex, UnitIndex)]) -> Vec<Before> {
    pairs.iter().map(|&(first, later)| Before { first, later }).collect()
}

/// Returns the cost of the cheapest legal order, by trying all.
fn brute_force(problem: &Problem) -> u128 {
    fn extend(problem: &Problem, order: &mut Vec<UnitIndex>, best: &mut u128) {
        if order.len() == problem.units.len() {
            if check(problem, order).is_ok() {
                *best = problem.cost(order).min(*best);
            }
            return;
        }
        for unit in 0..problem.units.len() {
            if !order.contains(&unit) {
                order.push(unit);
                extend(problem, order, best);
                order.pop();
            }
        }
    }
    let mut best = u128::MAX;
    extend(problem, &mut Vec::new(), &mut best);
    best
}

/// Draws a problem whose source order is legal.
fn draw(random: &mut Random, count: usize) -> Problem {
    let unit_of = |random: &mut Random| match random.below(4) {
        0 => unit(0, 0),
        1 => unit(random.below(20), 1),
        2 => unit(random.below(4), random.below(4)),
        _ => unit(random.below(1000), random.below(1000)),
    };
    let units = (0..count).map(|_| unit_of(random)).collect();
    let (density, ranges) = (random.pick(&[2, 4, 12]), random.below(4));
    let mut problem = Problem { units, ..Problem::default() };
    for later in 0..count {
        for first in 0..later {
            if random.one_in(density) {
                problem.before.push(Before { first, later });
            }
        }
    }
    for _ in 0..ranges {
        let numbers = [0; 3].map(|_| random.below(count as u64) as usize);
        let [unit, from, to] = numbers;
        if from < to && !(from..=to).contains(&unit) {
            problem.outside.push(Outside { unit, from, to });
        }
    }
    problem
}

#[test]
fn listing_1_of_the_paper_becomes_listing_2() {
    // The units by the line numbers of the listing, and the weights of table 1.
    let lines = [1, 2, 3, 4, 6, 8, 10, 12, 13, 15];
    let weights = [500, 510, 100, 110, 50, 50, 60, 0, 60, 10];
    let at = |line: usize| lines.iter().position(|&other| other == line).unwrap();
    let units = weights.map(|weight| unit(weight, u64::from(weight > 0))).to_vec();
    // w_name, d_name, c_id and c_credit; then the tables warehouse, district and customer.
    let pairs = [(1, 2), (1, 15), (3, 15), (6, 8), (6, 10), (6, 12), (8, 10), (8, 12), (8, 13)];
    let tables = [(1, 2), (3, 4), (6, 10), (8, 10), (10, 13), (12, 13)];
    let pairs: Vec<_> = pairs.iter().chain(&tables).map(|&(a, b)| (at(a), at(b))).collect();
    let outside = [(12, 6, 8), (12, 6, 10)]
        .map(|(unit, from, to)| Outside { unit: at(unit), from: at(from), to: at(to) })
        .to_vec();
    let problem = Problem { units, before: before(&pairs), outside };
    let solved = problem.solve(Limits::default()).unwrap();
    let order: Vec<_> = solved.order.iter().map(|&unit| lines[unit]).collect();
    assert_eq!(order, [6, 8, 10, 12, 13, 3, 4, 1, 15, 2]);
    assert_eq!(solved.cost, solved.bound);
}

#[test]
fn order_is_as_cheap_as_the_best_of_all_orders() {
    let mut random = Random::new(1);
    for count in [1, 2, 3, 4, 5, 6, 7] {
        for _ in 0..300 {
            let problem = draw(&mut random, count);
            let solved = problem.solve(Limits::default()).unwrap();
            assert_eq!(check(&problem, &solved.order), Ok(()), "{problem:?}");
            assert_eq!(solved.cost, problem.cost(&solved.order));
            assert_eq!(solved.cost, brute_force(&problem), "{problem:?}");
            assert_eq!(solved.bound, solved.cost, "{problem:?}");
        }
    }
}

#[test]
fn limited_search_gives_a_legal_order_and_a_bound() {
    let mut random = Random::new(2);
    let mut limited = 0;
    for number in 0..600 {
        let problem = if number % 2 == 0 { draw } else { draw_ranges }(&mut random, 7);
        let source: Vec<_> = (0..problem.units.len()).collect();
        let cheapest = brute_force(&problem);
        for (states, branches) in [(1, 100), (2, 0), (2, 1), (1_000, 0), (0, 0)] {
            let solved = problem.solve(Limits { states, branches }).unwrap();
            assert_eq!(check(&problem, &solved.order), Ok(()));
            assert!(solved.bound <= cheapest && cheapest <= solved.cost, "{problem:?}");
            assert!(solved.cost <= problem.cost(&source), "{problem:?}");
            assert!(solved.cost < problem.cost(&source) || solved.order == source, "{problem:?}");
            limited += usize::from(solved.bound < solved.cost);
        }
    }
    assert!(limited > 100, "{limited}");
}

#[test]
fn units_without_constraints_that_cost_the_same_keep_the_order_of_the_source() {
    let problem = Problem { units: vec![unit(3, 2); 9], ..Problem::default() };
    let solved = problem.solve(Limits::default()).unwrap();
    assert_eq!(solved.order, (0..9).collect::<Vec<_>>());
}

#[test]
fn contradiction_is_reported() {
    let units = vec![unit(1, 1); 3];
    let problem = Problem { units, before: before(&[(2, 1)]), outside: Vec::new() };
    let broken = Broken::Before(Before { first: 2, later: 1 });
    assert_eq!(problem.solve(Limits::default()), Err(broken));
    let range = Outside { unit: 1, from: 0, to: 2 };
    let problem = Problem { before: Vec::new(), outside: vec![range], ..problem };
    assert_eq!(problem.solve(Limits::default()), Err(Broken::Outside(range)));
}

#[test]
fn orders_that_lack_or_repeat_a_unit_are_refused() {
    let problem = Problem { units: vec![unit(1, 1); 2], ..Problem::default() };
    assert_eq!(check(&problem, &[0]), Err(Broken::NotAnOrder(1)));
    assert_eq!(check(&problem, &[0, 0]), Err(Broken::NotAnOrder(0)));
    assert_eq!(check(&problem, &[0, 2]), Err(Broken::NotAnOrder(2)));
}

/// A transaction of 121 units, of which a fifth are queries, with chains as those of the same
/// table, and a few thousand constraints.
fn large(seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let count = 121;
    let mut problem = Problem::default();
    let table: Vec<u64> = (0..count).map(|_| random.below(7)).collect();
    for number in 0..count {
        let is_query = number % 5 == 2;
        problem.units.push(match is_query {
            true => unit(random.between(1, 1_000_000), random.between(100, 3_000)),
            false => unit(0, 0),
        });
    }
    for later in 0..count {
        for first in 0..later {
            let same_table = table[first] == table[later] && first % 5 == 2 && later % 5 == 2;
            if same_table || random.below(100) < 2 {
                problem.before.push(Before { first, later });
            }
        }
    }
    // All pairs between which a path leads are constraints, too.
    let mut reaches = vec![vec![false; count]; count];
    problem.before.iter().for_each(|before| reaches[before.first][before.later] = true);
    for middle in 0..count {
        for first in 0..middle {
            for later in middle + 1..count {
                reaches[first][later] |= reaches[first][middle] && reaches[middle][later];
            }
        }
    }
    let pairs = (0..count).flat_map(|first| (0..count).map(move |later| (first, later)));
    let pairs: Vec<_> = pairs.filter(|&(first, later)| reaches[first][later]).collect();
    problem.before = before(&pairs);
    problem
}

#[test]
fn transactions_of_121_units_are_solved_completely() {
    for seed in 0..5 {
        let problem = large(seed);
        let solved = problem.solve(Limits::default()).unwrap();
        assert_eq!(solved.bound, solved.cost);
        let source: Vec<_> = (0..problem.units.len()).collect();
        assert!(solved.cost < problem.cost(&source), "{} constraints", problem.before.len());
    }
}

/// Draws a problem with many ranges, of which the source order is legal.
fn draw_ranges(random: &mut Random, count: usize) -> Problem {
    let mut problem = draw(random, count);
    for _ in 0..random.below(20) {
        let numbers = [0; 3].map(|_| random.below(count as u64) as usize);
        let [unit, from, to] = numbers;
        if from < to && !(from..=to).contains(&unit) {
            problem.outside.push(Outside { unit, from, to });
            if random.one_in(2) {
                problem.before.push(Before { first: from, later: to });
            }
        }
    }
    problem
}

/// Returns the problem whose source order is `order`.
fn renumbered(problem: &Problem, order: &[UnitIndex]) -> Problem {
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &unit)| place[unit] = at);
    let before = problem.before.iter();
    let outside = problem.outside.iter();
    Problem {
        units: order.iter().map(|&unit| problem.units[unit]).collect(),
        before: before
            .map(|one| Before { first: place[one.first], later: place[one.later] })
            .collect(),
        outside: outside
            .map(|one| Outside { unit: place[one.unit], from: place[one.from], to: place[one.to] })
            .collect(),
    }
}

#[test]
fn problems_with_many_ranges_are_solved_and_stay_solved() {
    let mut random = Random::new(3);
    for number in 0..2_000 {
        let problem = draw_ranges(&mut random, 1 + number % 7);
        let solved = problem.solve(Limits::default()).unwrap();
        assert_eq!(solved.cost, brute_force(&problem), "{problem:?}");
        assert_eq!(solved.bound, solved.cost, "{problem:?}");
        let again = renumbered(&problem, &solved.order).solve(Limits::default()).unwrap();
        let source: Vec<_> = (0..problem.units.len()).collect();
        assert_eq!(again.order, source, "{problem:?} {:?}", solved.order);
        if problem.cost(&source) == solved.cost {
            assert_eq!(solved.order, source, "{problem:?}");
        }
        for at in 1..solved.order.len() {
            let mut other = solved.order.clone();
            other.swap(at - 1, at);
            let is_as_good = check(&problem, &other).is_ok() && problem.cost(&other) == solved.cost;
            assert!(!is_as_good || other[at] < other[at - 1], "{problem:?} {:?}", solved.order);
        }
    }
}

#[test]
fn nothing_moves_if_no_unit_matters() {
    for count in [0, 1, 5, 300] {
        for cost in [unit(0, 0), unit(0, 3), unit(3, 0)] {
            let problem = Problem { units: vec![cost; count], ..Problem::default() };
            let solved = problem.solve(Limits::default()).unwrap();
            assert_eq!(solved.order, (0..count).collect::<Vec<_>>());
            assert_eq!(solved.bound, solved.cost);
        }
    }
}

#[test]
fn only_units_that_gain_move() {
    // Unit 1 is the most contended; the others cost the same wherever they stand.
    let units =
        [(2, 2), (9, 1), (0, 0), (2, 2), (1, 1)].map(|(weight, length)| unit(weight, length));
    let problem = Problem { units: units.to_vec(), ..Problem::default() };
    assert_eq!(problem.solve(Limits::default()).unwrap().order, [0, 2, 3, 4, 1]);
    // Units 3 and 4 together have the ratio of unit 1, and stay behind it.
    let units =
        [(0, 5), (3, 3), (9, 1), (4, 3), (2, 3)].map(|(weight, length)| unit(weight, length));
    let before = before(&[(3, 4), (0, 1)]);
    let problem = Problem { units: units.to_vec(), before, outside: Vec::new() };
    assert_eq!(problem.solve(Limits::default()).unwrap().order, [0, 1, 3, 4, 2]);
}

/// Transactions of 25 queries with chains of precedences and many ranges.
#[test]
fn transactions_of_25_queries_with_many_ranges_are_solved() {
    let mut random = Random::new(4);
    for ranges in [5, 20, 60] {
        for _ in 0..5 {
            let mut problem = Problem::default();
            let weight =
                |random: &mut Random| unit(random.below(1_000), random.between(100, 3_000));
            problem.units = (0..25).map(|_| weight(&mut random)).collect();
            for later in 0..25 {
                for first in 0..later {
                    if first % 6 == later % 6 || random.one_in(20) {
                        problem.before.push(Before { first, later });
                    }
                }
            }
            for _ in 0..ranges {
                let [unit, from, to] = [0; 3].map(|_| random.below(25) as usize);
                if from < to && !(from..=to).contains(&unit) {
                    problem.outside.push(Outside { unit, from, to });
                    problem.before.push(Before { first: from, later: to });
                }
            }
            let solved = problem.solve(Limits::default()).unwrap();
            assert_eq!(check(&problem, &solved.order), Ok(()));
            assert_eq!(solved.bound, solved.cost, "{problem:?}");
        }
    }
}
