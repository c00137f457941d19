//! The settings for clippy that the guide gives find what they forbid.

use std::process::Command;

/// Orchestration code with each of the calls.
const MISTAKES: &str = r#"
use std::collections::HashMap;
use std::time::{Instant, SystemTime};

pub fn mistakes() -> usize {
    let _now = SystemTime::now();
    let _instant = Instant::now();
    std::thread::sleep(std::time::Duration::ZERO);
    let _map: HashMap<u32, u32> = HashMap::new();
    std::env::var("HOME").map_or(0, |home| home.len())
}

pub async fn awaits() {
    tokio::time::sleep(std::time::Duration::ZERO).await;
    tokio::spawn(async {});
    tokio::select!();
}
"#;

/// What these names mean, without the crate itself: the test needs no registry.
const TOKIO: &str = r#"
pub mod time {
    pub async fn sleep(_duration: std::time::Duration) {}
}

pub fn spawn<T>(_task: T) {}

#[macro_export]
macro_rules! select {
    () => {
        ()
    };
}
"#;

#[test]
fn the_settings_of_the_guide_find_mistakes() {
    let guide = include_str!("../../docs/testing.md");
    let settings = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let settings = settings.expect("the guide has the settings as its first block of TOML");
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("clippy.toml", settings);
    let manifest = "[package]\nname = \"mistakes\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
                    [workspace]\n\n[dependencies]\ntokio = { path = \"tokio\" }\n";
    write("Cargo.toml", manifest);
    write("src/lib.rs", MISTAKES);
    let manifest = "[package]\nname = \"tokio\"\nversion = \"1.0.0\"\nedition = \"2021\"\n";
    write("tokio/Cargo.toml", manifest);
    write("tokio/src/lib.rs", TOKIO);
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--quiet", "--", "-D", "clippy::disallowed_methods"])
        .args(["-D", "clippy::disallowed_types", "-D", "clippy::disallowed_macros"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    for forbidden in [
        "use of a disallowed method `std::time::SystemTime::now`",
        "use of a disallowed method `std::time::Instant::now`",
        "use of a disallowed method `std::thread::sleep`",
        "use of a disallowed method `std::env::var`",
        "use of a disallowed method `tokio::time::sleep`",
        "use of a disallowed method `tokio::spawn`",
        "use of a disallowed macro `tokio::select`",
        "use of a disallowed type `std::collections::HashMap`",
    ] {
        assert!(text.contains(forbidden), "{forbidden} is missing in:\n{text}");
    }
    assert!(!output.status.success());
}
