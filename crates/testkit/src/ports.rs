//! Loopback ports: reserved for a server to come, closed for good, or listening and silent. Starts no server itself.

use socket2::{Domain, Socket, Type};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

/// The address everything here listens on unless told otherwise.
pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A port number that nobody else can be given while this lives.
///
/// The socket is bound with `SO_REUSEADDR` but never listens, so connecting is refused until the server for which the
/// port is meant (which sets `SO_REUSEADDR` too) binds it and listens. No gap in which another test could take it.
#[derive(Debug)]
pub struct ReservedPort {
    number: u16,
    _held: Vec<Socket>,
}

impl ReservedPort {
    /// One port number, free on all of `addresses`.
    pub fn on(addresses: &[IpAddr]) -> Self {
        let (first, rest) = addresses
            .split_first()
            .expect("no address to reserve a port on");
        for _ in 0..100 {
            let lead = bind(*first, 0).unwrap_or_else(|e| panic!("cannot bind {first}: {e}"));
            let number = local_port(&lead);
            let others: Result<Vec<_>, _> = rest.iter().map(|a| bind(*a, number)).collect();
            if let Ok(others) = others {
                let _held = std::iter::once(lead).chain(others).collect();
                return Self { number, _held };
            }
        }
        panic!("no port is free on all of {addresses:?}");
    }

    pub fn number(&self) -> u16 {
        self.number
    }
}

/// A port that refuses connections for as long as the value lives.
pub fn closed_port() -> ReservedPort {
    ReservedPort::on(&[LOOPBACK])
}

/// A listener that never accepts: connecting works (the kernel's backlog answers), then silence.
#[derive(Debug)]
pub struct BlackHole(TcpListener);

impl BlackHole {
    pub fn start() -> Self {
        Self(TcpListener::bind((LOOPBACK, 0)).expect("bind a loopback port"))
    }

    pub fn port(&self) -> u16 {
        self.0
            .local_addr()
            .expect("address of a bound socket")
            .port()
    }
}

fn bind(address: IpAddr, port: u16) -> std::io::Result<Socket> {
    let address = SocketAddr::new(address, port);
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn local_port(socket: &Socket) -> u16 {
    let address = socket.local_addr().expect("address of a bound socket");
    address.as_socket().expect("an internet address").port()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read};
    use std::net::TcpStream;
    use std::time::Duration;

    #[test]
    fn closed_port_refuses() {
        let port = closed_port();
        let refused = TcpStream::connect((LOOPBACK, port.number())).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }

    #[test]
    fn black_hole_connects_and_says_nothing() {
        let hole = BlackHole::start();
        let mut stream = TcpStream::connect((LOOPBACK, hole.port())).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        assert_eq!(
            stream.read(&mut [0; 1]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
    }
}
