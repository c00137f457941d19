//! The process that outlives its owner by exactly one clean-up.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::user::{self, User};

// The first argument is the folder, the rest is the server's command line. The script asks the
// server to stop fast and then removes the folder. A reader never finds a partly written server id.
const KEEP: &str = r#"
folder=$1
shift
begin() {
    "$@" </dev/null >>"$folder/log" 2>&1 &
    server=$!
    echo "$server" >"$folder/next.id"
    mv "$folder/next.id" "$folder/server.id"
}
# A stopped server starts no more processes. The dead ones must be gone before the next start,
# because they share memory with the server.
kill_all() {
    kill -STOP "$server"
    parts=$(cat "/proc/$server/task/$server/children")
    kill -KILL $parts "$server"
    for part in $parts; do
        while grep -q '^State:[[:space:]]*[^ZX]' "/proc/$part/status" 2>/dev/null; do
            sleep 0.01
        done
    done
}
begin "$@"
while read -r word; do
    case $word in
        restart) kill -INT "$server" ;;
        kill) kill -QUIT "$server" ;;
        kill-all) kill_all ;;
        *) continue ;;
    esac
    wait "$server"
    begin "$@"
done
kill -INT "$server"
wait "$server"
rm -rf "$folder"
"#;

/// Starts a keeper with its server.
pub(crate) fn start(user: Option<&User>, folder: &Path, server: &Command) -> Result<Child, String> {
    let mut command = user::command(user, Path::new("sh"));
    command.arg("-c").arg(KEEP).arg("keeper").arg(folder).arg(server.get_program());
    command
        .args(server.get_args())
        .current_dir(folder)
        // A signal for the owner's group, as from a terminal, must not keep us from cleaning up.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("the server cannot be started: {error}"))
}
