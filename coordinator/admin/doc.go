// Package admin carries an operator's orders to a coordinator. If the coordinator is running, the orders go
// over a socket in its state directory, which only the owner may use. Otherwise [Local] carries out the
// orders on a state directory that the caller has opened. [Remote] and [Local] implement [API].
package admin

import (
	"context"
	"io"
	"time"

	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/pvi/session"
)

// An API is the set of orders. The parameter study is the name of a study or the beginning of its digest.
// An empty string means the only study.
type API interface {
	// Found adds a study and makes an invitation for each client.
	Found(ctx context.Context, f Founding) (*Founded, error)
	// Invite makes invitations for more clients, and new invitations for clients that have not joined.
	Invite(ctx context.Context, i Invitation) ([]coordinator.Invited, error)
	// Status returns the status of one study, or of all studies if study is empty.
	Status(ctx context.Context, study string) ([]coordinator.Status, error)
	// Begin begins a study before all invited clients have consented.
	Begin(ctx context.Context, study string) error
	// Abort ends a study for all clients.
	Abort(ctx context.Context, study, reason string) error
	// Posterior returns the posterior of a study that ended.
	Posterior(ctx context.Context, study string) (*session.Posterior, error)
	// Bundle writes the study's bundle (see package bundle) to w.
	Bundle(ctx context.Context, study string, w io.Writer) error
}

// A Founding is a new study.
type Founding struct {
	File      string          `json:"file"` // for errors
	Document  []byte          `json:"document"`
	Name      identity.Name   `json:"name,omitempty"` // of the coordinator
	Addresses []string        `json:"addresses"`
	Clients   []identity.Name `json:"clients"`
	Valid     time.Duration   `json:"valid"` // of the invitations
}

// A Founded is a study that was added.
type Founded struct {
	Study       string                `json:"study"`
	Digest      string                `json:"digest"`
	Coordinator identity.Fingerprint  `json:"coordinator"`
	Invited     []coordinator.Invited `json:"invited"`
}

// An Invitation asks for invitations for clients.
type Invitation struct {
	Study   string          `json:"study"`
	Clients []identity.Name `json:"clients"`
	Valid   time.Duration   `json:"valid"`
}
