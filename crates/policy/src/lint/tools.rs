//! Capabilities that cannot be used.

use mail::Level;

use super::{Code, Site, Warning};
use crate::{Capability, Policy};

pub(super) fn look(caller: &str, policy: &Policy, found: &mut Vec<Warning>) {
    let sites: Vec<Site<'_>> = Site::all(caller, policy).collect();
    for site in &sites {
        let elsewhere = || sites.iter().filter(|other| !other.is(site));
        for one in site.folder.capabilities.iter() {
            let name = one.name();
            let useless = match one {
                Capability::MarkSeen | Capability::MarkTagged | Capability::MoveOut
                    if site.folder.ceiling() < Level::Metadata =>
                {
                    let text = format!(
                        "{name} needs messages that show METADATA, and none here does; \
                         remove it, or grant more"
                    );
                    Some((Code::NothingToChange, text))
                }
                Capability::MoveOut if !elsewhere().any(accepts) => {
                    let text = format!(
                        "{name}, and no other folder has accept_incoming; remove it, or give that"
                    );
                    Some((Code::NowhereToMove, text))
                }
                Capability::AcceptIncoming if !elsewhere().any(shows) => {
                    let text = format!(
                        "{name}, and no other folder shows a message to move or copy; \
                         remove it, or grant METADATA elsewhere"
                    );
                    Some((Code::NothingToAccept, text))
                }
                Capability::MarkSeen
                | Capability::MarkTagged
                | Capability::MoveOut
                | Capability::AcceptIncoming
                | Capability::DraftAppend => None,
            };
            found.extend(useless.map(|(code, text)| site.warn(code, text)));
        }
    }
}

fn accepts(site: &Site<'_>) -> bool {
    site.folder.capabilities.has(Capability::AcceptIncoming)
}

fn shows(site: &Site<'_>) -> bool {
    site.folder.ceiling() >= Level::Metadata
}
