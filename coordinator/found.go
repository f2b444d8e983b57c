package coordinator

import (
	"errors"
	"fmt"
	"os"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/pvi/study"
)

// A Founding is the configuration of a new study.
type Founding struct {
	File      string // name of the study document, for error messages
	Document  []byte
	Name      identity.Name // the coordinator's name in the study's roster; default "coordinator"
	Addresses []string      // the coordinator's addresses (host:port) for clients, in order of preference
}

const (
	defaultName  = identity.Name("coordinator")
	defaultValid = 365 * 24 * time.Hour
)

// Found adds a study to the hub and starts it. In one transaction, it stores the study, its
// certificate authority, the key that decrypts answers, and an invitation for each of the given
// clients.
func (h *Hub) Found(f Founding, clients []identity.Name, valid time.Duration) (*Study, []Invited, error) {
	document, err := study.Parse(f.File, f.Document)
	if err != nil {
		return nil, nil, err
	}
	if _, err := largestBody(document); err != nil {
		return nil, nil, err // the study document is invalid for any number of clients
	}
	if f.Name == "" {
		f.Name = defaultName
	}
	if n := len(f.Addresses); n == 0 || n > invitation.MaxAddresses {
		return nil, nil, fmt.Errorf("%d addresses: give 1 to %d host:port addresses at which clients reach this coordinator", n, invitation.MaxAddresses)
	}
	if err := checkNames(f.Name, nil, clients); err != nil {
		return nil, nil, err
	}
	hash := Hash(document.Digest)
	h.founding.Lock()
	defer h.founding.Unlock()
	h.mu.RLock()
	_, there := h.studies[hash]
	h.mu.RUnlock()
	if there {
		return nil, nil, fmt.Errorf("study %s (%s) exists already: invite more clients with coordinator invite, or change the document to make another study", document.Name, short(hash))
	}
	invited, err := h.create(hash, f, clients, valid)
	if err != nil {
		return nil, nil, err
	}
	s, err := h.load(hash)
	if err != nil {
		return nil, nil, err
	}
	h.options.Log.Info("a study was added", "study", document.Name, "digest", short(hash))
	return s, invited, nil
}

// create makes a study's keys, and writes the study and its invitations to the store. If an
// interrupted attempt left keys behind, they were never used, and create replaces them.
func (h *Hub) create(hash Hash, f Founding, clients []identity.Name, valid time.Duration) (invited []Invited, err error) {
	if err := os.RemoveAll(h.files.study(hash)); err != nil {
		return nil, err
	}
	now := h.options.Now()
	authority, err := channel.CreateAuthority(h.files.lock, h.files.authority(hash), hash, now, now.Add(defaultValid))
	if err != nil {
		return nil, err
	}
	sealing, err := seal.Create(h.files.lock, h.files.sealing(hash))
	if err != nil {
		return nil, err
	}
	who, key := h.keys.newest()
	entry, err := roster.NewEntry(who, hash, f.Name, identity.Coordinator, key.Pin(), sealing.Recipient())
	if err != nil {
		return nil, err
	}
	var tickets []invitation.Ticket
	for _, name := range clients {
		i, ticket, err := h.invite(hash, entry, name, f.Addresses, now.Add(valid))
		if err != nil {
			return nil, err
		}
		invited, tickets = append(invited, i), append(tickets, ticket)
	}
	return invited, h.store.Update(func(tx *store.Tx) error {
		kept, err := tx.Create(hash, store.Fixed{
			Document: f.Document, Name: string(f.Name), Addresses: f.Addresses,
			Authority: authority.Certificate(), Entry: entry.Bytes(),
		})
		for _, ticket := range tickets {
			if err == nil {
				err = kept.PutTicket(string(ticket.Name), ticket)
			}
		}
		return err
	})
}

// invite makes an invitation to a study, and the ticket that the store needs to recognise it. The
// caller must store the ticket. own is the coordinator's roster entry.
func (h *Hub) invite(study Hash, own roster.Entry, name identity.Name, addresses []string, expires time.Time) (Invited, invitation.Ticket, error) {
	i, ticket, err := invitation.New(invitation.Invitation{
		Study: study, Name: name, Coordinator: own.Key.Fingerprint(), Pin: own.Pin,
		Addresses: addresses, Expires: expires.Truncate(time.Second),
	})
	if err != nil {
		return Invited{}, invitation.Ticket{}, err
	}
	return Invited{name, i.Text(), ticket.Expires}, ticket, nil
}

// Invited is an invitation for a client.
type Invited struct {
	Name    identity.Name `json:"name"`
	Text    string        `json:"invitation"` // secret text; anyone who has it can join under the client's name
	Expires time.Time     `json:"expires"`
}

var errSimilar = errors.New("the name looks like another name in the study: choose one that cannot be confused with it")
