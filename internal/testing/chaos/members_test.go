package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"fedpvi/client"
	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/transport"
)

// change carries out a fault that somebody causes on purpose, or time: p gets new keys, p's keys
// are revoked, or months pass.
func (w *world) change(p *process, f fault) {
	switch {
	case f.Kind == months:
		w.pass(f.For)
	case f.Kind == revoke:
		w.revoke(p)
	case p.index == 0:
		w.order("the coordinator gets new keys", "already has new keys", rotate)
	default:
		w.mu.Lock()
		defer w.mu.Unlock()
		p.fresh++
		if l := p.life; l != nil && !l.dead { // no two processes can use the state directory
			w.tell("%s is stopped for new keys", p.name)
			l.excuse("it was stopped for new keys")
			l.end()
		}
	}
}

// rotate gives the coordinator new keys. An invitation contains its old keys. So rotate returns an
// error until all clients have consented, and the caller tries again later.
func rotate(ctx context.Context, s *coordinator.Study) error {
	status, err := s.Status(ctx)
	if err != nil {
		return err
	}
	for _, c := range status.Clients {
		if c.State == "invited" || c.State == "joined" {
			return errLost
		}
	}
	return s.Rotate(ctx)
}

// pass sets all clocks forward. It waits until the study has begun, because invitations expire.
func (w *world) pass(d time.Duration) {
	for w.ctx.Err() == nil {
		w.mu.Lock()
		if begun := len(w.model.items) > 0; begun {
			for _, p := range w.parts {
				p.skew += d
			}
			w.tell("%v pass", d)
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		rest(w.ctx, between)
	}
}

// revoke waits until the study has begun, and then revokes a client's keys.
func (w *world) revoke(p *process) {
	for begun := false; !begun && w.ctx.Err() == nil; rest(w.ctx, time.Second) {
		w.mu.Lock()
		begun = len(w.model.items) > 0
		p.revoked = begun
		w.mu.Unlock()
	}
	done := w.order("the keys of "+p.name+" are revoked", "no longer takes part", func(ctx context.Context, s *coordinator.Study) error {
		return s.Revoke(ctx, identity.Name(p.name), "its machine was stolen")
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	p.revoked = done
}

// order repeats an order until the coordinator carries it out or refuses it for good. It reports
// whether the order was carried out. If the coordinator is killed after it has carried out the
// order, the next attempt returns an error that contains the text done.
func (w *world) order(says, done string, give func(context.Context, *coordinator.Study) error) bool {
	for w.ctx.Err() == nil {
		w.mu.Lock()
		to := w.address
		w.mu.Unlock()
		if to != nil {
			err := give(to.life.ctx, to.study)
			w.mu.Lock()
			if to.life.dead {
				err = errLost
			}
			w.tell("order: %s: %v", says, err)
			w.known = append(w.known, keysOf(w, w.sealingPath(), seal.Load)...)
			w.mu.Unlock()
			var refused *transport.Refusal
			switch {
			case err == nil || strings.Contains(err.Error(), done):
				return true
			case errors.Is(err, errLost), errors.Is(err, context.Canceled), errors.As(err, &refused): // tried again
			default:
				return false
			}
		}
		rest(w.ctx, 10*time.Second)
	}
	return false
}

// freshKeys gives a client new keys if its operator wants that.
func (w *world) freshKeys(l *life, c *client.Client, m *client.Member, k *link) error {
	w.mu.Lock()
	wanted := l.p.fresh > 0
	w.mu.Unlock()
	if !wanted {
		return nil
	}
	err := c.Rotate(l.ctx, m, func(context.Context) (client.Renewer, func() error, error) { return k, k.Close, nil })
	if err != nil && !isRefusal(err) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l.p.fresh--
	w.tell("%s gets new keys: %v", l.p.name, err)
	return nil
}

func isRefusal(err error) bool {
	var own *client.Refusal
	var its *transport.Refusal
	return errors.As(err, &own) || errors.As(err, &its)
}

// keysOf returns every version of one of the coordinator's keys.
func keysOf[K any](w *world, path string, load func(*keyfile.Lock, string) (K, error)) (all []K) {
	paths, err := keyfile.Versions(filepath.Join(w.parts[0].dir, path))
	for _, path := range paths {
		k, loadErr := load(nil, path)
		if err = errors.Join(err, loadErr); loadErr == nil {
			all = append(all, k)
		}
	}
	if err != nil {
		w.fail("the keys of the coordinator: %v", err)
	}
	return all
}

// signerOf returns the coordinator's identity that signed an envelope.
func (w *world) signerOf(envelope []byte) *identity.Identity {
	claims, err := signed.Claims(envelope)
	for _, i := range keysOf(w, "identity.key", identity.Load) {
		if err == nil && i.Fingerprint() == claims.Sender {
			return i
		}
	}
	return w.coordinator
}

func (w *world) sealingPath() string {
	return filepath.Join("studies", fmt.Sprintf("%x", w.hash), "sealing.key")
}

// openAnswer decrypts an answer. It tries all keys of the coordinator that the world has seen,
// because the coordinator destroys a key when it gets a new one, and when the study ends.
func (w *world) openAnswer(h signed.Header, body []byte) ([]byte, error) {
	payload, err := w.sealing.Open(body, h.Bytes(), w.maxRelease)
	if err == nil {
		return payload, nil
	}
	for _, key := range append(keysOf(w, w.sealingPath(), seal.Load), w.known...) {
		if payload, err = key.Open(body, h.Bytes(), w.maxRelease); err == nil {
			return payload, nil
		}
	}
	return nil, err
}
