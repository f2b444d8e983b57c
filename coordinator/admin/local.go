package admin

import (
	"context"
	"io"

	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/pvi/session"
)

// Local carries out orders on a hub in this process.
type Local struct{ Hub *coordinator.Hub }

var _ API = Local{}

// Found implements [API].
func (l Local) Found(_ context.Context, f Founding) (*Founded, error) {
	founding := coordinator.Founding{File: f.File, Document: f.Document, Name: f.Name, Addresses: f.Addresses}
	s, invited, err := l.Hub.FoundFor(founding, f.Clients, f.Valid)
	if err != nil {
		return nil, err
	}
	return &Founded{Study: s.Name(), Digest: s.Digest(), Coordinator: l.Hub.Fingerprint(), Invited: invited}, nil
}

// Invite implements [API].
func (l Local) Invite(ctx context.Context, i Invitation) ([]coordinator.Invited, error) {
	s, err := l.Hub.Study(i.Study)
	if err != nil {
		return nil, err
	}
	return s.Invite(ctx, i.Clients, i.Valid)
}

// Status implements [API].
func (l Local) Status(ctx context.Context, study string) ([]coordinator.Status, error) {
	studies := l.Hub.Studies()
	if study != "" {
		s, err := l.Hub.Study(study)
		if err != nil {
			return nil, err
		}
		studies = []*coordinator.Study{s}
	}
	all := []coordinator.Status{}
	for _, s := range studies {
		status, err := s.Status(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, status)
	}
	return all, nil
}

// Begin implements [API].
func (l Local) Begin(ctx context.Context, study string) error {
	s, err := l.Hub.Study(study)
	if err != nil {
		return err
	}
	return s.Begin(ctx)
}

// Exclude implements [API].
func (l Local) Exclude(ctx context.Context, study string, client identity.Name, reason string) error {
	s, err := l.Hub.Study(study)
	if err != nil {
		return err
	}
	return s.Exclude(ctx, client, reason)
}

// Revoke implements [API].
func (l Local) Revoke(ctx context.Context, study string, client identity.Name, reason string) error {
	s, err := l.Hub.Study(study)
	if err != nil {
		return err
	}
	return s.Revoke(ctx, client, reason)
}

// Rotate implements [API].
func (l Local) Rotate(ctx context.Context, study string) error {
	s, err := l.Hub.Study(study)
	if err != nil {
		return err
	}
	return s.Rotate(ctx)
}

// Abort implements [API].
func (l Local) Abort(ctx context.Context, study, reason string) error {
	s, err := l.Hub.Study(study)
	if err != nil {
		return err
	}
	return s.Abort(ctx, reason)
}

// Posterior implements [API].
func (l Local) Posterior(ctx context.Context, study string) (*session.Posterior, error) {
	s, err := l.Hub.Study(study)
	if err != nil {
		return nil, err
	}
	return s.Posterior(ctx)
}

// Bundle implements [API].
func (l Local) Bundle(_ context.Context, study string, w io.Writer) error {
	s, err := l.Hub.Study(study)
	if err != nil {
		return err
	}
	return s.WriteBundle(w)
}
