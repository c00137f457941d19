//! A proxy that knows the messages of the protocol. It names each request by its statement, and a
//! chosen request meets a fault.
//!
//! Requests that a node sends at once reach the server one after the other, so that each response
//! belongs to one request.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::support::{PATIENCE, Store};

/// The name of the request that opens a connection.
pub(crate) const CONNECT: &str = "connect";
/// In front of the name of a request that prepares a statement.
pub(crate) const PREPARE: &str = "prepare ";

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server reports this state instead of executing it.
    Error(&'static str),
    /// The server reports this state and ends the session.
    Fatal(&'static str),
    /// The connection breaks before the server has received it.
    CutBefore,
    /// The connection breaks after the server has executed it, before the response.
    CutAfter,
    /// The response is late.
    Late(Duration),
}

/// Stands between a node and its server.
pub(crate) struct Wire {
    shared: Arc<Shared>,
}

struct Shared {
    server: String,
    schema: String,
    /// The faults that wait for their requests.
    faults: Mutex<BTreeMap<String, Fault>>,
    /// How often each request was seen.
    seen: Mutex<BTreeMap<String, usize>>,
    /// How often all connections were cut.
    cuts: watch::Sender<u32>,
    /// The connections, each by the number of cuts before it.
    lines: watch::Sender<Vec<u32>>,
}

/// A connection that is counted until this is dropped.
struct Counted<'a> {
    shared: &'a Shared,
    cuts_before: u32,
}

impl<'a> Counted<'a> {
    fn new(shared: &'a Shared, cuts_before: u32) -> Self {
        shared.lines.send_modify(|lines| lines.push(cuts_before));
        Self { shared, cuts_before }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.shared.lines.send_modify(|lines| {
            let place = lines.iter().position(|cuts_before| *cuts_before == self.cuts_before);
            lines.swap_remove(place.expect("it was counted"));
        });
    }
}

impl Wire {
    /// Listens in front of the server of a store, which then leads here.
    pub(crate) async fn before(store: Store) -> (Self, Store) {
        let place = store.url.rsplit('@').next().unwrap();
        let server = place.split(['/', '?']).next().unwrap().to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            server: server.clone(),
            schema: store.schema.clone(),
            faults: Mutex::default(),
            seen: Mutex::default(),
            cuts: watch::Sender::default(),
            lines: watch::Sender::default(),
        });
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let shared = Arc::clone(&accepting);
                tokio::spawn(async move {
                    // A broken connection is what this is for.
                    drop(Line::serve(client, &shared).await);
                });
            }
        });
        let url = store.url.replace(&server, &format!("127.0.0.1:{port}"));
        (Self { shared }, Store { url, ..store })
    }

    /// The next request of this name meets the fault.
    pub(crate) fn arm(&self, request: &str, fault: Fault) {
        self.shared.faults.lock().unwrap().insert(request.to_owned(), fault);
    }

    /// Whether a fault waits for its request.
    pub(crate) fn is_armed(&self) -> bool {
        !self.shared.faults.lock().unwrap().is_empty()
    }

    /// The requests that their faults still wait for; none waits afterwards.
    pub(crate) fn disarm(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.faults.lock().unwrap()).into_keys().collect()
    }

    /// Breaks every connection between two requests, so that no response is lost and new ones
    /// prepare their statements again.
    pub(crate) async fn cut_all(&self) {
        let mut lines = self.shared.lines.subscribe();
        self.shared.cuts.send_modify(|count| *count += 1);
        let cuts = *self.shared.cuts.borrow();
        let cut = lines.wait_for(|lines| lines.iter().all(|cuts_before| *cuts_before >= cuts));
        tokio::time::timeout(PATIENCE, cut).await.expect("all connections end").unwrap();
    }

    /// The requests since the last call, and how often each was seen.
    pub(crate) fn take_seen(&self) -> BTreeMap<String, usize> {
        std::mem::take(&mut *self.shared.seen.lock().unwrap())
    }
}

impl Shared {
    /// Notes a request, and returns the fault that it meets.
    fn meet(&self, request: &str) -> Option<Fault> {
        *self.seen.lock().unwrap().entry(request.to_owned()).or_default() += 1;
        self.faults.lock().unwrap().remove(request)
    }

    /// The name of a statement: its function, or its first words.
    fn name(&self, sql: &str) -> String {
        const WORDS: usize = 8;
        let sql = sql.replace(&format!("\"{}\".", self.schema), "");
        let call = sql.strip_prefix("SELECT * FROM ").and_then(|call| call.split_once('('));
        if let Some((function, _)) = call
            && let Some((name, _version)) = function.rsplit_once('_')
            && !function.contains(char::is_whitespace)
        {
            return name.to_owned();
        }
        let words: Vec<&str> = sql.split_whitespace().take(WORDS).collect();
        match words.first() {
            Some(&"LISTEN") => "LISTEN".to_owned(),
            Some(_) => words.join(" "),
            None => "empty statement".to_owned(),
        }
    }
}

/// One message, with its kind and length.
type Message = Vec<u8>;

const SSL_REQUEST: u32 = 80_877_103;
const CANCEL_REQUEST: u32 = 80_877_102;
const READY: u8 = b'Z';

/// The messages of one side.
struct Side {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
    buffer: Vec<u8>,
}

impl Side {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let (read, write) = stream.into_split();
        Ok(Self { read, write, buffer: Vec::new() })
    }

    /// The next message, whose length is behind `head` bytes. May be dropped and called again.
    async fn message(&mut self, head: usize) -> io::Result<Message> {
        loop {
            if let Some(length) = self.buffer.get(head..head + 4) {
                let length = u32::from_be_bytes(length.try_into().expect("four bytes"));
                let end = head + usize::try_from(length).expect("a length fits");
                if self.buffer.len() >= end {
                    return Ok(self.buffer.drain(..end).collect());
                }
            }
            if self.read.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn send(&mut self, messages: &[Message]) -> io::Result<()> {
        self.write.write_all(&messages.concat()).await
    }
}

/// One connection.
struct Line<'a> {
    shared: &'a Shared,
    client: Side,
    server: Side,
    /// The statements that are prepared on it, by their names.
    statements: HashMap<Vec<u8>, String>,
}

impl<'a> Line<'a> {
    async fn serve(client: TcpStream, shared: &'a Shared) -> io::Result<()> {
        let mut cuts = shared.cuts.subscribe();
        let cuts_before = *cuts.borrow_and_update();
        let _counted = Counted::new(shared, cuts_before);
        let mut client = Side::new(client)?;
        let server = Side::new(TcpStream::connect(&shared.server).await?)?;
        let mut startup = client.message(0).await?;
        if code(&startup) == SSL_REQUEST {
            client.write.write_all(b"N").await?;
            startup = client.message(0).await?;
        }
        let mut line = Self { shared, client, server, statements: HashMap::new() };
        if code(&startup) == CANCEL_REQUEST {
            return line.server.send(&[startup]).await;
        }
        let fault = shared.meet(CONNECT);
        match fault {
            Some(Fault::Error(state) | Fault::Fatal(state)) => return line.end_with(state).await,
            Some(Fault::CutBefore | Fault::CutAfter) => return Ok(()),
            Some(Fault::Late(pause)) => tokio::time::sleep(pause).await,
            None => {}
        }
        line.server.send(&[startup]).await?;
        line.forward(cuts).await
    }

    /// Forwards requests and responses until the connection is cut between two of them.
    async fn forward(&mut self, mut cuts: watch::Receiver<u32>) -> io::Result<()> {
        let mut request: Vec<Message> = Vec::new();
        loop {
            tokio::select! {
                _cut = cuts.changed() => return Ok(()),
                message = self.client.message(1) => {
                    let message = message?;
                    match message[0] {
                        // The password has a response that is not the end of a request.
                        b'p' => self.server.send(&[message]).await?,
                        b'X' => return self.server.send(&[message]).await,
                        kind => {
                            request.push(message);
                            if matches!(kind, b'Q' | b'S') {
                                self.handle(std::mem::take(&mut request)).await?;
                            }
                        }
                    }
                }
                // A notification, or the responses before the first request.
                message = self.server.message(1) => self.client.send(&[message?]).await?,
            }
        }
    }

    async fn handle(&mut self, request: Vec<Message>) -> io::Result<()> {
        let name = self.name_of(&request);
        let fault = name.as_ref().and_then(|name| self.shared.meet(name));
        match fault {
            None => {
                let response = self.execute(&request).await?;
                self.client.send(&response).await
            }
            Some(Fault::Late(pause)) => {
                let response = self.execute(&request).await?;
                tokio::time::sleep(pause).await;
                self.client.send(&response).await
            }
            Some(Fault::Error(state)) => {
                if name.as_deref() == Some("COMMIT") {
                    // Whatever a commit reports, it is the end of its transaction.
                    self.execute(&[query("ROLLBACK")]).await?;
                }
                let raise = format!(
                    "DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '{state}'; END $$"
                );
                let response = self.execute(&[query(&raise)]).await?;
                self.client.send(&response).await
            }
            Some(Fault::Fatal(state)) => self.end_with(state).await,
            Some(Fault::CutBefore) => Err(io::ErrorKind::ConnectionAborted.into()),
            Some(Fault::CutAfter) => {
                self.execute(&request).await?;
                Err(io::ErrorKind::ConnectionAborted.into())
            }
        }
    }

    /// Sends a request to the server, and returns its response.
    async fn execute(&mut self, request: &[Message]) -> io::Result<Vec<Message>> {
        self.server.send(request).await?;
        let mut response = Vec::new();
        loop {
            let message = self.server.message(1).await?;
            let ready = message[0] == READY;
            response.push(message);
            if ready {
                return Ok(response);
            }
        }
    }

    /// The last words of a server that ends a session.
    async fn end_with(&mut self, state: &str) -> io::Result<()> {
        let fields = format!("SFATAL\0VFATAL\0C{state}\0Mon purpose\0\0");
        self.client.send(&[message(b'E', fields.as_bytes())]).await?;
        self.client.write.shutdown().await?;
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    /// The name of a request; `None` if it only forgets a statement.
    fn name_of(&mut self, request: &[Message]) -> Option<String> {
        for message in request {
            let mut texts = message[5..].split(|byte| *byte == 0);
            let mut text = || texts.next().unwrap_or_default();
            match message[0] {
                b'Q' => return Some(self.shared.name(&String::from_utf8_lossy(text()))),
                b'P' => {
                    let (statement, sql) = (text().to_vec(), text());
                    let name = self.shared.name(&String::from_utf8_lossy(sql));
                    self.statements.insert(statement, name.clone());
                    return Some(format!("{PREPARE}{name}"));
                }
                b'B' => {
                    let (_portal, statement) = (text(), text());
                    return self.statements.get(statement).cloned();
                }
                _ => {}
            }
        }
        None
    }
}

fn code(startup: &Message) -> u32 {
    let code = startup.get(4..8).and_then(|code| code.try_into().ok());
    code.map_or(0, u32::from_be_bytes)
}

fn query(sql: &str) -> Message {
    message(b'Q', format!("{sql}\0").as_bytes())
}

fn message(kind: u8, body: &[u8]) -> Message {
    let length = u32::try_from(body.len() + 4).expect("a short message");
    [&[kind], &length.to_be_bytes()[..], body].concat()
}
