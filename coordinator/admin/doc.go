// Package admin carries out an operator's orders to a coordinator, such as adding a study. If the
// coordinator is running, a [Remote] sends it the orders through a socket in the state directory,
// which only the owner of the directory can use. Otherwise [Local] carries them out in this
// process. Both implement [API].
package admin

import (
	"context"
	"io"
	"time"

	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/pvi/session"
)

// An API carries out the orders of an operator. The parameter study selects a study by its name or
// the first digits of its digest. If it is empty, the only study is selected.
type API interface {
	// Found adds a study and makes an invitation for each client.
	Found(ctx context.Context, f Founding) (*Founded, error)
	// Invite makes invitations for more clients, and new ones for clients that have not joined.
	Invite(ctx context.Context, i Invitation) ([]coordinator.Invited, error)
	// Status returns the status of the selected study, or of all studies if the string is empty.
	Status(ctx context.Context, study string) ([]coordinator.Status, error)
	// Begin begins a study before all invited clients have consented.
	Begin(ctx context.Context, study string) error
	// Exclude excludes a client from the rest of a study.
	Exclude(ctx context.Context, study string, client identity.Name, reason string) error
	// Revoke makes the keys of a client invalid in a study.
	Revoke(ctx context.Context, study string, client identity.Name, reason string) error
	// Rotate gives the coordinator new keys in a study.
	Rotate(ctx context.Context, study string) error
	// Abort ends a study for all clients.
	Abort(ctx context.Context, study, reason string) error
	// Posterior returns the posterior of a study that is over and was not aborted.
	Posterior(ctx context.Context, study string) (*session.Posterior, error)
	// Bundle writes the study's bundle (see package bundle) to w.
	Bundle(ctx context.Context, study string, w io.Writer) error
}

// A Founding is an order to add a study.
type Founding struct {
	File      string          `json:"file"` // file name for error messages
	Document  []byte          `json:"document"`
	Name      identity.Name   `json:"name,omitempty"`
	Addresses []string        `json:"addresses"`
	Clients   []identity.Name `json:"clients"`
	Valid     time.Duration   `json:"valid"` // validity period of the invitations
}

// A Founded describes a new study and its clients' invitations.
type Founded struct {
	Study       string                `json:"study"`
	Digest      string                `json:"digest"`
	Coordinator identity.Fingerprint  `json:"coordinator"`
	Invited     []coordinator.Invited `json:"invited"`
}

// An Invitation is an order to make invitations for clients.
type Invitation struct {
	Study   string          `json:"study"`
	Clients []identity.Name `json:"clients"`
	Valid   time.Duration   `json:"valid"`
}
