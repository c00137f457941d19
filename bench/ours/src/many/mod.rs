//! Very many instances: how long queries over them take, and how long it takes to delete them.

mod cases;
mod command;
mod command_line;
mod copies;
mod copies_postgres;
mod copies_sqlite;
mod pages;
mod population;
mod retention;
#[cfg(test)]
mod tests;

pub(crate) use command::main;
