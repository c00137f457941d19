//! `cargo xtask help`: lists the commands.

const TEXT: &str = "\
cargo xtask <command>

  test               set up what the tests need, then run every test, doc test and short soaks
  tidy               check sizes, shapes, words and layers of the source
  deps               check licences, sources, duplicates and Rust version of the dependencies
  package            pack the published crates, then build and doc-test the unpacked archives;
                     then check the project template
  template           make a project from the template, and lint and test it
  linking            resolve and build beside sqlx and with the oldest rusqlite
  ci                 everything that must pass before a change is merged, step by step
  tour               run the command `duroxide` on 10,000 instances and compare its output
  stress [seconds]   put the bundled stores under load and print their throughput
  soak [--minutes N] [--store URL]
                     run workflows while their worker processes are killed and paused;
                     '--store postgres' starts a throw-away server
  power [--cuts N] [--kill-points] [--store postgres --kills N]
                     cut the power of a recorded SQLite node at random moments; kill a node at
                     each of its file calls; kill a PostgreSQL server under load
  fuzz --seconds N [--first-seed S] [--target NAME] [--seed S] [--grow]
                     read changed inputs, and work beside changed rows of both stores
  hostile            every error, cut and delay of PostgreSQL at every request of a workflow's life
  bench [options]    measure this project and its peers side by side; --help lists the options
  gate [--bless]     compare instructions and allocations of the hot paths with stored figures
  conformance-teeth  show which validation catches which violation of the contract
  help               print this text";

/// Prints the list of commands.
pub(crate) fn run() -> Result<(), String> {
    println!("{TEXT}");
    Ok(())
}
