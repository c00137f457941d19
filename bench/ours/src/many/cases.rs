//! The filters that are measured.

use super::population::prefix;

/// A filter, and whether an index finds what it selects. Without one a search examines a bounded
/// number of instances and returns a partial page.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) filter: String,
    pub(super) is_indexed: bool,
}

/// All of them. Texts of a single instance name one of this unit.
pub(super) fn all(unit: u64) -> Vec<Case> {
    let one = prefix(unit);
    let indexed = [
        String::new(),
        // Statuses.
        "status:completed".to_owned(),
        "status:failed".to_owned(),
        "status:running".to_owned(),
        "status:suspended".to_owned(),
        "status:failed,running".to_owned(),
        "-status:completed".to_owned(),
        // Names.
        "name:Order*".to_owned(),
        "name:*ped".to_owned(),
        "name:ReportDaily".to_owned(),
        "name:NoSuchName".to_owned(),
        // Times of creation.
        "created>-1h".to_owned(),
        "created<-29d".to_owned(),
        "created>-3d created<-2d".to_owned(),
        // Ids.
        format!("id:{one}*"),
        format!("id:{one}107"),
        // Errors: most, a tenth, one, none of those that failed.
        "error~timeout".to_owned(),
        "error~REFUSED".to_owned(),
        format!("error~\"disk of {one}\""),
        "error~unheard-of".to_owned(),
        "category:application".to_owned(),
        "category:poison".to_owned(),
        // Attributes: one, 1,000, 10,000, 20,000, and 100,000 in a million.
        format!("attr.customer={one}207"),
        "attr.amount=207".to_owned(),
        "attr.tier=gold".to_owned(),
        "attr.region=asia".to_owned(),
        "attr.amount>=450".to_owned(),
        "attr.region:any".to_owned(),
        // Parents.
        "parent:none".to_owned(),
        "parent:any".to_owned(),
        format!("parent:{one}003"),
        // Several.
        "status:failed name:Order*".to_owned(),
        "status:failed name:Signup".to_owned(),
        "status:failed name:ReportDaily".to_owned(),
        "status:failed error~timeout parent:none created<-20d".to_owned(),
        "status:failed attr.region=asia".to_owned(),
        "status:running attr.region=asia".to_owned(),
        "status:running name:Signup created<-10d".to_owned(),
        "status:completed attr.tier=gold created>-1d".to_owned(),
        "status:completed parent:none name:Order*".to_owned(),
        "name:ReportDaily status:completed created>-7d".to_owned(),
        "attr.region=asia attr.tier=gold".to_owned(),
    ];
    let examined = [
        "custom~work".to_owned(),
        "custom~nowhere".to_owned(),
        "duration>10m".to_owned(),
        "text:refused".to_owned(),
        "text:nowhere".to_owned(),
        "executions>1".to_owned(),
        "attr.tier!=gold name:Signup status:completed parent:any".to_owned(),
    ];
    let case = |is_indexed| move |filter| Case { filter, is_indexed };
    indexed.into_iter().map(case(true)).chain(examined.into_iter().map(case(false))).collect()
}
