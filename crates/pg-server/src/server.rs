//! Starting, restarting and stopping a server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::user::{self, User};
use crate::{binaries, keeper};

/// Names an existing server to use instead of a throw-away one.
pub const URL_VARIABLE: &str = "DUROXIDE_PG_URL";

const ROLE: &str = "duroxide";
const START_MAX: Duration = Duration::from_secs(60);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);
const CONNECTIONS_MAX: u32 = 300;

/// How a server is set up.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Whether commits wait for the disk. Tests that do not crash the machine need not.
    pub durable: bool,
    /// More settings, each as `name=value`.
    pub settings: Vec<String>,
    /// Files to put into the data folder before the start: name and content.
    pub files: Vec<(String, String)>,
    /// Replaces `pg_hba.conf`, which otherwise asks for the password.
    pub hba: Option<String>,
}

/// A running server, stopped and removed when this is dropped or the process ends.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    port: u16,
    password: String,
    keeper: Child,
}

impl Server {
    /// Makes a cluster and starts a server on it.
    ///
    /// # Errors
    /// When there are no server programs, or the server does not come up; the text holds its log.
    pub fn start(setup: &Setup) -> Result<Self, String> {
        let programs = binaries::install()?;
        let user = user::choose()?;
        let folder = make_folder(user.as_ref())?;
        let data = folder.join("data");
        let password = random_password()?;
        init(user.as_ref(), &programs, &data, &password)?;
        put_files(user.as_ref(), &data, setup)?;
        Self::serve(user.as_ref(), folder, password, setup)
    }

    /// Starts a server that follows this one by streaming replication. It answers reads, and
    /// `pg_promote` makes it a server of its own.
    ///
    /// # Errors
    /// When this server cannot be copied, or the copy does not come up.
    pub fn replica(&self, setup: &Setup) -> Result<Self, String> {
        let programs = binaries::install()?;
        let user = user::choose()?;
        let folder = make_folder(user.as_ref())?;
        let output = user::command(user.as_ref(), &programs.join("pg_basebackup"))
            .arg("-D")
            .arg(folder.join("data"))
            .args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", &self.url()])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("pg_basebackup cannot be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("pg_basebackup: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Self::serve(user.as_ref(), folder, self.password.clone(), setup)
    }

    /// Starts a server on the cluster of a folder.
    fn serve(
        user: Option<&User>,
        folder: PathBuf,
        password: String,
        setup: &Setup,
    ) -> Result<Self, String> {
        let port = free_port()?;
        let mut command = Command::new(binaries::install()?.join("postgres"));
        command.arg("-D").arg(folder.join("data"));
        command.args(["-h", "127.0.0.1", "-k", "", "-p", &port.to_string()]);
        for setting in settings(setup) {
            command.arg("-c").arg(setting);
        }
        let keeper = keeper::start(user, &folder, &command)?;
        let server = Self { folder, port, password, keeper };
        server.wait_until_up()?;
        Ok(server)
    }

    /// Where to connect to.
    pub fn url(&self) -> String {
        format!("postgres://{ROLE}:{}@127.0.0.1:{}/postgres", self.password, self.port)
    }

    /// The port on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Process id of the server.
    ///
    /// # Errors
    /// When the keeper has not written it.
    pub fn id(&self) -> Result<u32, String> {
        let text = std::fs::read_to_string(self.folder.join("server.id"));
        let text = text.map_err(|error| format!("the server has no id: {error}"))?;
        text.trim().parse().map_err(|error| format!("the id of the server: {error}"))
    }

    /// Stops the server, which ends every connection, and starts it again.
    ///
    /// # Errors
    /// When it does not come up again.
    pub fn restart(&mut self) -> Result<(), String> {
        self.again("restart")
    }

    /// Crashes the server and starts it again: it recovers from its log.
    ///
    /// # Errors
    /// When it does not come up again.
    pub fn crash(&mut self) -> Result<(), String> {
        self.again("kill")
    }

    /// Kills every process of the server at once by SIGKILL and starts it again. Linux only.
    ///
    /// # Errors
    /// When it does not come up again.
    pub fn kill_all(&mut self) -> Result<(), String> {
        self.again("kill-all")
    }

    fn again(&mut self, word: &str) -> Result<(), String> {
        let before = self.id()?;
        let input = self.keeper.stdin.as_mut().ok_or("the keeper listens no more")?;
        writeln!(input, "{word}").map_err(|error| format!("the keeper has gone: {error}"))?;
        let begun = Instant::now();
        while self.id()? == before {
            if begun.elapsed() > START_MAX {
                return Err(format!("the server did not stop; its log:\n{}", self.log()));
            }
            std::thread::sleep(LOOK_AGAIN_AFTER);
        }
        self.wait_until_up()
    }

    /// What the server wrote.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn wait_until_up(&self) -> Result<(), String> {
        let begun = Instant::now();
        // The log says it last, after recovery; a port that answers may still refuse everybody.
        let id = loop {
            if let Ok(id) = self.id() {
                break id;
            }
            if begun.elapsed() > START_MAX {
                return Err("the keeper did not start the server".to_owned());
            }
            std::thread::sleep(LOOK_AGAIN_AFTER);
        };
        let status = self.folder.join("data/postmaster.pid");
        loop {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let ready = text.lines().any(|line| line.trim() == "ready")
                && text.lines().next() == Some(&id.to_string());
            if ready && TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            if begun.elapsed() > START_MAX {
                return Err(format!("the server does not come up; its log:\n{}", self.log()));
            }
            std::thread::sleep(LOOK_AGAIN_AFTER);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The keeper cleans up when its input is closed.
        drop(self.keeper.stdin.take());
        if let Err(error) = self.keeper.wait() {
            eprintln!("the keeper of a test server cannot be waited for: {error}");
        }
    }
}

/// The server that all tests of this process share, or the one that [`URL_VARIABLE`] names.
///
/// # Errors
/// When a server cannot be started.
pub fn shared_url() -> Result<String, String> {
    static SHARED: OnceLock<Result<Server, String>> = OnceLock::new();
    if let Ok(url) = std::env::var(URL_VARIABLE) {
        return Ok(url);
    }
    match SHARED.get_or_init(|| Server::start(&Setup::default())) {
        Ok(server) => Ok(server.url()),
        Err(error) => Err(error.clone()),
    }
}

fn settings(setup: &Setup) -> Vec<String> {
    let mut settings = vec![format!("max_connections={CONNECTIONS_MAX}")];
    if !setup.durable {
        settings.extend(["fsync=off", "full_page_writes=off"].map(str::to_owned));
    }
    settings.extend(setup.settings.iter().cloned());
    settings
}

fn make_folder(user: Option<&User>) -> Result<PathBuf, String> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let name = format!("duroxide-pg-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let refuse = |error| format!("{} cannot be made: {error}", folder.display());
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(refuse(error)),
        Ok(()) | Err(_) => {}
    }
    std::fs::create_dir(&folder).map_err(refuse)?;
    if let Some(user) = user {
        user.own(&folder)?;
    }
    Ok(folder)
}

/// Other users of the machine reach the port too, so that the server asks for a password.
fn random_password() -> Result<String, String> {
    let mut bytes = [0_u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(|error| format!("there is no password: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn init(user: Option<&User>, programs: &Path, data: &Path, password: &str) -> Result<(), String> {
    let file = data.with_file_name("password");
    put_file(user, &file, password)?;
    let output = user::command(user, &programs.join("initdb"))
        .arg("-D")
        .arg(data)
        .arg("--pwfile")
        .arg(&file)
        .args(["-U", ROLE, "-A", "password", "-E", "UTF8", "--locale=C", "--no-sync"])
        .current_dir(data.parent().unwrap_or(Path::new("/")))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("initdb cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("initdb failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(())
}

fn put_files(user: Option<&User>, data: &Path, setup: &Setup) -> Result<(), String> {
    let hba = setup.hba.iter().map(|text| ("pg_hba.conf".to_owned(), text.clone()));
    for (name, content) in setup.files.iter().cloned().chain(hba) {
        put_file(user, &data.join(name), &content)?;
    }
    Ok(())
}

/// Writes a file that only the server reads; it refuses a key that others may read.
fn put_file(user: Option<&User>, path: &Path, content: &str) -> Result<(), String> {
    use std::os::unix::fs::OpenOptionsExt;
    let refuse = |error| format!("{} cannot be written: {error}", path.display());
    let mut options = std::fs::OpenOptions::new();
    // The server has made some of them already.
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path).map_err(refuse)?;
    file.write_all(content.as_bytes()).map_err(refuse)?;
    match user {
        Some(user) => user.own(path),
        None => Ok(()),
    }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .map_err(|error| format!("there is no free port: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("no address: {error}"))?;
    Ok(address.port())
}
