//! The throw-away server on the command line: `install` finds or installs the server programs,
//! `serve` runs a server until its standard input closes.

use std::io::Read;
use std::process::ExitCode;

use duroxide_pg_server::{Server, Setup};

const USAGE: &str = "usage: duroxide-pg-server install | serve";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["install"] => install(),
        ["serve"] => serve(),
        _anything_else => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the folder of the server programs.
fn install() -> Result<(), String> {
    println!("{}", duroxide_pg_server::install()?.display());
    Ok(())
}

/// Prints the URL of a server whose commits wait for the disk.
fn serve() -> Result<(), String> {
    let server = Server::start(&Setup { durable: true, ..Setup::default() })?;
    println!("{}", server.url());
    // The end of the input and an error both mean that the caller is gone.
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
    Ok(())
}
