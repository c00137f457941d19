//! How versions are compared.

use super::nodes::compatible_pins;
use crate::ProviderFactory;

/// A range includes both of its ends and nothing beyond them.
pub async fn test_fetch_filter_boundary_versions<F: ProviderFactory + ?Sized>(factory: &F) {
    let pins = ["1.2.2", "1.2.3", "1.2.4", "1.10.0", "2.0.0", "2.0.1", "2.1.0", "12.0.0"];
    let found = compatible_pins(factory, &pins, &[("1.2.3", "2.0.0")]).await;
    assert_eq!(found, ["1.10.0", "1.2.3", "1.2.4", "2.0.0"]);
}

/// Every range of a filter counts, also with gaps between the ranges.
///
/// The name comes from 0.1.32, which used only the first range. A node that replays two ranges
/// would then never fetch the instances of the second.
pub async fn test_fetch_single_range_only_uses_first_range<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let pins = ["0.9.0", "1.5.0", "2.5.0", "3.5.0", "5.0.0"];
    let ranges = [("1.0.0", "2.0.0"), ("5.0.0", "5.0.0"), ("3.0.0", "4.0.0")];
    let found = compatible_pins(factory, &pins, &ranges).await;
    assert_eq!(found, ["1.5.0", "3.5.0", "5.0.0"], "2.5.0 lies between the ranges");
}

/// A pre-release comes before its release. Build metadata makes no difference.
pub async fn test_fetch_filter_orders_pre_releases<F: ProviderFactory + ?Sized>(factory: &F) {
    let pins = ["1.0.0-alpha", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.0+build", "1.0.1-rc.1"];
    let found = compatible_pins(factory, &pins, &[("1.0.0", "1.0.0")]).await;
    assert_eq!(found, ["1.0.0", "1.0.0+build"], "a pre-release is not the release");
    let found = compatible_pins(factory, &pins, &[("0.9.0", "1.0.0-rc.2")]).await;
    assert_eq!(found, ["1.0.0-alpha", "1.0.0-rc.2"], "rc.10 comes after rc.2");
    let found = compatible_pins(factory, &pins, &[("1.0.0-rc.3", "1.0.0")]).await;
    assert_eq!(found, ["1.0.0", "1.0.0+build", "1.0.0-rc.10"]);
}

/// Version components compare as numbers of any size.
pub async fn test_fetch_filter_compares_large_components<F: ProviderFactory + ?Sized>(factory: &F) {
    let pins =
        ["0.1.1000", "0.1.2000000", "0.1000.0", "0.2.0", "1.0.0", "0.1.18446744073709551615"];
    let found = compatible_pins(factory, &pins, &[("0.1.0", "0.1.5000")]).await;
    assert_eq!(found, ["0.1.1000"]);
    let found = compatible_pins(factory, &pins, &[("0.1.5000", "0.2.0")]).await;
    assert_eq!(found, ["0.1.18446744073709551615", "0.1.2000000", "0.2.0"]);
}
