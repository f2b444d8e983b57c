// Package admin is how those who run a coordinator give it orders: over a socket in the
// state directory when one serves, which its owner alone may use, and else on the state
// itself. Both ways are one [API].
package admin

import (
	"context"
	"io"
	"time"

	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
)

// An API is what a coordinator can be told. A study is named by its name or the
// beginning of its digest; nothing means the only one.
type API interface {
	// Found adds a study and makes an invitation for each client.
	Found(ctx context.Context, f Founding) (*Founded, error)
	// Invite makes invitations for more clients, or new ones.
	Invite(ctx context.Context, i Invitation) ([]coordinator.Invited, error)
	// Status says where one study is, or all.
	Status(ctx context.Context, study string) ([]coordinator.Status, error)
	// Begin begins a study before all who were invited have consented.
	Begin(ctx context.Context, study string) error
	// Abort ends a study for all.
	Abort(ctx context.Context, study, reason string) error
	// Posterior returns what came out.
	Posterior(ctx context.Context, study string) (*coordinator.Posterior, error)
	// Bundle writes all that was said.
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

// An Invitation is for some clients.
type Invitation struct {
	Study   string          `json:"study"`
	Clients []identity.Name `json:"clients"`
	Valid   time.Duration   `json:"valid"`
}
