//! Changes that know nothing of the form of an input.

use super::{NUMBERS, WORDS};
use crate::Rng;

/// Most bytes that one change repeats.
const REPEATED_BYTES_MAX: usize = 4096;

pub(super) fn change(rng: &mut Rng, input: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut output = input.to_vec();
    let at = rng.below(output.len() + 1);
    match rng.below(9) {
        0 => flip(rng, &mut output),
        1 => drop(output.splice(at..at, random(rng))),
        2 => drop(output.splice(at..at, rng.pick(WORDS).bytes())),
        3 => drop(output.splice(at..at, rng.pick(NUMBERS).bytes())),
        4 => output.truncate(at),
        5 => {
            let part = part(rng, &output);
            drop(output.drain(part));
        }
        6 => {
            let part = part(rng, &output);
            let copied = output[part].to_vec();
            output.splice(at..at, copied);
        }
        7 => {
            let times = rng.below(REPEATED_BYTES_MAX);
            let byte = output.get(at).copied().unwrap_or(b'[');
            output.splice(at..at, std::iter::repeat_n(byte, times));
        }
        _ => splice(rng, &mut output, others),
    }
    output
}

fn flip(rng: &mut Rng, output: &mut [u8]) {
    if output.is_empty() {
        return;
    }
    let at = rng.below(output.len());
    output[at] ^= 1 << rng.below(8);
}

fn random(rng: &mut Rng) -> Vec<u8> {
    (0..=rng.below(8)).map(|_| rng.number().to_le_bytes()[0]).collect()
}

/// A range of an input, short ones more often.
pub(super) fn part(rng: &mut Rng, input: &[u8]) -> std::ops::Range<usize> {
    let start = rng.below(input.len() + 1);
    let most = if rng.one_in(4) { input.len() } else { 16 };
    let length = rng.below(most.min(input.len() - start) + 1);
    start..start + length
}

fn splice(rng: &mut Rng, output: &mut Vec<u8>, others: &[Vec<u8>]) {
    if others.is_empty() {
        return;
    }
    let other = rng.pick(others);
    let taken = other[part(rng, other)].to_vec();
    let place = part(rng, output);
    output.splice(place, taken);
}
