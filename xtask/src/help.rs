//! `cargo xtask help`: says what there is.

const TEXT: &str = "\
cargo xtask <command>

  test               set up what the tests need, then run all of them, doc tests included
  tidy               check sizes, shapes, words and layers of the source
  ci                 format, lints, documentation, tidy, gate, tests: everything that must pass
  stress [seconds]   put the bundled stores under load and print what they carry
  soak [--minutes N] [--store URL]
                     run workflows while their worker processes are killed and paused;
                     '--store postgres' starts a throw-away server
  bench [options]    measure this project and its peers side by side; --help lists the options
  gate [--bless]     count instructions and allocations of the hot paths against stored figures
  conformance-teeth  show which validation catches which violation of the contract
  help               this text";

/// Prints the list of commands.
pub(crate) fn run() -> Result<(), String> {
    println!("{TEXT}");
    Ok(())
}
