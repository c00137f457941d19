//! The figures as tables in Markdown.

use super::figures::{Cell, Figures, Growth};
use super::plan::ROWS;

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
    let Some(ours) = figures.cell(&cell.row, figures.ours) else { return String::new() };
    if cell.engine == figures.ours || cell.headline() == 0.0 || ours.headline() == 0.0 {
        return String::new();
    }
    let (_, more_is_better) = cell.unit();
    let ratio = ours.headline() / cell.headline();
    if cell.engine == figures.floor {
        return format!("{:.0} % of it", ratio * 100.0);
    }
    format!("{}×", readable(if more_is_better { ratio } else { 1.0 / ratio }))
}

/// Further figures that the main table has no room for.
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
    let mut text =
        String::from("| cost against | points (count: ms) | exponent |\n|---|---|---|\n");
    for Growth { against, points, exponent } in &figures.growth {
        let points: Vec<String> =
            points.iter().map(|(count, cost)| format!("{count}: {}", readable(*cost))).collect();
        text.push_str(&format!("| {against} | {} | {exponent:.3} |\n", points.join(", ")));
    }
    text
}

/// Three digits that matter.
pub(crate) fn readable(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
