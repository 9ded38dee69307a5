//! Signatures of records by Ed25519 keys, as `ssh-keygen -Y sign` makes them and `ssh-keygen -Y verify` checks them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use ssh_key::public::KeyData;
use ssh_key::{Algorithm, HashAlg, LineEnding, PrivateKey, PublicKey, Signature, SshSig};

use crate::error::RecordError;

/// Signatures for another use do not count.
const NAMESPACE: &str = "file";

fn key_error(path: &Path, why: impl Into<String>) -> RecordError {
    RecordError::Key { path: path.to_path_buf(), why: why.into() }
}

/// A private key.
#[derive(Debug)]
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public: KeyData,
}

impl SigningKey {
    /// Reads a private key of OpenSSH. Fails if it is encrypted, or not Ed25519.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        const MADE_BY: &str = "`ssh-keygen -t ed25519` makes one";
        let text = fs::read(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => key_error(path, format!("is not there; {MADE_BY}")),
            _ => RecordError::io("reading", path)(error),
        })?;
        let unfit =
            || key_error(path, format!("is not a private key of OpenSSH of the kind Ed25519; {MADE_BY}"));
        let key = PrivateKey::from_openssh(text).map_err(|_| unfit())?;
        if key.is_encrypted() {
            let why = "is encrypted; run without --sign, then `ssh-keygen -Y sign -f KEY -n file RUN/run.json` asks for the passphrase";
            return Err(key_error(path, why));
        }
        let pair = key.key_data().ed25519().ok_or_else(unfit)?;
        let pair = Ed25519KeyPair::from_seed_and_public_key(&pair.private.to_bytes(), &pair.public.0)
            .map_err(|error| key_error(path, format!("does not fit its public half ({error})")))?;
        Ok(Self { pair, public: key.public_key().key_data().clone() })
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Result<String, ssh_key::Error> {
        let signed = SshSig::signed_data(NAMESPACE, HashAlg::Sha512, message)?;
        let signature = Signature::new(Algorithm::Ed25519, self.pair.sign(&signed).as_ref())?;
        SshSig::new(self.public.clone(), NAMESPACE, HashAlg::Sha512, signature)?.to_pem(LineEnding::LF)
    }
}

/// A signature that proves nothing.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the names do not")]
pub enum SignatureError {
    #[error("can't be read: {0}")]
    Form(ssh_key::Error),
    #[error("was given for the use '{0}', not for files: `ssh-keygen -Y sign -n file` gives one")]
    Use(String),
    #[error("is of the kind {0}, which `ssh-keygen -Y verify` checks; here Ed25519 is")]
    Kind(Algorithm),
    #[error("is not of the record as it is: one of them was changed, or the key was another one")]
    Broken,
}

/// The public key of whoever signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer(KeyData);

impl Signer {
    /// Fails unless the signature is of that message.
    pub fn of(message: &[u8], signature: &[u8]) -> Result<Self, SignatureError> {
        let text = signature;
        let signature = SshSig::from_pem(text).map_err(SignatureError::Form)?;
        // The reader lets wrong lengths and versions pass, which `ssh-keygen` does not.
        let again = signature.to_pem(LineEnding::LF).map_err(SignatureError::Form)?;
        let is_known = signature.version() == SshSig::VERSION && signature.reserved().is_empty();
        if !is_known || text.trim_ascii() != again.trim_end().as_bytes() {
            return Err(SignatureError::Form(ssh_key::Error::FormatEncoding));
        }
        if signature.namespace() != NAMESPACE {
            return Err(SignatureError::Use(signature.namespace().to_owned()));
        }
        let public = signature.public_key();
        let key = public.ed25519().ok_or_else(|| SignatureError::Kind(public.algorithm()))?;
        let signed =
            SshSig::signed_data(NAMESPACE, signature.hash_alg(), message).map_err(SignatureError::Form)?;
        let is_whole = UnparsedPublicKey::new(&ED25519, key.0).verify(&signed, signature.signature_bytes());
        is_whole.map_err(|_| SignatureError::Broken)?;
        Ok(Self(public.clone()))
    }

    /// The fingerprint that `ssh-keygen -l` shows.
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }
}

/// Keys whose signatures count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signers(Vec<KeyData>);

impl Signers {
    /// Reads public keys, or a file of allowed signers without options.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let text = fs::read_to_string(path).map_err(RecordError::io("reading", path))?;
        let is_key = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let keys = text.lines().map(str::trim).filter(is_key).map(|line| {
            let after_principals =
                || PublicKey::from_openssh(line.split_once(char::is_whitespace)?.1.trim()).ok();
            let key = PublicKey::from_openssh(line).ok().or_else(after_principals);
            key.map(|key| key.key_data().clone())
        });
        let keys: Option<Vec<KeyData>> = keys.collect();
        let keys = keys.filter(|keys| !keys.is_empty());
        keys.map(Self).ok_or_else(|| {
            key_error(path, "is not a public key such as ~/.ssh/id_ed25519.pub, nor signers and their keys, one a line, without options")
        })
    }

    /// True if the signer's signatures count.
    pub fn include(&self, signer: &Signer) -> bool {
        self.0.contains(&signer.0)
    }
}

#[cfg(test)]
mod tests {
    use ssh_key::private::{Ed25519Keypair, Ed25519PrivateKey};
    use ssh_key::public::Ed25519PublicKey;

    use super::*;

    /// A private key in a file, and its public half as text.
    fn key(folder: &Path, seed: u8) -> (SigningKey, String) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let public =
            Ed25519PublicKey(ring::signature::KeyPair::public_key(&pair).as_ref().try_into().unwrap());
        let private = Ed25519PrivateKey::from_bytes(&[seed; 32]);
        let key = PrivateKey::from(Ed25519Keypair { public, private });
        let file = folder.join("key");
        fs::write(&file, key.to_openssh(LineEnding::LF).unwrap()).unwrap();
        (SigningKey::read(&file).unwrap(), key.public_key().to_openssh().unwrap())
    }

    fn signers(folder: &Path, text: &str) -> Result<Signers, RecordError> {
        let file = folder.join("signers");
        fs::write(&file, text).unwrap();
        Signers::read(&file)
    }

    #[test]
    fn a_signature_is_of_one_message_and_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let ((key, public), (_, other)) = (key(folder.path(), 7), key(folder.path(), 8));
        let signature = key.sign(b"a record").unwrap();
        let signer = Signer::of(b"a record", signature.as_bytes()).unwrap();
        assert!(signer.fingerprint().starts_with("SHA256:"));
        let include = |text: &str| signers(folder.path(), text).unwrap().include(&signer);
        assert!(include(&public) && include(&format!("# ours\n{other}\n\nme@here,you {public} a comment\n")));
        assert!(!include(&other));
        let refused =
            |message: &[u8], signature: &str| Signer::of(message, signature.as_bytes()).unwrap_err();
        assert!(matches!(refused(b"a Record", &signature), SignatureError::Broken));
        assert!(matches!(refused(b"a record", "-----BEGIN SSH SIGNATURE-----"), SignatureError::Form(_)));
    }

    /// A length that reached beyond the end passed.
    #[test]
    fn every_changed_letter_of_a_signature_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let signature = key(folder.path(), 7).0.sign(b"a record").unwrap();
        for place in 0..signature.len() {
            for other in [b'A', b'Q', b'9'] {
                let mut changed = signature.clone().into_bytes();
                changed[place] = other;
                let is_seen = changed == signature.as_bytes() || Signer::of(b"a record", &changed).is_err();
                assert!(is_seen, "{place}");
            }
        }
    }

    #[test]
    fn a_file_that_holds_no_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (_, public) = key(folder.path(), 7);
        let private = fs::read_to_string(folder.path().join("key")).unwrap();
        for text in
            ["", "# nothing\n", &private, &format!("me namespaces=\"git\" {public}"), "ssh-ed25519 AAAA"]
        {
            let refused = signers(folder.path(), text).unwrap_err().to_string();
            assert!(refused.contains("is not a public key"), "{text}: {refused}");
        }
        let refused = SigningKey::read(&folder.path().join("signers")).unwrap_err().to_string();
        assert!(refused.contains("ssh-keygen -t ed25519"), "{refused}");
    }
}
