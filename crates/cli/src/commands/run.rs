//! Runs the command that was asked for.

use super::{
    bulk, cancel, check_histories, completions, count, delete, edit, enqueue, executions, export,
    fork, history, import, kv, list, man, nodes, prune, queues, raise, reset, resume, retention,
    retry, show, start, stats, store, stranded, suspend, terminate, tree, wait, watch, why,
};
use crate::cli::{Cli, Command};
use crate::failure::Result;
use crate::session::Session;

/// Runs one command and closes what it opened.
pub(crate) async fn run(cli: Cli) -> Result<()> {
    let mut session = Session::new(cli.global);
    let outcome = dispatch(cli.command, &mut session).await;
    session.finish(outcome).await
}

async fn dispatch(command: Command, session: &mut Session) -> Result<()> {
    match command {
        Command::List(args) => list::run(args, session).await,
        Command::Count(args) => count::run(args, session).await,
        Command::Show(args) => show::run(args, session).await,
        Command::Why(args) => why::run(args, session).await,
        Command::History(args) => history::run(args, session).await,
        Command::Tree(args) => tree::run(args, session).await,
        Command::Executions(args) => executions::run(args, session).await,
        Command::Kv(args) => kv::run(args, session).await,
        Command::Watch(args) => watch::run(args, session).await,
        Command::Wait(args) => wait::run(args, session).await,
        Command::Start(args) => start::run(args, session).await,
        Command::Raise(args) => raise::run(args, session).await,
        Command::Enqueue(args) => enqueue::run(args, session).await,
        Command::Edit(args) => edit::run(args, session).await,
        Command::Cancel(args) => cancel::run(args, session).await,
        Command::Terminate(args) => terminate::run(args, session).await,
        Command::Suspend(args) => suspend::run(args, session).await,
        Command::Resume(args) => resume::run(args, session).await,
        Command::Retry(args) => retry::run(args, session).await,
        Command::Reset(args) => reset::run(args, session).await,
        Command::Fork(args) => fork::run(args, session).await,
        Command::Delete(args) => delete::run(args, session).await,
        Command::Prune(args) => prune::run(args, session).await,
        Command::Export(args) => export::run(args, session).await,
        Command::Import(args) => import::run(args, session).await,
        Command::Retention(args) => retention::run(args, session).await,
        Command::Bulk(command) => bulk::run(command, session).await,
        Command::Queues(args) => queues::run(args, session).await,
        Command::Nodes(args) => nodes::run(args, session).await,
        Command::Stranded(args) => stranded::run(args, session).await,
        Command::Stats(args) => stats::run(args, session).await,
        Command::Store(command) => store::run(command, session).await,
        Command::CheckHistories(args) => check_histories::run(args, session).await,
        Command::Completions(args) => completions::run(args, session),
        Command::Man(args) => man::run(args, session),
    }
}
