//! Which trace of somebody else's a call belongs to (W3C Trace Context, version 00). Two numbers and a switch, no words.

/// The caller's span, as `traceparent` names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceParent {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub sampled: Sampled,
}

/// Whether the caller keeps its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampled {
    Yes,
    No,
}

impl TraceParent {
    /// `00-<32 hex>-<16 hex>-<2 hex>`, in lower case and without a number that is all zeros; anything else is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if version != "00" || parts.next().is_some() {
            return None;
        }
        let (trace, span): ([u8; 16], [u8; 8]) = (octets(trace)?, octets(span)?);
        let [flags]: [u8; 1] = octets(flags)?;
        if trace == [0; 16] || span == [0; 8] {
            return None;
        }
        let sampled = match flags & 1 {
            1 => Sampled::Yes,
            _ => Sampled::No,
        };
        Some(Self {
            trace,
            span,
            sampled,
        })
    }
}

fn octets<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if hex.len() != 2 * N {
        return None;
    }
    let mut octets = [0; N];
    for (octet, pair) in octets.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *octet = digit(*high)? << 4 | digit(*low)?;
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_just_so_is_no_parent() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parsed = TraceParent::parse(good).unwrap();
        assert_eq!((parsed.trace[0], parsed.span[7]), (0x0a, 0x31));
        assert_eq!(parsed.sampled, Sampled::Yes);
        let unsampled = TraceParent::parse(&good.replace("-01", "-00")).unwrap();
        assert_eq!(unsampled.sampled, Sampled::No);
        for bad in [
            "",
            "00",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-äf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }
}
