//! Inputs that are kept.

use std::path::{Path, PathBuf};

use crate::target::Target;

fn folder(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

/// The inputs of a target, those of its folder first, in the order of their names.
pub(crate) fn inputs(target: &Target) -> Result<Vec<Vec<u8>>, String> {
    let mut files = Vec::new();
    let folder = folder(target);
    if folder.exists() {
        for entry in std::fs::read_dir(&folder).map_err(|error| report(&folder, &error))? {
            files.push(entry.map_err(|error| report(&folder, &error))?.path());
        }
    }
    files.sort();
    let mut inputs = Vec::new();
    for file in files {
        inputs.push(std::fs::read(&file).map_err(|error| report(&file, &error))?);
    }
    inputs.extend((target.seeds)());
    Ok(inputs)
}

/// Keeps an input in the folder of its target, and returns its file.
///
/// # Errors
/// When the file cannot be written.
pub fn keep(target: &Target, name: &str, input: &[u8]) -> Result<PathBuf, String> {
    let folder = folder(target);
    std::fs::create_dir_all(&folder).map_err(|error| report(&folder, &error))?;
    let file = folder.join(name);
    std::fs::write(&file, input).map_err(|error| report(&file, &error))?;
    Ok(file)
}

fn report(place: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", place.display())
}
