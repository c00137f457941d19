//! How many rounds each row gets: a busy machine runs fewer rounds instead of longer.

use std::time::Duration;

use super::plan::Row;
use super::stores::Store;

/// Time for the rounds of a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Rounds that the user requested; they have no time limit.
    rounds: Option<usize>,
    time: Duration,
}

impl Budget {
    /// The budget of a store.
    pub(crate) fn of(store: Store, quick: bool, rounds: Option<usize>) -> Self {
        let seconds = match (store, quick) {
            (Store::Sqlite, false) => 570,
            (Store::Postgres, false) => 200,
            (Store::Sqlite | Store::Postgres, true) => 140,
        };
        Self { rounds, time: Duration::from_secs(seconds) }
    }

    /// Runs rounds while time is left: first one of each row, then the others of the main rows in
    /// turn, then the rest. `run` returns the duration of a round. Returns the rows without any
    /// round.
    pub(crate) fn spend(
        self,
        rows: &[&'static Row],
        mut run: impl FnMut(&Row, usize) -> Duration,
    ) -> Vec<&'static str> {
        let mut left = self.time;
        // The duration of the last round of each row estimates the next one.
        let mut last = vec![Duration::ZERO; rows.len()];
        let mut left_out = Vec::new();
        for (at, round) in self.order(rows) {
            let late = left.is_zero() || last[at] > left;
            if late && self.rounds.is_none() {
                left_out.extend((round == 0).then_some(rows[at].name));
                continue;
            }
            last[at] = run(rows[at], round);
            left = left.saturating_sub(last[at]);
        }
        left_out
    }

    // Pairs of row and round in the order of execution.
    fn order(self, rows: &[&Row]) -> Vec<(usize, usize)> {
        let rounds = |(at, row)| (0..self.rounds_of(row)).map(move |round| (at, round));
        let mut order: Vec<_> = rows.iter().copied().enumerate().flat_map(rounds).collect();
        order.sort_by_key(|(at, round)| (*round > 0, !rows[*at].is_main(), *round));
        order
    }

    fn rounds_of(self, row: &Row) -> usize {
        self.rounds.unwrap_or(row.rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::ROWS;
    use super::*;

    const QUICK: u64 = 140;

    // Every round takes `seconds`. Returns the total, the rounds of each row and the rows left out.
    fn spent(seconds: u64, rounds: Option<usize>) -> (u64, Vec<usize>, usize) {
        let rows: Vec<&Row> = ROWS.iter().filter(|row| row.quick.is_some()).collect();
        let mut runs = Vec::new();
        let left_out = Budget::of(Store::Sqlite, true, rounds).spend(&rows, |row, _round| {
            runs.push(row.name);
            Duration::from_secs(seconds)
        });
        let count = |row: &&Row| runs.iter().filter(|name| **name == row.name).count();
        (seconds * runs.len() as u64, rows.iter().map(count).collect(), left_out.len())
    }

    #[test]
    fn an_idle_machine_runs_every_round() {
        assert_eq!(spent(1, None), (29, vec![5, 5, 5, 5, 3, 5, 1], 0));
    }

    #[test]
    fn a_busy_machine_runs_fewer_rounds_and_prefers_the_main_rows() {
        // small-50, latency, chain-100, chain-1000, chain-10000, fan-out-1000, idle-0
        let (all, rounds, left_out) = spent(11, None);
        assert!(all <= QUICK, "{all}");
        assert_eq!((rounds, left_out), (vec![3, 2, 1, 2, 1, 2, 1], 0));
    }

    #[test]
    fn rows_without_time_are_left_out() {
        // The duration of a row is unknown before its first round.
        let (all, rounds, left_out) = spent(50, None);
        assert!(all <= QUICK + 50, "{all}");
        assert_eq!((rounds.iter().sum::<usize>(), left_out), (3, 4));
    }

    #[test]
    fn requested_rounds_always_run() {
        assert_eq!(spent(100, Some(2)), (1400, vec![2; 7], 0));
    }
}
