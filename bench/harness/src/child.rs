//! The program that runs one workload once: `run --engine E --workload W --size N`.

use std::path::{Path, PathBuf};

use tokio::runtime::Builder;

use crate::options::Options;
use crate::prefixed::Prefixed;
use crate::{Case, Opener, Sample, Workload, workloads};

/// Longest wait for the threads of an engine when the program exits.
const SHUTDOWN_MAX: std::time::Duration = std::time::Duration::from_secs(5);

/// One run, as the command line describes it.
#[derive(Debug)]
pub struct Run {
    /// Name of the engine.
    pub engine: String,
    /// The workload and its size.
    pub case: Case,
    /// Folder of an existing store; `None` creates a new store.
    pub folder: Option<PathBuf>,
    /// Prefix of all instance ids.
    pub prefix: Option<String>,
}

impl Run {
    /// Reads the arguments after `run`.
    ///
    /// # Errors
    /// When an argument is unknown, missing or malformed.
    pub fn read(arguments: Vec<String>) -> Result<Self, String> {
        let mut options = Options::new(arguments);
        let engine = options.required("--engine")?;
        let workload = Workload::named(&options.required("--workload")?)?;
        let size = options.number("--size")?.ok_or("--size is missing")?;
        let folder = options.value("--folder")?.map(PathBuf::from);
        let prefix = options.value("--prefix")?;
        options.done()?;
        Ok(Self { engine, case: Case { workload, size }, folder, prefix })
    }

    /// Runs it on one of these engines.
    ///
    /// # Errors
    /// When the engine is unknown, does not support the workload, or fails to start.
    pub fn sample(&self, openers: &[&dyn Opener]) -> Result<Sample, String> {
        let found = openers.iter().find(|opener| opener.name() == self.engine);
        let opener = *found.ok_or_else(|| format!("no engine {}", self.engine))?;
        if !opener.supports(&self.case.workload.job(self.case.size)) {
            return Err(format!("{} does not support {}", self.engine, self.case.workload.name()));
        }
        match &self.prefix {
            None => self.in_folder(opener),
            Some(prefix) => self.in_folder(&Prefixed { opener, prefix: prefix.clone() }),
        }
    }

    fn in_folder(&self, opener: &dyn Opener) -> Result<Sample, String> {
        if let Some(folder) = &self.folder {
            return self.once(opener, folder);
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        self.once(opener, folder.path())
    }

    fn once(&self, opener: &dyn Opener, folder: &Path) -> Result<Sample, String> {
        block_on(workloads::prepare(opener, folder, self.case))??;
        block_on(workloads::run(opener, folder, self.case))?
    }
}

// Shutting the runtime down also cancels the tasks that an engine leaves behind.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let output = runtime.block_on(future);
    runtime.shutdown_timeout(SHUTDOWN_MAX);
    Ok(output)
}

/// The sample as one line.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn line(sample: &Sample) -> Result<String, String> {
    serde_json::to_string(sample).map_err(|error| error.to_string())
}
