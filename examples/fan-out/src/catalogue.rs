//! The photos: a table with their pixels and, where they are made, their thumbnails.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duroxide::prelude::*;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

/// Pixels of one side of a photo; each is a byte.
const SIDE: usize = 32;
/// Pixels of a photo that become one of its thumbnail, on each side.
const SCALE: usize = 4;
/// Every photo with such a number is damaged, so that there is something to report.
const DAMAGED_EVERY: u32 = 1999;

/// Why a photo has no thumbnail.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum PhotoError {
    /// Its pixels are not those of a photo.
    #[error("damaged: {bytes} bytes instead of {}", SIDE * SIDE)]
    Damaged {
        /// How many pixels there are.
        bytes: usize,
    },
    /// The table cannot be used at the moment.
    #[error("catalogue: {0}")]
    Table(String),
}

impl Retryable for PhotoError {
    fn retry_hint(&self) -> RetryHint {
        match self {
            Self::Damaged { .. } => RetryHint::Never,
            Self::Table(_) => RetryHint::Policy,
        }
    }
}

impl From<rusqlite::Error> for PhotoError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Table(error.to_string())
    }
}

/// The table of photos.
#[derive(Debug)]
pub struct Catalogue {
    connection: Mutex<Connection>,
}

#[activity]
impl Catalogue {
    /// The numbers of the photos after this one, in their order.
    #[activity(name = "ListPhotos", retry(attempts = 8))]
    pub async fn list_photos(
        &self,
        _ctx: ActivityContext,
        after: u32,
        limit: u32,
    ) -> Result<Vec<u32>, PhotoError> {
        let connection = self.connection();
        let list = "SELECT number FROM photos WHERE number > ?1 ORDER BY number LIMIT ?2";
        let mut list = connection.prepare_cached(list)?;
        let numbers = list.query_map((after, limit), |row| row.get(0))?;
        Ok(numbers.collect::<Result<_, _>>()?)
    }

    /// Makes the thumbnail of a photo. A second run makes the same one, so a crash does no harm.
    #[activity(name = "Shrink", retry(attempts = 8))]
    pub async fn shrink(&self, _ctx: ActivityContext, photo: u32) -> Result<(), PhotoError> {
        let connection = self.connection();
        let read = "SELECT pixels FROM photos WHERE number = ?1";
        let pixels: Vec<u8> =
            connection.prepare_cached(read)?.query_row([photo], |row| row.get(0))?;
        let thumbnail = shrunk(&pixels)?;
        let write = "UPDATE photos SET thumbnail = ?2, runs = runs + 1 WHERE number = ?1";
        connection.prepare_cached(write)?.execute((photo, thumbnail))?;
        Ok(())
    }
}

impl Catalogue {
    /// Opens the table, and draws photos until there are this many.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub fn open(path: &Path, photos: u32) -> rusqlite::Result<Self> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        // A thumbnail that a power failure takes away is made again: its step is not recorded yet,
        // or the photo is shrunk once more.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = NORMAL;
             CREATE TABLE IF NOT EXISTS photos (
                 number INTEGER PRIMARY KEY,
                 pixels BLOB NOT NULL,
                 thumbnail BLOB,
                 runs INTEGER NOT NULL DEFAULT 0
             );",
        )?;
        let transaction = connection.transaction()?;
        for number in 1..=photos {
            let draw = "INSERT OR IGNORE INTO photos (number, pixels) VALUES (?1, ?2)";
            transaction.prepare_cached(draw)?.execute((number, drawn(number)))?;
        }
        transaction.commit()?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// How many thumbnails there are, and how often one was made.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn count_thumbnails(&self) -> rusqlite::Result<(u32, u32)> {
        let count = "SELECT count(thumbnail), coalesce(sum(runs), 0) FROM photos";
        self.connection().query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    // Held for some microseconds, so that an activity need not leave its thread.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each pixel of a thumbnail is the mean of a square of the photo.
fn shrunk(pixels: &[u8]) -> Result<Vec<u8>, PhotoError> {
    if pixels.len() != SIDE * SIDE {
        return Err(PhotoError::Damaged { bytes: pixels.len() });
    }
    let mean = |row: usize, column: usize| {
        let square = (0..SCALE * SCALE).map(|at| (row + at / SCALE) * SIDE + column + at % SCALE);
        let sum: usize = square.map(|at| usize::from(pixels[at])).sum();
        u8::try_from(sum / (SCALE * SCALE)).unwrap_or(u8::MAX)
    };
    let rows = (0..SIDE).step_by(SCALE);
    Ok(rows.flat_map(|row| (0..SIDE).step_by(SCALE).map(move |column| mean(row, column))).collect())
}

/// Stripes that differ from photo to photo.
fn drawn(number: u32) -> Vec<u8> {
    let bytes = if number.is_multiple_of(DAMAGED_EVERY) { SIDE } else { SIDE * SIDE };
    (0..bytes).map(|at| u8::try_from((at * number as usize) % 251).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbnail_has_the_mean_of_each_square() {
        let mut pixels = vec![0; SIDE * SIDE];
        pixels[..SCALE].fill(160);
        let thumbnail = shrunk(&pixels).unwrap();
        assert_eq!(thumbnail.len(), (SIDE / SCALE) * (SIDE / SCALE));
        assert_eq!((thumbnail[0], thumbnail[1]), (40, 0));
    }

    #[test]
    fn a_damaged_photo_is_not_worth_another_attempt() {
        let error = shrunk(&[1, 2, 3]).unwrap_err();
        assert_eq!(error, PhotoError::Damaged { bytes: 3 });
        assert_eq!(error.retry_hint(), RetryHint::Never);
    }
}
