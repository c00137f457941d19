//! `duroxide store`.

use serde_json::json;

use crate::support::{Fixture, finish, on_both_stores, plain_command};

on_both_stores!(a_store_is_checked, a_current_store_needs_no_migration);

fn a_store_is_checked(store: &Fixture) {
    store.seeded();
    let checked = store.run(&["store", "check", "-o", "json"]).json();
    assert_eq!(checked["ok"], true);
    assert_eq!(checked["content_checked"], store.is_sqlite());
}

fn a_current_store_needs_no_migration(store: &Fixture) {
    let migrated = store.run(&["store", "migrate", "-o", "json"]).json();
    assert_eq!(migrated["result"], "up_to_date");
}

mod sqlite_only {
    use super::*;

    #[test]
    fn a_file_shrinks_to_its_content() {
        let store = Fixture::sqlite();
        store.on_store(async |client| {
            for number in 0..300 {
                let input = "x".repeat(4000);
                let id = format!("big-{number}");
                client.start_orchestration(id, "NoSuchCode", input).await.unwrap();
            }
        });
        rusqlite::Connection::open(store.file())
            .unwrap()
            .execute("DELETE FROM orchestrator_queue", [])
            .unwrap();
        let planned = store.run(&["store", "vacuum", "--dry-run", "-o", "json"]).json();
        let before = std::fs::metadata(store.file()).unwrap().len();
        let unconfirmed = store.run(&["store", "vacuum"]);
        assert_eq!(unconfirmed.code, 8, "{unconfirmed:?}");
        assert_eq!(std::fs::metadata(store.file()).unwrap().len(), before);
        let vacuumed = store.run(&["store", "vacuum", "--yes", "-o", "json"]).json();
        let after = std::fs::metadata(store.file()).unwrap().len();
        assert!(after < before / 2, "{before} {after}");
        assert_eq!(vacuumed["size_bytes_before"], before);
        assert_eq!(vacuumed["size_bytes_after"], after);
        assert!(planned["size_bytes_after"].as_u64() <= Some(before), "{planned}");
    }

    #[test]
    fn a_copy_is_a_store() {
        let store = Fixture::sqlite();
        store.seeded();
        let copy = store.folder.path().join("copy.db");
        store.run(&["store", "backup", copy.to_str().unwrap()]).ok();
        let mut listed = plain_command(&["count"]);
        listed.env("DUROXIDE_STORE", format!("sqlite:{}", copy.display()));
        assert_eq!(finish(listed, None).ok(), "6\n");
        let again = store.run(&["store", "backup", copy.to_str().unwrap()]).refused(1);
        assert!(again.contains("exists"), "{again}");
    }

    #[test]
    fn a_store_is_created_only_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("new.db").display());
        let on_new = |arguments: &[&str]| {
            let mut command = plain_command(arguments);
            command.env("DUROXIDE_STORE", &url);
            finish(command, None)
        };
        let is_empty = || std::fs::read_dir(folder.path()).unwrap().next().is_none();
        let refused = on_new(&["store", "migrate", "--yes"]).refused(1);
        assert!(refused.contains("--create"), "{refused}");
        let planned = on_new(&["store", "migrate", "--create", "--dry-run", "-o", "json"]).json();
        assert_eq!(planned, json!({ "result": "would_create", "from_version": 0 }));
        assert!(is_empty());
        on_new(&["store", "migrate", "--create", "--read-only"]).refused(2);
        assert!(is_empty());
        assert_eq!(on_new(&["store", "migrate", "--create"]).ok(), "created\n");
        assert_eq!(on_new(&["count"]).ok(), "0\n");
    }

    #[test]
    fn an_older_store_is_migrated_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("old.db");
        let fixture =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../sqlite/tests/fixtures/duroxide_0_1_32.sql");
        let text = std::fs::read_to_string(fixture).unwrap();
        rusqlite::Connection::open(&file).unwrap().execute_batch(&text).unwrap();
        let before = std::fs::read(&file).unwrap();
        let on_old = |arguments: &[&str]| {
            let mut command = plain_command(arguments);
            command.env("DUROXIDE_STORE", format!("sqlite:{}", file.display()));
            finish(command, None)
        };
        for arguments in [&["list"][..], &["start", "Greet"], &["store", "info"]] {
            let refused = on_old(arguments).refused(1);
            assert!(refused.contains("run `duroxide store migrate`"), "{refused}");
        }
        let unconfirmed = on_old(&["store", "migrate"]);
        assert_eq!(unconfirmed.code, 8, "{unconfirmed:?}");
        let planned = on_old(&["store", "migrate", "--dry-run"]).ok();
        assert_eq!(planned, "would_migrate\n");
        assert_eq!(std::fs::read(&file).unwrap(), before, "nothing was changed");
        assert_eq!(on_old(&["store", "migrate", "--yes"]).ok(), "migrated\n");
        assert_eq!(on_old(&["list"]).code, 0);
    }
}

mod postgres_only {
    use super::*;

    #[test]
    fn a_schema_is_created_only_on_request() {
        let mut store = Fixture::postgres();
        store.schema = Some(format!("cli_{}", uuid::Uuid::new_v4().simple()));
        for arguments in [&["list"][..], &["start", "Greet"], &["store", "migrate", "--yes"]] {
            let refused = store.run(arguments).refused(1);
            assert!(refused.contains("--create"), "{refused}");
        }
        assert_eq!(store.run(&["store", "migrate", "--create"]).ok(), "created\n");
        assert_eq!(store.run(&["count"]).ok(), "0\n");
    }

    #[test]
    fn what_only_files_need_is_explained() {
        let store = Fixture::postgres();
        let vacuum = store.run(&["store", "vacuum", "--yes"]).refused(1);
        assert!(vacuum.contains("autovacuum"), "{vacuum}");
        let backup = store.run(&["store", "backup", "/tmp/never"]).refused(1);
        assert!(backup.contains("pg_dump"), "{backup}");
    }
}
