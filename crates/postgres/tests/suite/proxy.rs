//! A proxy that can lose responses and requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Forwards connections. On demand it forwards the next request with a given word, waits for the
/// response and cuts the connection instead of forwarding it. Or it forwards what comes before the
/// request and falls silent, as if the node were paused in the middle. Or it forwards no response
/// any more on connections that sent the word, and keeps them open.
pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: String,
    armed: AtomicBool,
    lost: AtomicUsize,
    armed_to_hold: AtomicBool,
    held: AtomicUsize,
    deaf: AtomicBool,
    /// What a request must contain to be lost or to have its response lost.
    word: &'static str,
}

impl Proxy {
    /// Listens in front of a server, given as `host:port`.
    pub(crate) async fn start(server: String, word: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            server,
            armed: AtomicBool::new(false),
            lost: AtomicUsize::new(0),
            armed_to_hold: AtomicBool::new(false),
            held: AtomicUsize::new(0),
            deaf: AtomicBool::new(false),
            word,
        });
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, Arc::clone(&accepting)));
            }
        });
        Self { port, shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The next response to a fitting request is lost.
    pub(crate) fn lose_next_answer(&self) {
        self.shared.armed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn answers_lost(&self) -> usize {
        self.shared.lost.load(Ordering::SeqCst)
    }

    /// The next fitting request is held back, with everything after it.
    pub(crate) fn hold_next_request(&self) {
        self.shared.armed_to_hold.store(true, Ordering::SeqCst);
    }

    /// Connections that sent a fitting request receive nothing more, until this is undone.
    pub(crate) fn deafen(&self, deaf: bool) {
        self.shared.deaf.store(deaf, Ordering::SeqCst);
    }

    pub(crate) fn requests_held(&self) -> usize {
        self.shared.held.load(Ordering::SeqCst)
    }
}

/// The bytes before the text of a simple statement: its kind and its length.
const HEAD_BYTES: usize = 5;

/// Sends the last bytes of the node to the server. Forwards the response of the server when its
/// timeout has passed.
async fn hold(last: &[u8], mut server: TcpStream, mut client: TcpStream, shared: &Shared) {
    server.write_all(last).await.unwrap();
    shared.held.fetch_add(1, Ordering::SeqCst);
    let mut answers = Vec::new();
    server.read_to_end(&mut answers).await.unwrap();
    client.write_all(&answers).await.unwrap();
}

async fn forward(mut client: TcpStream, shared: Arc<Shared>) {
    let mut server = TcpStream::connect(&shared.server).await.unwrap();
    let (mut asked, mut answered) = (vec![0; 65536], vec![0; 65536]);
    let (mut losing, mut fits) = (false, false);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let word = asked[..length].windows(shared.word.len())
                    .position(|part| part == shared.word.as_bytes());
                if let Some(word) = word && shared.armed_to_hold.swap(false, Ordering::SeqCst) {
                    return hold(&asked[..word - HEAD_BYTES], server, client, &shared).await;
                }
                fits |= word.is_some();
                losing |= word.is_some() && shared.armed.swap(false, Ordering::SeqCst);
                if server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if fits && shared.deaf.load(Ordering::SeqCst) {
                    continue;
                }
                if losing {
                    // The server has executed it; the response is lost.
                    shared.lost.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                if client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}
