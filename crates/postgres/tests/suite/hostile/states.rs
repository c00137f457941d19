//! One SQLSTATE of each class that a server reports.

/// What the data of a call causes by itself: such an error fails the work that it is about.
pub(crate) const OF_DATA: [&str; 4] = ["22P02", "23505", "23514", "54000"];

/// What a server reports for any other reason. None of it may fail work.
pub(crate) const OF_THE_SERVER: [&str; 36] = [
    "02000", "03000", "09000", "0A000", "0L000", "0P000", "20000", "21000", "24000", "25006",
    "25P02", "26000", "28000", "2B000", "2D000", "2F000", "34000", "38000", "39000", "3B001",
    "3D000", "3F000", "40001", "40003", "40P01", "42501", "42P01", "44000", "53100", "53200",
    "55P03", "57014", "58030", "72000", "F0000", "P0001",
];

/// Defects of the server, with which it reports its own ones.
pub(crate) const OF_DEFECTS: [&str; 2] = ["XX000", "XX001"];

/// With these the server ends the session.
pub(crate) const OF_THE_SESSION: [&str; 6] = ["08006", "57P01", "57P02", "57P03", "57P05", "25P03"];
