//! What several targets use.

/// The lines of a text as inputs of their own.
pub(super) fn lines(text: &str) -> Vec<Vec<u8>> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.as_bytes().to_vec())
        .collect()
}

/// Runs a future of a store that never waits for anything.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(built.map_err(|error| error.to_string())?.block_on(future))
}
