//! Changes of whole inputs.

use super::{bytes, json, lines};
use crate::Rng;

/// Most bytes of an input: more only costs time. Bounds of the product are tested elsewhere.
const INPUT_BYTES_MAX: usize = 256 * 1024;

/// Most changes of one input.
const CHANGES_MAX: usize = 6;

/// Changes an input; parts of the others may come in.
pub fn mutate(rng: &mut Rng, input: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut output = input.to_vec();
    for _ in 0..=rng.below(CHANGES_MAX) {
        output = match rng.below(4) {
            0 => bytes::change(rng, &output, others),
            1 => lines::change(rng, &output),
            // A text that is not JSON has its bytes changed.
            _ => json::change(rng, &output).unwrap_or_else(|| bytes::change(rng, &output, others)),
        };
        output.truncate(INPUT_BYTES_MAX);
    }
    output
}

/// Changes a text; what is no text afterwards is replaced where it is wrong.
pub fn mutate_text(rng: &mut Rng, input: &str) -> String {
    String::from_utf8_lossy(&mutate(rng, input.as_bytes(), &[])).into_owned()
}
