//! A tour of the command on a store with 10,000 instances of all kinds, on both stores.
//!
//! It runs the command `duroxide` as an operator would, while a node is live, and compares what it
//! prints with `tour.txt`. `DUROXIDE_WRITE_TOUR=1 cargo xtask tour` writes that file again.

mod code;
mod normal;
mod place;
mod stops;
mod tour;
mod world;

use place::Place;
use world::World;

// Each exports to the other, so that both need a server.
#[test]
fn from_sqlite_to_postgres() {
    stops::all(World::sqlite(), &Place::postgres());
}

#[test]
fn from_postgres_to_sqlite() {
    stops::all(World::postgres(), &Place::sqlite());
}
