//! `power`: runs what its arguments ask for.

use crate::power::args::PowerPlan;
use crate::power::{cuts, kill_points, server_kills};

/// Runs one plan.
pub(crate) fn run(plan: &PowerPlan) -> Result<(), String> {
    match plan {
        PowerPlan::Cuts(plan) => cuts::run(plan),
        PowerPlan::KillPoints(plan) => kill_points::run(plan),
        PowerPlan::ServerKills(plan) => server_kills::run(plan),
    }
}
