//! `cargo xtask test`: sets up what the tests need, then runs every test, short soaks, and short
//! runs of power cuts and kills.

use crate::step::{Step, announce};
use crate::{postgres, power, soak};

/// Property tests try the same cases each time, so that this command fails only through a change.
/// `cargo test` draws new ones.
const SAME_CASES: &[(&str, &str)] = &[("PROPTEST_RNG_SEED", "1")];

const EVERYTHING: Step<'static> =
    Step { name: "tests", cargo: &["test", "--workspace", "--all-features"], env: SAME_CASES };

/// All tests but those that connect to a PostgreSQL server: the integration tests of the
/// PostgreSQL provider, and tests of other crates whose path contains `postgres`.
const WITHOUT_POSTGRES: &[Step<'static>] = &[
    Step {
        name: "tests without PostgreSQL",
        cargo: &[
            "test",
            "--workspace",
            "--all-features",
            "--exclude",
            "duroxide-pg",
            "--",
            "--skip",
            "postgres",
        ],
        env: SAME_CASES,
    },
    Step {
        name: "unit tests of the PostgreSQL provider",
        cargo: &["test", "--package", "duroxide-pg", "--lib", "--bins"],
        env: SAME_CASES,
    },
    Step {
        name: "doc tests of the PostgreSQL provider",
        cargo: &["test", "--package", "duroxide-pg", "--doc"],
        env: SAME_CASES,
    },
];

/// Runs every test. Without PostgreSQL server programs or without a recorder it runs all other
/// tests and says so in its last lines, except on a CI machine, where that is an error.
pub(crate) fn run() -> Result<(), String> {
    if on_ci() {
        return run_everything();
    }
    let (postgres, recorder) = (set_up_postgres(), power::install_recorder());
    match &postgres {
        Ok(()) => with_postgres()?,
        Err(reason) => without_postgres(reason)?,
    }
    if recorder.is_ok() {
        power::short_on_sqlite()?;
    }
    if let Err(reason) = postgres {
        announce(&format!("NOT RUN: tests, soak and kills on PostgreSQL; {reason}"));
    }
    if let Err(reason) = recorder {
        announce(&format!("NOT RUN: power cuts and kill points; {reason}"));
    }
    Ok(())
}

/// Runs every test; anything that is missing is an error.
pub(crate) fn run_everything() -> Result<(), String> {
    set_up_postgres()?;
    power::install_recorder()?;
    with_postgres()?;
    power::short_on_sqlite()
}

fn with_postgres() -> Result<(), String> {
    EVERYTHING.run()?;
    on_unix(soak::short_on_sqlite)?;
    on_unix(soak::short_on_postgres)?;
    // The processes of a server are found as Linux lists them.
    if cfg!(target_os = "linux") { power::short_on_postgres() } else { Ok(()) }
}

fn without_postgres(reason: &str) -> Result<(), String> {
    announce(&format!("set-up: {reason}"));
    WITHOUT_POSTGRES.iter().try_for_each(Step::run)?;
    on_unix(soak::short_on_sqlite)
}

/// The soak pauses processes by signals.
fn on_unix(soak: fn() -> Result<(), String>) -> Result<(), String> {
    if cfg!(unix) { soak() } else { Ok(()) }
}

fn on_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// The tests start servers of their own from the programs that this finds or installs.
fn set_up_postgres() -> Result<(), String> {
    announce("set-up: PostgreSQL server programs, installed if they are missing");
    let folder = postgres::install()?;
    announce(&format!("set-up: PostgreSQL server programs in {folder}"));
    Ok(())
}
