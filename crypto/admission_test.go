package crypto

import (
	"crypto/sha256"
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
)

var (
	study = sha256.Sum256([]byte("a study document"))
	today = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	end   = today.AddDate(0, 6, 0)
)

func now() time.Time { return today }

// A site has the keys and the roster entry of one party.
type site struct {
	party    channel.Party
	identity *identity.Identity
	tls      *channel.Key
	sealing  *seal.Key
	entry    roster.Entry
	request  []byte // certificate request
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newSite(t *testing.T, name identity.Name, role identity.Role) site {
	dir := filepath.Join(t.TempDir(), "keys")
	s := site{party: channel.Party{Study: study, Role: role, Name: name}}
	var err error
	s.identity, err = identity.Create(nil, filepath.Join(dir, "identity.key"))
	check(t, err)
	s.tls, err = channel.CreateKey(nil, filepath.Join(dir, "tls.key"))
	check(t, err)
	s.sealing, err = seal.Create(nil, filepath.Join(dir, "sealing.key"))
	check(t, err)
	s.entry, err = roster.NewEntry(s.identity, study, name, role, s.tls.Pin(), s.sealing.Recipient())
	check(t, err)
	s.request, err = channel.NewRequest(s.identity, s.tls, s.party)
	check(t, err)
	return s
}

// admit does a coordinator's work to admit a guest.
func admit(t *testing.T, a *channel.Authority, tickets []invitation.Ticket, token, entry, request []byte) ([]invitation.Ticket, roster.Entry, []byte) {
	t.Helper()
	e, err := roster.ParseEntry(entry, study)
	check(t, err)
	tickets, ticket, err := invitation.Redeem(tickets, study, token, e.Key, today)
	check(t, err)
	if ticket.Name != e.Name || e.Role != identity.Client {
		t.Fatal("the entry of the guest is not for the invited client")
	}
	p := channel.Party{Study: study, Role: e.Role, Name: e.Name}
	certificate, err := a.Issue(request, p, e.Key, e.Pin, today, end)
	check(t, err)
	return tickets, e, certificate
}

func TestPartyJoinsAndAnswers(t *testing.T) {
	hub := newSite(t, "hub", identity.Coordinator)
	authority, err := channel.CreateAuthority(nil, filepath.Join(t.TempDir(), "keys", "authority.key"), study, today, end)
	check(t, err)

	// The coordinator makes an invitation. The client parses it and makes its keys.
	made, ticket, err := invitation.New(invitation.Invitation{
		Study: study, Name: "north", Coordinator: hub.identity.Fingerprint(), Pin: hub.tls.Pin(),
		Addresses: []string{"hub.example.org:7443"}, Expires: today.Add(time.Hour),
	})
	check(t, err)
	read, err := invitation.Parse(made.Text())
	check(t, err)
	north := newSite(t, read.Name, identity.Client)

	// The client connects as a guest. It sends its invitation's token, its roster entry and its
	// certificate request.
	hubCertificate, err := authority.Issue(hub.request, hub.party, hub.identity.Public(), hub.tls.Pin(), today, end)
	check(t, err)
	hubCredentials, err := channel.NewCredentials(hub.party, hub.tls, authority.Certificate(), hubCertificate, today)
	check(t, err)
	var members *roster.Roster
	pins := func(p channel.Party) (identity.Pin, bool) {
		e, ok := members.Named(p.Name)
		return e.Pin, ok && e.Role == p.Role && p.Study == members.Study
	}
	members, err = roster.New(study, []roster.Entry{hub.entry})
	check(t, err)
	server := channel.Server{Credentials: hubCredentials, Pins: pins, Guests: true, Now: now}.Config()
	if peer := connect(t, channel.Join(read.Study, read.Pin, now), server); peer != (channel.Party{}) {
		t.Fatalf("the server sees the guest as %v", peer)
	}
	tickets, entry, certificate := admit(t, authority, []invitation.Ticket{ticket}, read.Token.Reveal(), north.entry.Bytes(), north.request)
	if _, _, err := invitation.Redeem(tickets, study, read.Token.Reveal(), hub.identity.Public(), today); err == nil {
		t.Error("the invitation can be used twice")
	}

	// The coordinator signs the roster with both parties. The client verifies it.
	members, err = roster.New(study, []roster.Entry{hub.entry, entry})
	check(t, err)
	header := signed.Header{Version: signed.MaxVersion, Domain: signed.Roster, Study: study, Roster: members.Hash()}
	envelope, err := signed.Sign(hub.identity, header, members.Bytes())
	check(t, err)
	if hub.identity.Fingerprint() != read.Coordinator {
		t.Fatal("the key of the coordinator is not the one in the invitation")
	}
	message, err := signed.Verify(envelope, hub.identity.Public(), header)
	check(t, err)
	got, err := roster.Parse(message.Payload, read.Study)
	check(t, err)
	if got.Hash() != message.Header.Roster || got.Coordinator().Pin != read.Pin {
		t.Fatal("the roster differs from the signed one")
	}

	// The client connects again, now as a party.
	credentials, err := channel.NewCredentials(north.party, north.tls, authority.Certificate(), certificate, today)
	check(t, err)
	if peer := connect(t, channel.Client{Credentials: credentials, Pins: pins, Now: now}.Config(), server); peer != north.party {
		t.Fatalf("the server sees the client as %v", peer)
	}
	answers(t, hub, north, got)
}

func answers(t *testing.T, hub, north site, members *roster.Roster) {
	t.Helper()
	const size = 1000
	header := signed.Header{
		Version: signed.MaxVersion, Domain: signed.Release, Study: study, Round: 1,
		Roster: members.Hash(), LedgerSeq: 1, Sender: north.identity.Fingerprint(),
	}
	answer := strings.Repeat("a number that passed the gate ", 10)
	sealed, err := seal.Seal(members.Coordinator().Recipient, header.Bytes(), []byte(answer), size)
	check(t, err)
	envelope, err := signed.Sign(north.identity, header, sealed)
	check(t, err)
	if strings.Contains(string(envelope), "gate") {
		t.Error("the envelope contains the answer in the clear")
	}

	claims, err := signed.Claims(envelope)
	check(t, err)
	sender, ok := members.Named("north")
	if !ok || sender.Key.Fingerprint() != claims.Sender {
		t.Fatal("the sender is not in the roster")
	}
	message, err := signed.Verify(envelope, sender.Key, header)
	check(t, err)
	opened, err := hub.sealing.Open(message.Payload, message.Header.Bytes(), size)
	if err != nil || string(opened) != answer {
		t.Errorf("%q, %v", opened, err)
	}
	other := message.Header
	other.Round++
	if _, err := hub.sealing.Open(message.Payload, other.Bytes(), size); err == nil {
		t.Error("an answer opens in another round")
	}
	if _, err := north.sealing.Open(message.Payload, header.Bytes(), size); err == nil {
		t.Error("the sender can open the sealed answer")
	}
}

func connect(t *testing.T, client, server *tls.Config) channel.Party {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	check(t, err)
	defer listener.Close()
	failed := make(chan error, 1)
	go func() {
		c, err := tls.Dial("tcp", listener.Addr().String(), client)
		if err == nil {
			_, err = c.Read(make([]byte, 1))
			c.Close()
		}
		failed <- err
	}()
	c, err := listener.Accept()
	check(t, err)
	_, err = c.Write([]byte{1})
	check(t, err)
	check(t, <-failed)
	peer, err := channel.PeerOf(c.(*tls.Conn).ConnectionState())
	check(t, err)
	check(t, c.Close())
	return peer
}
