//! The positions of the subscriptions of a lane.
//!
//! A position is the number of subscriptions before it that count. A Fenwick tree finds positions
//! and removes subscriptions in logarithmic time, however many wait.

/// Subscriptions in the order in which they were recorded, by *place*.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// Places that were forgotten.
    forgotten: usize,
    /// How many of the forgotten ones count.
    base: usize,
    /// Id, and whether it counts, of each place that is not forgotten.
    entries: Vec<(u64, bool)>,
    /// At index `n - 1`: how many count among the last `n & -n` of the first `n` entries.
    sums: Vec<usize>,
    /// How many count, forgotten ones included.
    counting: usize,
}

/// Fewer places are not worth a rebuild.
const FORGOTTEN_AT_ONCE_MIN: usize = 64;

impl Positions {
    /// The number of subscriptions that count.
    pub(super) fn len(&self) -> usize {
        self.counting
    }

    /// Adds a subscription and returns its place.
    pub(super) fn push(&mut self, id: u64) -> usize {
        self.append(id, true);
        self.counting += 1;
        self.forgotten + self.entries.len() - 1
    }

    fn append(&mut self, id: u64, counts: bool) {
        let n = self.entries.len() + 1;
        let mut sum = usize::from(counts);
        let mut part = n - 1;
        while part > n - lowest_bit(n) {
            sum += self.sums[part - 1];
            part -= lowest_bit(part);
        }
        self.entries.push((id, counts));
        self.sums.push(sum);
    }

    /// The position of the subscription at a place.
    pub(super) fn position(&self, place: usize) -> usize {
        let mut sum = self.base;
        let mut n = place.saturating_sub(self.forgotten).min(self.entries.len());
        while n > 0 {
            sum += self.sums[n - 1];
            n -= lowest_bit(n);
        }
        sum
    }

    /// The subscription at a position; `None` if it was forgotten or does not exist.
    pub(super) fn id_at(&self, position: usize) -> Option<u64> {
        let mut left = position.checked_sub(self.base)?;
        let mut n = 0;
        let mut step = self.entries.len().checked_ilog2().map_or(0, |bits| 1 << bits);
        while step > 0 {
            if let Some(sum) = self.sums.get(n + step - 1).filter(|sum| **sum <= left) {
                left -= sum;
                n += step;
            }
            step /= 2;
        }
        self.entries.get(n).map(|(id, _)| *id)
    }

    /// Removes the subscription at a place: later ones move up.
    pub(super) fn remove(&mut self, place: usize) {
        let Some(index) = place.checked_sub(self.forgotten) else { return };
        let Some((_, counts)) = self.entries.get_mut(index) else { return };
        if !std::mem::replace(counts, false) {
            return;
        }
        self.counting -= 1;
        let mut n = index + 1;
        while n <= self.entries.len() {
            self.sums[n - 1] -= 1;
            n += lowest_bit(n);
        }
    }

    /// Forgets the places before `place`, or all: nothing asks for them again. Their number is
    /// worth the rebuild of the others.
    pub(super) fn forget_before(&mut self, place: Option<usize>) {
        let count = place.map_or(self.entries.len(), |place| place - self.forgotten);
        if count < FORGOTTEN_AT_ONCE_MIN.max(self.entries.len() - count) {
            return;
        }
        self.base = self.position(self.forgotten + count);
        self.forgotten += count;
        let kept = self.entries.split_off(count);
        self.entries.clear();
        self.sums.clear();
        for (id, counts) in kept {
            self.append(id, counts);
        }
    }
}

fn lowest_bit(n: usize) -> usize {
    n & n.wrapping_neg()
}
