//! `duroxide-pg`: prints or applies the SQL that a schema needs.

mod args;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use duroxide_pg::{Migrations, PostgresError, PostgresProvider};

use crate::args::{Args, Command, USAGE};

const USAGE_ERROR: u8 = 2;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args_os().skip(1)) {
        Ok(args) => args,
        Err(wrong) => {
            eprintln!("{wrong}\n\n{USAGE}");
            return ExitCode::from(USAGE_ERROR);
        }
    };
    match perform(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn perform(args: Args) -> Result<(), Box<dyn Error>> {
    match args.command {
        Command::Help => print(USAGE),
        Command::Schema => print(&PostgresProvider::schema_sql(&args.schema)?),
        Command::Functions => print(&PostgresProvider::functions_sql(&args.schema)?),
        Command::Migrate { url } => {
            open(&url, &args.schema, Migrations::Run).await?;
            print(&up_to_date(&args.schema))
        }
        Command::Verify { url } => {
            open(&url, &args.schema, Migrations::Verify).await?;
            print(&up_to_date(&args.schema))
        }
    }
}

fn up_to_date(schema: &str) -> String {
    format!("schema '{schema}' is up to date\n")
}

/// Unlike `print!`, does not panic when the reader has gone, as `head` does.
fn print(text: &str) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| format!("the answer cannot be written: {error}").into())
}

async fn open(url: &str, schema: &str, migrations: Migrations) -> Result<(), PostgresError> {
    let builder = PostgresProvider::builder(url).with_schema(schema);
    drop(builder.with_migrations(migrations).open().await?);
    Ok(())
}
