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
)

// Skew is by how much the clock of a party may be late: certificates begin that much
// before they are made.
const Skew = 5 * time.Minute

// An Authority certifies the keys of the parties of one study. Its own key is another
// than any party's. What it certifies is good for this study only, and only where the
// roster has a pin for it.
type Authority struct {
	study       Hash
	key         *Key
	certificate *x509.Certificate
}

// CreateAuthority makes the authority of a study, for the time from now to until. Its
// key is kept in a new file for its owner alone; its certificate, which is no secret, is
// for the caller to keep.
func CreateAuthority(path string, study Hash, now, until time.Time) (*Authority, error) {
	if !until.After(now) {
		return nil, errors.New("an authority that ends before it begins: check the clock, and until when the study runs")
	}
	key, err := createKey(path, authorityKind, authorityComment)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
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

// LoadAuthority reads the key that CreateAuthority kept, and takes its certificate.
func LoadAuthority(path string, certificate []byte, study Hash) (*Authority, error) {
	key, err := loadKey(path, authorityKind)
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
		return nil, errors.New("the certificate of the authority is of another key than the one in its file")
	}
	return &Authority{study: study, key: key, certificate: certificate}, nil
}

// parseAuthority checks that a certificate is of the authority of a study, by its own word.
func parseAuthority(der []byte, study Hash) (*x509.Certificate, error) {
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, errors.New("the certificate of the authority is malformed")
	}
	if !c.IsCA || len(c.URIs) != 1 || c.URIs[0].String() != "spiffe://"+hex.EncodeToString(study[:]) {
		return nil, errors.New("the certificate is not of the authority of this study")
	}
	if _, ok := c.PublicKey.(ed25519.PublicKey); !ok || c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) != nil {
		return nil, errors.New("the certificate of the authority is not signed with its own Ed25519 key")
	}
	return c, nil
}

// Certificate returns the authority's own certificate (X.509, DER).
func (a *Authority) Certificate() []byte { return a.certificate.Raw }

// Issue certifies the key in a request of NewRequest, for the time from now to until, cut
// to the authority's own. The party, its identity and the pin are what the roster has:
// the request must agree with all of them. Asking again renews.
func (a *Authority) Issue(request []byte, p Party, holder identity.PublicKey, pin identity.Pin, now, until time.Time) ([]byte, error) {
	if p.Study != a.study {
		return nil, errors.New("the authority of a study certifies no party of another")
	}
	key, err := checkRequest(request, p, holder, pin)
	if err != nil {
		return nil, err
	}
	if until.After(a.certificate.NotAfter) {
		until = a.certificate.NotAfter
	}
	if !until.After(now) {
		return nil, errors.New("a certificate that ends before it begins: the authority of the study has expired, or the clock is wrong")
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
