//! The command line. Each command has a file of its own under `commands`.

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    bulk, cancel, check_histories, completions, count, delete, edit, enqueue, executions, export,
    fork, history, import, kv, list, man, nodes, prune, queues, raise, reset, resume, retention,
    retry, show, start, stats, store, stranded, suspend, terminate, tree, wait, watch, why,
};
use crate::exit;
use crate::output::Format;

/// Find, explain and mend the instances of a Duroxide store
///
/// Works on a store that running nodes use. It never creates or migrates a store, unless that is
/// asked for with `duroxide store migrate`.
#[derive(Debug, Parser)]
#[command(
    name = "duroxide",
    version,
    max_term_width = 100,
    after_help = exit::HELP,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Clone, Args)]
#[command(next_help_heading = "Store and output")]
pub(crate) struct Global {
    /// The store: sqlite:FILE or postgres://USER@HOST/DATABASE; otherwise DUROXIDE_STORE names it
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// The schema of a PostgreSQL database
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) schema: Option<String>,
    /// How data is written
    #[arg(long, short, global = true, value_enum, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: Format,
    /// Refuse everything that would change the store
    #[arg(long, global = true)]
    pub(crate) read_only: bool,
}

impl std::fmt::Debug for Global {
    /// Without the store, whose URL may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Global").field("output", &self.output).finish_non_exhaustive()
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::ListArgs),
    Count(count::CountArgs),
    Show(show::ShowArgs),
    Why(why::WhyArgs),
    History(history::HistoryArgs),
    Tree(tree::TreeArgs),
    Executions(executions::ExecutionsArgs),
    Kv(kv::KvArgs),
    Watch(watch::WatchArgs),
    Wait(wait::WaitArgs),
    Start(start::StartArgs),
    Raise(raise::RaiseArgs),
    Enqueue(enqueue::EnqueueArgs),
    Edit(edit::EditArgs),
    Cancel(cancel::CancelArgs),
    Terminate(terminate::TerminateArgs),
    Suspend(suspend::SuspendArgs),
    Resume(resume::ResumeArgs),
    Retry(retry::RetryArgs),
    Reset(reset::ResetArgs),
    Fork(fork::ForkArgs),
    Delete(delete::DeleteArgs),
    Prune(prune::PruneArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Retention(retention::RetentionArgs),
    #[command(subcommand)]
    Bulk(bulk::BulkCommand),
    Queues(queues::QueuesArgs),
    Nodes(nodes::NodesArgs),
    Stranded(stranded::StrandedArgs),
    Stats(stats::StatsArgs),
    #[command(subcommand)]
    Store(store::StoreCommand),
    CheckHistories(check_histories::CheckHistoriesArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}
