//! Thumbnails of 50,000 photos: a bounded fan-out in pages.
//!
//! - [`shrink_all()`] reads the list of photos in pages and starts a child for each page.
//! - [`shrink_page()`] shrinks the photos of a page, a fixed number at a time.
//!
//! A page is the unit of history: the child records its photos, the parent records one line for the
//! page and continues as new after some pages. So neither history grows with the number of photos,
//! and after a crash only the photos that were in work run again.

mod catalogue;
mod workflow;

pub use catalogue::{Catalogue, PhotoError};
pub use workflow::{Failure, Job, Report, shrink_all, shrink_page};
