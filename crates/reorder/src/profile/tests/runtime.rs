//! The C library: programs are compiled with it, run, and their profiles read.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use tempfile::TempDir;

use super::super::{times::range, *};

/// A program of four threads, each of which executes each of two queries 100,000 times. Threads
/// register the queries themselves, as shared libraries may.
const THREADS: &str = r#"
#include "clearway_profile.h"
#include "clearway_transaction.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static int query(int value)
{
    struct timespec pause = {0, 20000};
    if (value % 1000 == 0)
        nanosleep(&pause, NULL);
    errno = value;
    return value + 1;
}

static void quiet(int *count) { ++*count; }

static void *client(void *argument)
{
    int one = clearway_profile_register("pay", "SELECT  a\nFROM \"t\" -- \\ \xe4 \xc3\xa4", 0);
    int other = clearway_profile_register("pay", "SELECT a FROM \"t\"", 1);
    int count = 0;
    (void)argument;
    BEGIN_TRANSACTION
    for (int i = 0; i < 100000; i++) {
        if (CLEARWAY_QUERY(one, query(i)) != i + 1 || errno != i)
            return "the value or errno is wrong";
        CLEARWAY_QUERY(other, quiet(&count));
        CLEARWAY_QUERY(-1, quiet(&count));
        CLEARWAY_QUERY(4000, quiet(&count));
        CLEARWAY_QUERY(1 << 30, quiet(&count));
    }
    END_TRANSACTION
    return count == 400000 ? NULL : "a call was not made";
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, client, NULL);
    for (int i = 0; i < 4; i++) {
        void *failure;
        pthread_join(threads[i], &failure);
        if (failure)
            return puts(failure), 1;
    }
    if (clearway_profile_write("early.json") != 0)
        return perror("early.json"), 1;
    return clearway_profile_write("missing/early.json") == 0;
}
"#;

/// A C++ program: values that are classes, calls that throw, commas of templates, a child process.
const CLASSES: &str = r#"
#include "clearway_profile.h"
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

static int id[2];
__attribute__((constructor)) static void setup()
{
    id[0] = clearway_profile_register("f", "A", 0);
    id[1] = clearway_profile_register("f", "B", 0);
}

template <typename A, typename B> static std::string named(A a, B) { return std::string(a, 'x'); }
static int failing() { throw std::runtime_error("query"); }

int main()
{
    std::string text = CLEARWAY_QUERY(id[0], named<int, long>(3, 4));
    try {
        CLEARWAY_QUERY(id[1], failing());
    } catch (const std::runtime_error &) {
        text += "y";
    }
    if (fork() == 0) {
        CLEARWAY_QUERY(id[1], text.size());
        return 0;
    }
    wait(NULL);
    return text == "xxxy" ? 0 : 1;
}
"#;

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {:?} {errors}", output.stdout);
    assert!(errors.is_empty(), "{command:?}: {errors}");
    output
}

/// Returns true if there is the compiler, and prints why the test is skipped otherwise.
fn has(compiler: &str) -> bool {
    let is_there = Command::new(compiler).arg("--version").output().is_ok();
    if !is_there {
        println!("SKIPPED: there is no {compiler} (package {compiler})");
    }
    is_there
}

/// Compiles a program with the library, as `program` in the folder.
fn compile(folder: &Path, compiler: &str, standard: &str, name: &str, text: &str) {
    for (name, text) in RUNTIME.iter().chain(&[(name, text)]) {
        fs::write(folder.join(name), text).unwrap();
    }
    let strict = ["-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Werror", "-O1", "-pthread"];
    let gcc = |arguments: &[&str], compiler| {
        run(Command::new(compiler).args(strict).args(arguments).current_dir(folder));
    };
    gcc(&["-std=c99", "-c", "clearway_profile.c"], "gcc");
    let gnu = ["-D_POSIX_C_SOURCE=200809L", standard];
    gcc(&[&gnu[..], &[name, "clearway_profile.o", "-o", "program"]].concat(), compiler);
}

/// Runs the program with the path of its profile.
fn execute(folder: &TempDir, profile: Option<&str>) {
    let mut command = Command::new(folder.path().join("program"));
    command.current_dir(folder.path()).env_remove("CLEARWAY_PROFILE");
    profile.into_iter().for_each(|path| {
        command.env("CLEARWAY_PROFILE", path);
    });
    run(&mut command);
}

#[test]
fn threaded_program_writes_what_it_measured() {
    if !has("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "gcc", "-std=c99", "threads.c", THREADS);
    execute(&folder, None);
    let profile = Profile::read(&folder.path().join("clearway-profile.json")).unwrap();
    let early = Profile::read(&folder.path().join("early.json")).unwrap();
    assert_eq!(profile, early);
    let one = Key::new("pay", "SELECT a FROM \"t\" -- \\ \u{fffd} ä", 0);
    let other = Key::new("pay", "SELECT a FROM \"t\"", 1);
    assert_eq!(profile.queries.keys().collect::<Vec<_>>(), [&other, &one]);
    let (one, other) = (&profile.queries[&one], &profile.queries[&other]);
    assert_eq!((one.count, other.count), (400_000, 400_000));
    // Of each 1,000 executions one sleeps for 20 µs.
    assert!(one.sum >= 400 * 20_000, "{}", one.sum);
    assert!(one.squares >= 400.0 * 20_000f64.powi(2), "{}", one.squares);
    let slow: u64 = one.buckets.range(bucket(20_000)..).map(|(_, count)| count).sum();
    assert!(slow >= 400, "{slow}");
    // The buckets of the library are those of this module.
    let sum = |place: fn((f64, f64)) -> f64| -> f64 {
        one.buckets.iter().map(|(&bucket, &count)| place(range(bucket)) * count as f64).sum()
    };
    let (least, most) = (sum(|(start, _)| start), sum(|(start, width)| start + width));
    assert!((least..=most).contains(&(one.sum as f64)), "{least} {} {most}", one.sum);
    assert!(one.p5().unwrap() < 20_000.0, "{:?}", one.p5());
    assert!(one.mean().unwrap() > one.p5().unwrap(), "{:?}", one.mean());
}

/// Returns the bucket of a time.
fn bucket(time: u64) -> u32 {
    let mut times = Times::default();
    times.add(time);
    *times.buckets.keys().next().unwrap()
}

#[test]
fn each_process_writes_its_own_profile() {
    if !has("gcc") || !has("g++") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "g++", "-std=c++11", "classes.cpp", CLASSES);
    execute(&folder, Some("p-%p-%p.json"));
    let mut counts = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let ids: Vec<&str> = name.split('-').skip(1).collect();
            assert!(ids.len() == 2 && ids[0] == ids[1] && ids[0].parse::<u32>().is_ok(), "{name}");
            let profile = Profile::read(&path).unwrap();
            let count = |sql| profile.queries[&Key::new("f", sql, 0)].count;
            counts.push((count("A"), count("B")));
        }
    }
    counts.sort_unstable();
    assert_eq!(counts, [(0, 1), (1, 1)], "of the child and the parent");
}
