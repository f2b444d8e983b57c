package channel

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"time"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
)

// Skew is the maximum accepted difference between two parties' clocks. A certificate becomes valid
// this long before it is issued. One day is enough even if a clock is set to the wrong time zone.
const Skew = 24 * time.Hour

// An Authority certifies the TLS keys of the parties in one study. It has its own key. A
// certificate is valid only for this study, and only if the roster has the pin (hash) of the
// certified key.
type Authority struct {
	study       Hash
	key         *Key
	certificate *x509.Certificate
}

// CreateAuthority makes a study's authority, which is valid from now to until. It writes the key to
// a new file that only the owner can read. The caller must store the certificate, which is public.
func CreateAuthority(l *keyfile.Lock, path string, study Hash, now, until time.Time) (*Authority, error) {
	if !until.After(now) {
		return nil, errors.New("the authority would expire before it begins: check the clock and the end of the study")
	}
	key, err := createKey(l, path, authorityKind, authorityComment)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	return certifyItself(key, study, now, until)
}

// certifyItself returns an authority that has the given key and a new self-signed certificate.
func certifyItself(key *Key, study Hash, now, until time.Time) (*Authority, error) {
	host := hex.EncodeToString(study[:])
	template := &x509.Certificate{
		Subject:                     pkix.Name{CommonName: "fedpvi authority"},
		NotBefore:                   now.Add(-Skew),
		NotAfter:                    until,
		URIs:                        []*url.URL{{Scheme: "spiffe", Host: host}},
		KeyUsage:                    x509.KeyUsageCertSign,
		IsCA:                        true,
		BasicConstraintsValid:       true,
		MaxPathLenZero:              true,
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         []string{domainName},
		PermittedURIDomains:         []string{host},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.public, key)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	return newAuthority(key, der, study)
}

// LoadAuthority returns the authority that has the given certificate. The file must be one that
// CreateAuthority wrote.
func LoadAuthority(l *keyfile.Lock, path string, certificate []byte, study Hash) (*Authority, error) {
	key, err := loadKey(l, path, authorityKind)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	return newAuthority(key, certificate, study)
}

func newAuthority(key *Key, der []byte, study Hash) (*Authority, error) {
	certificate, err := parseAuthority(der, study)
	if err != nil {
		return nil, err
	}
	if !key.public.Equal(certificate.PublicKey) {
		return nil, errors.New("the certificate of the authority belongs to another key than the one in its key file")
	}
	return &Authority{study: study, key: key, certificate: certificate}, nil
}

// parseAuthority decodes the self-signed certificate of a study's authority.
func parseAuthority(der []byte, study Hash) (*x509.Certificate, error) {
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, errors.New("the certificate of the authority is malformed")
	}
	if !c.IsCA || len(c.URIs) != 1 || c.URIs[0].String() != "spiffe://"+hex.EncodeToString(study[:]) {
		return nil, errors.New("the certificate does not belong to the authority of this study")
	}
	if _, ok := c.PublicKey.(ed25519.PublicKey); !ok || c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) != nil {
		return nil, errors.New("the certificate of the authority is not signed with its own Ed25519 key")
	}
	return c, nil
}

// Certificate returns the authority's own certificate (X.509, DER).
func (a *Authority) Certificate() []byte { return a.certificate.Raw }

// Issue returns a certificate (X.509, DER) for the key in a request that NewRequest made. It is
// valid from now to until, but expires no later than the authority's own certificate. The request
// must agree with p, with holder (the party's identity key) and with pin. The caller takes all
// three from the roster. To renew a certificate, call Issue again.
func (a *Authority) Issue(request []byte, p Party, holder identity.PublicKey, pin identity.Pin, now, until time.Time) ([]byte, error) {
	if p.Study != a.study {
		return nil, errors.New("the authority of a study cannot certify a party of another study")
	}
	key, err := checkRequest(request, p, holder, pin)
	if err != nil {
		return nil, err
	}
	if until.After(a.certificate.NotAfter) {
		until = a.certificate.NotAfter
	}
	if !until.After(now) {
		return nil, errors.New("the certificate would expire before it begins: the authority of the study has expired, or the clock is wrong")
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: p.Role.String() + " " + string(p.Name)},
		NotBefore:             now.Add(-Skew),
		NotAfter:              until,
		URIs:                  []*url.URL{p.uri()},
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{usage(p.Role)},
		BasicConstraintsValid: true,
	}
	if p.Role == identity.Coordinator {
		template.DNSNames = []string{ServerName(p.Study)}
	}
	return x509.CreateCertificate(rand.Reader, template, a.certificate, key, a.key)
}

// OpenAuthority returns the authority whose key is in a file that CreateAuthority wrote, with a new
// certificate that is valid from now to until. Earlier certificates remain valid.
func OpenAuthority(l *keyfile.Lock, path string, study Hash, now, until time.Time) (*Authority, error) {
	key, err := loadKey(l, path, authorityKind)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	return certifyItself(key, study, now, until)
}

// Renew returns the authority with a new certificate for the same key. It is valid from now to
// until.
func (a *Authority) Renew(now, until time.Time) (*Authority, error) {
	return certifyItself(a.key, a.study, now, until)
}

// RenewFrom returns when to start renewing the authority's certificate, which is after two thirds
// of its validity period.
func (a *Authority) RenewFrom() time.Time { return renewFrom(a.certificate) }

const authorityDomain identity.Domain = "fedpvi/v1/authority"

// Vouch signs the authority's certificate with the coordinator's identity. [CheckAuthority] checks
// the signature.
func (a *Authority) Vouch(coordinator *identity.Identity) [identity.SignatureSize]byte {
	return coordinator.Sign(authorityDomain, requestStatement(a.study, a.certificate.Raw))
}

// CheckAuthority checks that the certificate (X.509, DER) of a study's authority was signed by the
// coordinator with the given key.
func CheckAuthority(certificate []byte, study Hash, coordinator identity.PublicKey, signature []byte) error {
	if len(signature) != identity.SignatureSize || !coordinator.Verify(authorityDomain, requestStatement(study, certificate), [identity.SignatureSize]byte(signature)) {
		return errors.New("the certificate of the study's authority is not signed with the coordinator's identity")
	}
	_, err := parseAuthority(certificate, study)
	return err
}
