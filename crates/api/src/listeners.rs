//! Where connections come in: an address on the network, with or without TLS, and the socket in the data directory.

use crate::connections::{self, Impatient};
use crate::router::{Door, Entrance, Peer};
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

const HEADERS_WITHIN: Duration = Duration::from_secs(10);
const HEADERS_LARGEST: usize = 64 * 1024;
const CONNECTIONS_MOST: usize = 20_000;
/// How long open requests may take to end after the signal to stop.
const FINISH_WITHIN: Duration = Duration::from_secs(7);

/// A certificate and its key, both PEM files.
#[derive(Debug, Clone)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Open listeners.
pub struct Bound {
    /// `None`: only this machine's owner is served.
    network: Option<TcpListener>,
    local: UnixListener,
    tls: Option<TlsAcceptor>,
}

impl Bound {
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.network.as_ref().ok_or(io::ErrorKind::AddrNotAvailable)?.local_addr()
    }

    async fn next_from_network(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.network {
            Some(network) => network.accept().await,
            None => std::future::pending().await,
        }
    }
}

/// Opens the address and the socket. `socket` may be left over from a process that died: its directory is ours.
pub async fn bind(address: SocketAddr, socket: &Path, tls: Option<&Tls>) -> io::Result<Bound> {
    let network = TcpListener::bind(address).await?;
    Ok(Bound { network: Some(network), tls: tls.map(acceptor).transpose()?, ..bind_socket(socket)? })
}

/// Opens the socket alone.
pub fn bind_socket(socket: &Path) -> io::Result<Bound> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let local = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
    Ok(Bound { network: None, local, tls: None })
}

fn acceptor(tls: &Tls) -> io::Result<TlsAcceptor> {
    let bad = |path: &Path, error: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {error}", path.display()))
    };
    let chain = CertificateDer::pem_file_iter(&tls.certificate).map_err(|error| bad(&tls.certificate, &error))?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(|error| bad(&tls.certificate, &error))?;
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| bad(&tls.key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| bad(&tls.certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves until `stop` is ready, then lets open requests finish.
pub async fn serve(entrance: Entrance, bound: Bound, stop: impl Future<Output = ()>, before_finishing: impl FnOnce()) {
    let connections = Arc::new(GracefulShutdown::new());
    let places = Arc::new(Semaphore::new(CONNECTIONS_MOST));
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = bound.next_from_network() => match accepted {
                Ok((stream, address)) => {
                    // Over the limit the newcomer is closed at once; those inside are not disturbed.
                    let Ok(place) = places.clone().try_acquire_owned() else { continue };
                    let (entrance, watcher, tls) = (entrance.clone(), connections.watcher(), bound.tls.clone());
                    tokio::spawn(async move {
                        welcome(entrance, watcher, tls, stream, address).await;
                        drop(place);
                    });
                }
                Err(error) => pause_after(&error).await,
            },
            accepted = bound.local.accept() => match accepted {
                Ok((stream, _)) if is_owner(&stream) => {
                    let (entrance, watcher) = (entrance.clone(), connections.watcher());
                    tokio::spawn(converse(entrance, watcher, stream, Door::Local, None));
                }
                Ok(_) => tracing::warn!("another account tried the control socket"),
                Err(error) => pause_after(&error).await,
            },
        }
    }
    drop(bound);
    before_finishing();
    if let Ok(connections) = Arc::try_unwrap(connections) {
        // What has not ended by then is cut; nothing of it was acknowledged.
        let _ = tokio::time::timeout(FINISH_WITHIN, connections.shutdown()).await;
    }
}

/// Out of file handles, most likely: waiting lets some come free.
async fn pause_after(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Only the account that runs the server, or root, may command it.
fn is_owner(stream: &UnixStream) -> bool {
    let own = std::fs::metadata("/proc/self").map(|about| std::os::unix::fs::MetadataExt::uid(&about));
    match (stream.peer_cred(), own) {
        (Ok(peer), Ok(own)) => peer.uid() == own || peer.uid() == 0,
        _ => false,
    }
}

type Watcher = hyper_util::server::graceful::Watcher;

async fn welcome(
    entrance: Entrance,
    watcher: Watcher,
    tls: Option<TlsAcceptor>,
    stream: TcpStream,
    address: SocketAddr,
) {
    if let Err(error) = connections::prepare(&stream) {
        return tracing::debug!(%error, "a connection ended before it began");
    }
    let peer = Some(Peer(address.ip()));
    match tls {
        None => converse(entrance, watcher, stream, Door::Network, peer).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HEADERS_WITHIN, acceptor.accept(stream)).await {
                converse(entrance, watcher, stream, Door::Network, peer).await;
            }
        }
    }
}

async fn converse<S>(entrance: Entrance, watcher: Watcher, stream: S, door: Door, peer: Option<Peer>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let entrance = entrance.clone();
        async move {
            let mut request = request.map(Body::new);
            if let Some(peer) = peer {
                request.extensions_mut().insert(peer);
            }
            Ok::<_, Infallible>(entrance.call(door, request).await)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(HEADERS_LARGEST)
        .serve_connection(TokioIo::new(Impatient::new(stream)), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}
