//! Reaching a server: every address of every host is tried in turn, each within the same time.
//!
//! The driver would wait for ever for a server that accepts a connection and then stays silent, and
//! would never try the next host.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::poll_fn;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

use crate::connect::password::PasswordSource;
use crate::connect::tls;
use crate::connect::url::{Location, SslMode};
use crate::error::describe;
use crate::{PostgresError, limits};

/// What a server sends besides responses. Must be polled for the client to work.
pub(crate) type Messages =
    Pin<Box<dyn Stream<Item = Result<AsyncMessage, tokio_postgres::Error>> + Send>>;

/// An open connection.
pub(crate) struct Connected {
    pub(crate) client: Client,
    pub(crate) messages: Messages,
    /// The host and port, for errors.
    pub(crate) server: Arc<str>,
}

/// Opens connections.
pub(crate) struct Dialer {
    /// Everything but the hosts.
    config: Config,
    hosts: Vec<HostAddress>,
    tls: Option<MakeRustlsConnect>,
    connect_within: Duration,
    /// In place of the password in the configuration.
    password: Option<PasswordSource>,
    /// The host to try first: the one that was reached last, so that a silent host in front of it
    /// delays one connection and not all.
    first: AtomicUsize,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The driver leaves out the password.
        let mut debug = f.debug_struct("Dialer");
        debug.field("config", &self.config).field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Dialer {
    /// Connects nothing yet.
    pub(crate) fn new(
        location: &Location,
        password: Option<PasswordSource>,
    ) -> Result<Self, PostgresError> {
        let tls = match location.tls.mode {
            SslMode::Disable => None,
            SslMode::Prefer | SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
                Some(tls::connector(&location.tls)?)
            }
        };
        let config = &location.config;
        Ok(Self {
            config: without_hosts(config),
            hosts: HostAddress::all_of(config),
            tls,
            connect_within: *config.get_connect_timeout().unwrap_or(&limits::CONNECT_TIMEOUT),
            password,
            first: AtomicUsize::new(0),
        })
    }

    /// Opens a connection to the first address that accepts one.
    pub(crate) async fn dial(&self) -> Result<Connected, ConnectError> {
        let mut failed = ConnectError::default();
        let mut config = self.config.clone();
        if let Some(source) = &self.password {
            match timeout(self.connect_within, source.password()).await {
                Ok(Ok(password)) => config.password(password),
                Ok(Err(error)) => {
                    failed.add("the source of the password", &error.to_string());
                    return Err(failed);
                }
                Err(_) => {
                    failed.add("the source of the password", "it takes too long");
                    return Err(failed);
                }
            };
        }
        for index in self.order() {
            let Some(host) = self.hosts.get(index) else { continue };
            let addresses = match timeout(self.connect_within, host.resolve()).await {
                Ok(Ok(addresses)) => addresses,
                Ok(Err(error)) => {
                    failed.add(&host.name(None), &format!("cannot resolve the host: {error}"));
                    continue;
                }
                Err(_) => {
                    failed.add(&host.name(None), "resolving the host takes too long");
                    continue;
                }
            };
            for address in addresses {
                let server = host.name(address);
                // Boxed: it is large, and every call that may open a connection would contain it.
                let connect = Box::pin(self.connect_to(config.clone(), host, address));
                match timeout(self.connect_within, connect).await {
                    Ok(Ok((client, messages))) => {
                        self.first.store(index, Ordering::Relaxed);
                        return Ok(Connected { client, messages, server: server.into() });
                    }
                    Ok(Err(error)) => failed.add_error(&server, error),
                    Err(_) => failed
                        .add(&server, &format!("no response within {:?}", self.connect_within)),
                }
            }
        }
        Err(failed)
    }

    /// The server refuses writes: the next connection tries the next host first.
    pub(crate) fn prefer_another_host(&self) {
        self.first.fetch_add(1, Ordering::Relaxed);
    }

    fn order(&self) -> Vec<usize> {
        let count = self.hosts.len().max(1);
        let first = self.first.load(Ordering::Relaxed);
        let mut order: Vec<usize> = (0..count).map(|place| (first + place) % count).collect();
        if self.config.get_load_balance_hosts() == LoadBalanceHosts::Random {
            order.sort_by_cached_key(|_| Uuid::new_v4());
        }
        order
    }

    async fn connect_to(
        &self,
        mut config: Config,
        host: &HostAddress,
        address: Option<IpAddr>,
    ) -> Result<(Client, Messages), tokio_postgres::Error> {
        host.add_to(&mut config, address);
        match &self.tls {
            None => {
                let (client, connection) = config.connect(NoTls).await?;
                Ok((client, messages(connection)))
            }
            Some(tls) => {
                let (client, connection) = config.connect(tls.clone()).await?;
                Ok((client, messages(connection)))
            }
        }
    }
}

fn messages<S, T>(mut connection: Connection<S, T>) -> Messages
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    Box::pin(poll_fn(move |cx| connection.poll_message(cx)))
}

/// One host of a URL.
#[derive(Debug, Clone)]
struct HostAddress {
    /// Also the name in the server's certificate.
    host: Option<Host>,
    address: Option<IpAddr>,
    port: u16,
}

impl HostAddress {
    fn all_of(config: &Config) -> Vec<Self> {
        let (hosts, addresses, ports) =
            (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
        let host = |index| Self {
            host: hosts.get(index).cloned(),
            address: addresses.get(index).copied(),
            port: ports.get(index).or_else(|| ports.first()).copied().unwrap_or(PORT_DEFAULT),
        };
        (0..hosts.len().max(addresses.len())).map(host).collect()
    }

    /// The addresses of a name; `None` if there is nothing to resolve.
    async fn resolve(&self) -> std::io::Result<Vec<Option<IpAddr>>> {
        match &self.host {
            Some(Host::Tcp(name)) if self.address.is_none() => {
                let found = tokio::net::lookup_host((name.as_str(), self.port)).await?;
                Ok(found.map(|address| Some(address.ip())).collect())
            }
            _known => Ok(vec![self.address]),
        }
    }

    fn add_to(&self, config: &mut Config, address: Option<IpAddr>) {
        match &self.host {
            Some(Host::Tcp(name)) => config.host(name),
            #[cfg(unix)]
            Some(Host::Unix(folder)) => config.host_path(folder),
            None => config,
        };
        if let Some(address) = address {
            config.hostaddr(address);
        }
        config.port(self.port);
    }

    /// `host:port`, and which address of the host.
    fn name(&self, address: Option<IpAddr>) -> String {
        let address = address.map(|address| address.to_string());
        let host = match &self.host {
            Some(Host::Tcp(name)) => Some(name.clone()),
            #[cfg(unix)]
            Some(Host::Unix(folder)) => Some(folder.display().to_string()),
            None => None,
        };
        let port = self.port;
        match (host, address) {
            (Some(host), Some(address)) if host != address => format!("{host}:{port} ({address})"),
            (Some(host), _) => format!("{host}:{port}"),
            (None, address) => format!("{}:{port}", address.unwrap_or_default()),
        }
    }
}

const PORT_DEFAULT: u16 = 5432;

/// A copy that names no host: each connection adds the one that it tries.
fn without_hosts(config: &Config) -> Config {
    let mut copy = Config::new();
    copy.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    if let Some(user) = config.get_user() {
        copy.user(user);
    }
    if let Some(password) = config.get_password() {
        copy.password(password);
    }
    if let Some(name) = config.get_dbname() {
        copy.dbname(name);
    }
    if let Some(options) = config.get_options() {
        copy.options(options);
    }
    if let Some(name) = config.get_application_name() {
        copy.application_name(name);
    }
    if let Some(timeout) = config.get_connect_timeout() {
        copy.connect_timeout(*timeout);
    }
    if let Some(timeout) = config.get_tcp_user_timeout() {
        copy.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        copy.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        copy.keepalives_retries(retries);
    }
    copy
}

/// No host accepted a connection.
#[derive(Debug, Clone, Default, thiserror::Error)]
#[error("{}", .reasons.join("; "))]
pub(crate) struct ConnectError {
    /// What each address said.
    reasons: Vec<String>,
    /// The last error of the driver.
    pub(crate) last: Option<Arc<tokio_postgres::Error>>,
}

impl ConnectError {
    fn add(&mut self, server: &str, reason: &str) {
        self.reasons.push(format!("{server}: {reason}"));
    }

    fn add_error(&mut self, server: &str, error: tokio_postgres::Error) {
        self.add(server, &describe(&error));
        self.last = Some(Arc::new(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if the driver gets an option that `without_hosts` does not copy and this URL sets.
    #[test]
    fn a_connection_keeps_every_option_of_the_url() {
        let url = "postgres://u:p@h:1/d?options=o&application_name=a&sslmode=require\
             &sslnegotiation=direct&connect_timeout=2&tcp_user_timeout=3&keepalives=0\
             &keepalives_idle=4&keepalives_interval=5&keepalives_retries=6\
             &target_session_attrs=read-write&channel_binding=require&load_balance_hosts=random";
        let config: Config = url.parse().unwrap();
        let mut copy = without_hosts(&config);
        HostAddress::all_of(&config)[0].add_to(&mut copy, None);
        assert_eq!(copy, config);
    }

    #[test]
    fn hosts_have_names_and_ports() {
        let config: Config = "host=a,/run/pg hostaddr=10.0.0.1,10.0.0.2 port=1,2".parse().unwrap();
        let hosts = HostAddress::all_of(&config);
        assert_eq!(hosts[0].name(hosts[0].address), "a:1 (10.0.0.1)");
        assert_eq!(hosts[1].name(None), "/run/pg:2");
    }
}
