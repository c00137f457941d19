//! Runs one program; the caller counts its instructions.

use std::process::ExitCode;

use gate::command::{Request, list, read};

fn main() -> ExitCode {
    let done = read().and_then(|request| match request {
        Request::List => {
            println!("{}", list());
            Ok(())
        }
        Request::Run(program, count) => (program.run)(count, &mut || ()),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("instructions: {reason}");
            ExitCode::FAILURE
        }
    }
}
