//! The attributes belong on functions.

use duroxide::prelude::*;

#[orchestration]
struct Buy;

#[activity]
const CHARGE: u64 = 7;

fn main() {}
