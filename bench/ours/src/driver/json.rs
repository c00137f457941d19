//! Writes the figures as JSON.

use std::path::Path;

use serde::Serialize;

use super::figures::Figures;
use super::targets::Target;

#[derive(Serialize)]
struct Document<'a> {
    figures: &'a Figures,
    targets: &'a [Target],
}

/// Writes the file.
pub(crate) fn write(path: &Path, figures: &Figures, targets: &[Target]) -> Result<(), String> {
    let text = serde_json::to_string_pretty(&Document { figures, targets });
    let text = text.map_err(|error| error.to_string())?;
    let about = |error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(about)?;
    }
    std::fs::write(path, text).map_err(about)
}
