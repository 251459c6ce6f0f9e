//! Thousands of clients on two threads: each is a task that moves money between accounts.
//!
//! Shows `transact_async`: a task that waits for a lock, a page or the flush keeps no thread, so
//! the number of clients is not bounded by the number of threads.
//!
//! `cargo run --release -p clearway --example async_transfers [DIRECTORY]`

use clearway::{Database, Error, Options, Result, Table};

const ACCOUNTS: u32 = 100;
const OPENING: u64 = 1_000;
const CLIENTS: u32 = 2_000;

fn main() -> Result<()> {
    let db = match std::env::args_os().nth(1) {
        Some(directory) => Database::open(directory)?,
        None => Options::in_memory().cache_size(16 << 20).open("transfers")?,
    };
    // Do not touch the contents of a directory that the user names.
    if !db.tables().is_empty() {
        let reason = "it has tables already; name an absent or empty directory".into();
        return Err(Error::Aborted { reason });
    }
    run(&db)
}

/// Runs the clients and checks that the sum of all accounts is what it was.
pub(crate) fn run(db: &Database) -> Result<()> {
    let accounts = db.table("accounts")?;
    db.transact("open", |tx| {
        (0..ACCOUNTS)
            .try_for_each(|n| tx.put(&accounts, n.to_be_bytes(), OPENING.to_be_bytes()).map(drop))
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    let runtime = runtime.expect("threads can be started");
    let refused = runtime.block_on(async {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| tokio::spawn(transfer(db.clone(), accounts.clone(), client)))
            .collect();
        let mut refused = 0;
        for client in clients {
            match client.await.expect("no client panics") {
                Ok(()) => {}
                Err(Error::Aborted { .. }) => refused += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    })?;
    let total = db.transact("audit", |tx| {
        let mut scan = tx.scan(&accounts, ..);
        let mut total = 0;
        while let Some((_, balance)) = scan.next_ref()? {
            total += number(balance);
        }
        Ok(total)
    })?;
    assert_eq!(total, u64::from(ACCOUNTS) * OPENING, "no money is made or lost");
    println!("{CLIENTS} clients, {refused} without funds; the sum is still {total}");
    Ok(())
}

async fn transfer(db: Database, accounts: Table, client: u32) -> Result<()> {
    // Two accounts and an amount that differ between clients.
    let (from, to) = (client * 7 % ACCOUNTS, (client * 13 + 1) % ACCOUNTS);
    let amount = u64::from(client % 97);
    if from == to {
        return Ok(());
    }
    db.transact_async("transfer", async |mut tx| {
        for (account, is_source) in [(from, true), (to, false)] {
            let row = tx.get_for_update(&accounts, account.to_be_bytes()).await?;
            let balance = number(&row.ok_or_else(Error::not_found)?);
            let changed = match is_source {
                true => balance.checked_sub(amount),
                false => balance.checked_add(amount),
            };
            let Some(changed) = changed else { return tx.abort("insufficient funds") };
            tx.put(&accounts, account.to_be_bytes(), changed.to_be_bytes()).await?;
        }
        Ok(())
    })
    .await
}

fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().copied().map_or(0, u64::from_be_bytes)
}
