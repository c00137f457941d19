//! `cargo xtask linking`: the crates resolve and build beside libraries that other programs use.
//!
//! A program links one SQLite, and whichever library names it fixes its version. So the SQLite
//! provider accepts a range of `rusqlite`: its upper end is what the workspace builds with; here it
//! is built with the lower end, and resolved beside each release of `sqlx` that is in use.

use std::fs;
use std::path::Path;

use crate::step::{Step, announce, root};

/// Where the small packages are written. Nothing of it is committed.
const FOLDER: &str = "target/linking";

/// A program that uses Duroxide and something else.
struct Program {
    name: &'static str,
    /// Lines of its dependencies.
    beside: &'static [&'static str],
    /// Whether it is also built; otherwise only resolved.
    builds: bool,
}

const PROGRAMS: &[Program] = &[
    Program { name: "lowest-rusqlite", beside: &[r#"rusqlite = "=0.32.1""#], builds: true },
    Program {
        name: "sqlx-0-8",
        beside: &[r#"sqlx = { version = "0.8", features = ["runtime-tokio", "sqlite"] }"#],
        builds: false,
    },
    Program {
        name: "newest-sqlx",
        beside: &[r#"sqlx = { version = ">=0.9", features = ["runtime-tokio", "sqlite"] }"#],
        builds: false,
    },
    // The choice of the crypto provider is the program's: it may link another one beside.
    Program {
        name: "other-tls",
        beside: &[
            r#"rustls = { version = "0.23", default-features = false, features = ["aws_lc_rs"] }"#,
            r#"metrics = "0.24""#,
            r#"tokio-postgres = "0.7""#,
        ],
        builds: false,
    },
];

/// Resolves and builds each program.
pub(crate) fn run() -> Result<(), String> {
    for program in PROGRAMS {
        let folder = root().join(FOLDER).join(program.name);
        write(program, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let manifest = folder.join("Cargo.toml").display().to_string();
        let name = format!("linking: {}", program.name);
        let resolve = ["generate-lockfile", "--manifest-path", &manifest];
        Step { name: &name, cargo: &resolve, env: &[] }.run()?;
        if program.builds {
            let target = root().join(FOLDER).join("target").display().to_string();
            let check = ["check", "--manifest-path", &manifest, "--target-dir", &target];
            Step { name: &name, cargo: &check, env: &[] }.run()?;
        }
    }
    announce(&format!("linking: {} programs resolve", PROGRAMS.len()));
    Ok(())
}

fn write(program: &Program, folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    let facade = root().join("crates/duroxide");
    let manifest = format!(
        "[workspace]\n\n[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         publish = false\n\n[dependencies]\n\
         duroxide = {{ path = '{}', features = [\"postgres\"] }}\n{}\n",
        program.name,
        facade.display(),
        program.beside.join("\n")
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let main = "use duroxide::providers::sqlite::SqliteProvider;\n\n\
                fn main() {\n    let _ = SqliteProvider::builder(\"a\");\n}\n";
    fs::write(folder.join("src/main.rs"), main)
}
