//! The program itself: killed in the middle of its work, and run again.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use example_fan_out::Catalogue;

const PHOTOS: u32 = 2500;
/// As many photos as are in work at once.
const AT_ONCE: u32 = 32;

fn spawn(folder: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_example-fan-out"))
        .arg(folder)
        .arg(PHOTOS.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The number in a line of progress such as `500 done, 0 failed`.
fn done(line: &str) -> Option<u32> {
    line.strip_suffix(" failed")?.split_once(" done, ")?.0.parse().ok()
}

#[test]
fn a_killed_program_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos.db");
    drop(Catalogue::open(&photos, PHOTOS).unwrap());
    // The third page cannot be completed: the program attempts this photo again for some seconds.
    let table = rusqlite::Connection::open(&photos).unwrap();
    let hold = "CREATE TRIGGER hold BEFORE UPDATE ON photos WHEN new.number = 1200
                BEGIN SELECT RAISE(ABORT, 'held'); END";
    table.execute_batch(hold).unwrap();
    let mut killed = spawn(folder.path());
    let lines = BufReader::new(killed.stdout.take().unwrap()).lines().map(Result::unwrap);
    let before = lines.filter_map(|line| done(&line)).find(|done| *done == 1000);
    // SIGKILL, in the middle of the third page.
    killed.kill().unwrap();
    assert_eq!(killed.wait().unwrap().code(), None);
    let before = before.expect("the program reports its progress");
    table.execute_batch("DROP TRIGGER hold").unwrap();

    let second = spawn(folder.path()).wait_with_output().unwrap();
    assert!(second.status.success());
    let printed = String::from_utf8(second.stdout).unwrap();
    let after = printed.lines().find_map(done).expect("there is something left to do");
    assert!(after >= before, "{after} done after {before} were");
    assert!(printed.contains("\nphoto 1999: damaged: 32 bytes instead of 1024\n"), "{printed}");
    assert!(printed.contains("\n2499 done, 1 failed in "), "{printed}");

    let catalogue = Catalogue::open(&photos, PHOTOS).unwrap();
    let (thumbnails, runs) = catalogue.count_thumbnails().unwrap();
    assert_eq!(thumbnails, PHOTOS - 1);
    assert!(runs - thumbnails <= AT_ONCE, "{runs} runs for {thumbnails} thumbnails");
}
