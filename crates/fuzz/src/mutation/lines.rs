//! Changes of files that have one value in each line.

use super::{bytes, json};
use crate::Rng;

pub(super) fn change(rng: &mut Rng, input: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, other) = (rng.below(lines.len()), rng.below(lines.len()));
    match rng.below(7) {
        0 => lines.swap(one, other),
        1 => drop(lines.remove(one)),
        2 => lines.insert(other, lines[one].clone()),
        3 => lines.truncate(one + 1),
        4 => lines[one] = bytes::change(rng, &lines[one], &[]),
        _ => {
            if let Some(changed) = json::change(rng, &lines[one]) {
                lines[one] = changed;
            }
        }
    }
    lines.join(&b'\n')
}
