use super::*;

fn row(balance: i64) -> Vec<u8> {
    [&balance.to_be_bytes()[..], b"..."].concat()
}

fn account(number: u64, balance: i64) -> (Vec<u8>, Vec<u8>) {
    (number.to_be_bytes().to_vec(), row(balance))
}

fn line(client: u64, sequence: u64, [from, to, amount]: [u64; 3]) -> (Vec<u8>, Vec<u8>) {
    let transfer = BankTransfer { client, sequence, from, to, amount };
    (transfer.history_key().to_vec(), transfer.history_row())
}

#[test]
fn balances_that_follow_from_the_history_are_accepted() {
    let accounts = [account(0, -7), account(1, 4), account(2, 3), account(3, 0)];
    let history = [line(4, 1, [0, 1, 5]), line(4, 2, [0, 2, 2]), line(9, 1, [1, 2, 1])];
    assert_eq!(check(accounts, history), Ok(BTreeMap::from([(4, 2), (9, 1)])));
}

#[test]
fn each_violation_is_reported() {
    let history = || vec![line(4, 1, [0, 1, 5]), line(4, 2, [0, 2, 2])];
    let accounts = || vec![account(0, -7), account(1, 5), account(2, 2)];
    assert!(check(accounts(), history()).is_ok());

    let mut wrong = accounts();
    wrong[1] = account(1, 6);
    assert_eq!(check(wrong, history()).unwrap_err(), "account 1 has 6, by its history 5");
    let missing = accounts()[..2].to_vec();
    assert_eq!(check(missing, history()).unwrap_err(), "account 2 has a history and no row");
    let gap = history()[1..].to_vec();
    assert_eq!(check(accounts(), gap).unwrap_err(), "client 4: transfer 2 follows 0");
    let short = vec![(vec![1, 2], row(0))];
    assert!(check(short, vec![]).unwrap_err().starts_with("no account"));
    let short = vec![(pair(1, 1).to_vec(), vec![1])];
    assert!(check(vec![], short).unwrap_err().starts_with("no history row"));
}

#[test]
fn a_transfer_is_always_between_two_accounts() {
    let mut random = Random::new(1);
    for accounts in 2..6 {
        let bank = Bank { accounts, padding: 0 };
        for sequence in 1..200 {
            let transfer = bank.draw(&mut random, 3, sequence);
            assert!(transfer.from != transfer.to && transfer.from.max(transfer.to) < accounts);
        }
    }
}
