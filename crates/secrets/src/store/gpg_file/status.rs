//! What gpg says to programs: status lines and lists with colons (doc/DETAILS of GnuPG). Its words to people are not read.

/// The status lines: keyword, and what stands behind it.
#[derive(Debug)]
pub(super) struct Status<'a> {
    lines: Vec<(&'a str, &'a str)>,
}

/// Why nothing was decrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trouble {
    NoKey,
    Locked,
    NotEncrypted,
    Damaged,
    Unknown,
}

const PREFIX: &str = "[GNUPG:] ";

impl<'a> Status<'a> {
    pub(super) fn of(stderr: &'a [u8]) -> Self {
        let lines = stderr.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| {
            let line = std::str::from_utf8(line).ok()?.strip_prefix(PREFIX)?;
            Some(line.split_once(' ').unwrap_or((line, "")))
        });
        Self {
            lines: lines.collect(),
        }
    }

    pub(super) fn has(&self, keyword: &str) -> bool {
        self.lines.iter().any(|(known, _)| *known == keyword)
    }

    pub(super) fn trouble(&self) -> Trouble {
        let locked = ["MISSING_PASSPHRASE", "BAD_PASSPHRASE"];
        match () {
            () if locked.iter().any(|keyword| self.has(keyword)) => Trouble::Locked,
            () if self.failed_at("pkdecrypt_failed") => Trouble::Locked,
            () if self.has("NO_SECKEY") => Trouble::NoKey,
            () if self.has("DECRYPTION_OKAY") => Trouble::Unknown,
            () if self.has("DECRYPTION_FAILED") || self.has("BADMDC") => Trouble::Damaged,
            () if self.has("BEGIN_DECRYPTION") => Trouble::Damaged,
            () if self.has("ENC_TO") => Trouble::Unknown,
            // Nothing of OpenPGP, or nothing that is encrypted.
            () if self.has("NODATA") || self.has("PLAINTEXT") => Trouble::NotEncrypted,
            () => Trouble::Unknown,
        }
    }

    /// `ERROR where code`. Of this place the code makes no difference: the key is there, and could not be used. No passphrase, a
    /// wrong one, nobody to ask, no terminal to ask on.
    fn failed_at(&self, place: &str) -> bool {
        let errors = self.lines.iter();
        let mut errors = errors.filter(|(keyword, _)| *keyword == "ERROR");
        errors.any(|(_, rest)| rest.split(' ').next() == Some(place))
    }
}

/// Of each primary key in a list with colons.
pub(super) fn fingerprints(list: &[u8]) -> impl Iterator<Item = String> {
    let mut of_key = false;
    list.split(|byte| *byte == b'\n').filter_map(move |line| {
        let line = std::str::from_utf8(line).ok()?;
        let mut fields = line.split(':');
        match fields.next()? {
            "sec" => of_key = true,
            "fpr" if of_key => {
                of_key = false;
                let fingerprint = fields.nth(8)?;
                let whole = fingerprint.len() >= 40
                    && fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit());
                return whole.then(|| fingerprint.to_owned());
            }
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_say_why() {
        for (said, want) in [
            (
                "[GNUPG:] NO_SECKEY ABCD\n[GNUPG:] DECRYPTION_FAILED",
                Trouble::NoKey,
            ),
            (
                "[GNUPG:] NODATA 1\n[GNUPG:] NODATA 2",
                Trouble::NotEncrypted,
            ),
            ("[GNUPG:] PLAINTEXT 62 0 ", Trouble::NotEncrypted),
            (
                "[GNUPG:] ENC_TO AB 1 0\n[GNUPG:] ERROR pkdecrypt_failed 83886179\n[GNUPG:] DECRYPTION_FAILED",
                Trouble::Locked,
            ),
            (
                "[GNUPG:] BAD_PASSPHRASE AB\n[GNUPG:] DECRYPTION_FAILED",
                Trouble::Locked,
            ),
            (
                "[GNUPG:] BEGIN_DECRYPTION\n[GNUPG:] BADMDC",
                Trouble::Damaged,
            ),
            ("gpg: [GNUPG:] NO_SECKEY ABCD", Trouble::Unknown),
            ("", Trouble::Unknown),
            (
                "[GNUPG:] ERROR\n[GNUPG:] ERROR x\n[GNUPG:] ERROR x y",
                Trouble::Unknown,
            ),
        ] {
            assert_eq!(Status::of(said.as_bytes()).trouble(), want, "{said}");
        }
        assert_eq!(Status::of(b"[GNUPG:] \xff").trouble(), Trouble::Unknown);
    }

    #[test]
    fn one_fingerprint_is_that_of_one_key() {
        let key = "A".repeat(40);
        let list = format!("sec:u:\nfpr:::::::::{key}:\nuid:\nssb:\nfpr:::::::::{key}:\n");
        let of = |list: &str| fingerprints(list.as_bytes()).count();
        assert_eq!(fingerprints(list.as_bytes()).next(), Some(key));
        for (list, count) in [
            (list.clone(), 1),
            (list.repeat(2), 2),
            (String::new(), 0),
            ("sec:\nfpr:::::::::short:\n".to_owned(), 0),
            ("fpr\nsec\nfpr\n".to_owned(), 0),
        ] {
            assert_eq!(of(&list), count, "{list}");
        }
    }
}
