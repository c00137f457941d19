//! Formats the figures as Markdown tables.

use super::figures::{Cell, Figures, Growth};
use super::plan::{ROWS, STORE_ROWS};
use super::rounds::COUNTING;
use super::stores::Store;

/// One column for each engine on each store, for the rows that all stores have.
pub(crate) fn columns(figures: &Figures) -> String {
    let engines = compared(figures);
    let titles: Vec<String> = engines.iter().map(|engine| format!(" {engine} |")).collect();
    let mut text = format!("| workload | unit |{}\n", titles.concat());
    text.push_str(&format!("|---|---|{}\n", "---|".repeat(engines.len())));
    for row in ROWS.iter().filter(|row| STORE_ROWS.contains(&row.name)) {
        let Some(first) = figures.cells.iter().find(|cell| cell.row == row.name) else { continue };
        text.push_str(&format!("| {} | {} |", row.name, first.unit().0));
        for engine in &engines {
            let median = figures.cell(row.name, engine).map(|cell| readable(cell.headline()));
            text.push_str(&format!(" {} |", median.unwrap_or_default()));
        }
        text.push('\n');
    }
    text
}

// The engine that counts statements is not compared.
fn compared(figures: &Figures) -> Vec<&str> {
    let mut engines: Vec<&str> = Vec::new();
    for cell in &figures.cells {
        let is_column = STORE_ROWS.contains(&cell.row.as_str()) && cell.engine != COUNTING;
        if is_column && !engines.contains(&cell.engine.as_str()) {
            engines.push(&cell.engine);
        }
    }
    engines
}

/// One line for each row and engine, with the ratio of ours to it.
pub(crate) fn rows(figures: &Figures) -> String {
    let mut text = String::from(
        "| workload | engine | size | rounds | median | spread | ours is | failed |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in ROWS {
        for cell in figures.cells.iter().filter(|cell| cell.row == row.name) {
            text.push_str(&line(figures, cell));
        }
    }
    text
}

fn line(figures: &Figures, cell: &Cell) -> String {
    let (unit, _) = cell.unit();
    format!(
        "| {} | {} | {} | {} | {} {unit} | {:.0} % | {} | {} |\n",
        cell.row,
        cell.engine,
        cell.samples[0].size,
        cell.samples.len(),
        readable(cell.headline()),
        cell.spread() * 100.0,
        comparison(figures, cell),
        cell.failed(),
    )
}

// How many times better ours is than this engine; a share for the floor.
fn comparison(figures: &Figures, cell: &Cell) -> String {
    let store = Store::of(&cell.engine);
    let Some(ours) = figures.cell(&cell.row, store.ours()) else { return String::new() };
    if cell.engine == store.ours() || cell.headline() == 0.0 || ours.headline() == 0.0 {
        return String::new();
    }
    let (_, more_is_better) = cell.unit();
    let ratio = ours.headline() / cell.headline();
    if cell.engine == store.floor() {
        return format!("{:.0} % of it", ratio * 100.0);
    }
    format!("{}×", readable(if more_is_better { ratio } else { 1.0 / ratio }))
}

/// Figures that the main table leaves out.
pub(crate) fn details(figures: &Figures) -> String {
    let mut text = String::from("| workload | engine | figure | value |\n|---|---|---|---|\n");
    for row in ROWS {
        for cell in figures.cells.iter().filter(|cell| cell.row == row.name) {
            let Some(first) = cell.samples.first() else { continue };
            for name in first.figures.keys() {
                let value = readable(cell.figure(name).unwrap_or(0.0));
                text.push_str(&format!("| {} | {} | {name} | {value} |\n", cell.row, cell.engine));
            }
            let per_unit = per_unit(cell, |sample| sample.cpu_seconds * 1e6);
            let (row, engine) = (&cell.row, &cell.engine);
            text.push_str(&format!("| {row} | {engine} | cpu_us_per_unit | {per_unit} |\n"));
        }
    }
    text
}

fn per_unit(cell: &Cell, of: impl Fn(&bench_harness::Sample) -> f64) -> String {
    let values: Vec<f64> =
        cell.samples.iter().map(|sample| of(sample) / sample.count.max(1) as f64).collect();
    readable(bench_harness::stats::median(&values))
}

/// Growth with its fit.
pub(crate) fn growth(figures: &Figures) -> String {
    let mut text = String::from(
        "| cost against | store | points (count: ms) | exponent |\n|---|---|---|---|\n",
    );
    for Growth { against, store, points, exponent } in &figures.growth {
        let points: Vec<String> =
            points.iter().map(|(count, cost)| format!("{count}: {}", readable(*cost))).collect();
        text.push_str(&format!(
            "| {against} | {} | {} | {exponent:.3} |\n",
            store.title(),
            points.join(", ")
        ));
    }
    text
}

/// Three significant digits.
pub(crate) fn readable(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
