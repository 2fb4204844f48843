//! Where and for whom is listened: the command line first, then the environment.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};

use crate::cli;
use crate::config::{Problem, Problems};

const HOST: &str = "IMAP_MCP_HTTP_HOST";
const PORT: &str = "IMAP_MCP_HTTP_PORT";

/// The largest request: a draft with what is attached to it.
pub(super) const MOST_BODY: usize = 4 << 20;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Settings {
    pub host: IpAddr,
    pub port: u16,
}

impl cli::Http {
    pub(crate) fn settings(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Settings, Problems> {
        let (mut host, mut port) = (None, None);
        for (name, value) in variables {
            if value.is_empty() {
                continue;
            }
            let value = || value.to_string_lossy().into_owned();
            if name == HOST {
                host = Some(value());
            } else if name == PORT {
                port = Some(value());
            }
        }
        let host = self.host.clone().or(host);
        let host = host.as_deref().unwrap_or("127.0.0.1");
        let host = match host {
            "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            other => other.trim_matches(['[', ']']).parse().map_err(|_| {
                let what = "is no IP address; such as 127.0.0.1 or ::1".to_owned();
                Problems(vec![Problem::variable(HOST, what)])
            }),
        }?;
        let port = match (self.port, port) {
            (Some(port), _) => port,
            (None, None) => 0,
            (None, Some(text)) => text.parse().map_err(|_| {
                let what = "is no port; a number from 0 to 65535, where 0 takes a free one";
                Problems(vec![Problem::variable(PORT, what.to_owned())])
            })?,
        };
        Ok(Settings { host, port })
    }
}
