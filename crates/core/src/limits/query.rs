//! Bounds of the queries over instances.

/// Conditions of a filter: each is evaluated for every row that a query examines.
pub const FILTER_TERMS_MAX: usize = 32;

/// Values of one condition.
pub const FILTER_VALUES_MAX: usize = 64;

/// Rows of one page of a query: a page is held in memory as a whole.
pub const MAX_QUERY_ROWS: u32 = 1000;

/// Rows of a page if the query does not say.
pub(crate) const QUERY_ROWS_DEFAULT: u32 = 100;

/// Instances that a query without an index reads at once, one call after the other.
pub(crate) const LISTED_ROWS_MAX: usize = 1000;

/// Instances that one search by index examines before it returns what it has found.
pub(crate) const QUERY_EXAMINED_MAX: usize = 5000;

/// Members of a set that a search holds in memory.
pub(crate) const QUERY_SET_MAX: usize = 20_000;

/// Members of a set that a search sorts by their creation at once: it reads the times of all of
/// them. It looks for more members among all instances, in their order.
pub(crate) const QUERY_SORTED_MAX: usize = 500;

/// Members that a search examines in their order before it may examine all: fewer say too little
/// about how many fit.
pub(crate) const QUERY_PROBED_MIN: usize = 1000;

/// Rows that a search reads at once.
pub(crate) const QUERY_PART_MAX: usize = 2000;

/// Rows that a search with conditions reads first.
pub(crate) const QUERY_PART_FIRST_MIN: usize = 200;

/// Names of orchestrations whose instances a search merges.
pub(crate) const QUERY_NAMES_MAX: usize = 32;

/// Names of orchestrations that it compares with a pattern.
pub(crate) const QUERY_NAMES_EXAMINED_MAX: usize = 256;

/// Characters of a custom status and of an error in a row: a page holds up to 1000 of them. Filters
/// see the same part.
pub const MAX_ROW_TEXT: usize = 4096;

/// How often the client goes on with a search that stopped before its page was full.
pub(crate) const QUERY_CALLS_MAX: usize = 10;
