package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/pvi/session"
)

// maxOrder is the maximum size of an order in bytes.
const maxOrder = 8 << 20

// The paths of requests on the socket. Bodies are JSON; an error is text.
const (
	pathFound     = "/v1/found"
	pathInvite    = "/v1/invite"
	pathStatus    = "/v1/status"
	pathBegin     = "/v1/begin"
	pathExclude   = "/v1/exclude"
	pathRevoke    = "/v1/revoke"
	pathRotate    = "/v1/rotate"
	pathAbort     = "/v1/abort"
	pathPosterior = "/v1/posterior"
	pathBundle    = "/v1/bundle"
)

type selector struct {
	Study  string        `json:"study"`
	Client identity.Name `json:"client,omitempty"`
	Reason string        `json:"reason,omitempty"`
}

// NewServer returns an HTTP server that carries out orders with api. The caller must start it on a
// listener from [Listen].
func NewServer(api API) *http.Server {
	mux := http.NewServeMux()
	answer(mux, pathFound, api.Found)
	answer(mux, pathInvite, api.Invite)
	answer(mux, pathStatus, func(ctx context.Context, s selector) ([]coordinator.Status, error) { return api.Status(ctx, s.Study) })
	order := func(path string, do func(context.Context, selector) error) {
		answer(mux, path, func(ctx context.Context, s selector) (struct{}, error) { return struct{}{}, do(ctx, s) })
	}
	order(pathBegin, func(ctx context.Context, s selector) error { return api.Begin(ctx, s.Study) })
	order(pathExclude, func(ctx context.Context, s selector) error { return api.Exclude(ctx, s.Study, s.Client, s.Reason) })
	order(pathRevoke, func(ctx context.Context, s selector) error { return api.Revoke(ctx, s.Study, s.Client, s.Reason) })
	order(pathRotate, func(ctx context.Context, s selector) error { return api.Rotate(ctx, s.Study) })
	order(pathAbort, func(ctx context.Context, s selector) error { return api.Abort(ctx, s.Study, s.Reason) })
	answer(mux, pathPosterior, func(ctx context.Context, s selector) (*session.Posterior, error) {
		return api.Posterior(ctx, s.Study)
	})
	mux.HandleFunc("POST "+pathBundle, func(w http.ResponseWriter, r *http.Request) {
		var s selector
		if !decode(w, r, &s) {
			return
		}
		out := &started{w: w}
		if err := api.Bundle(r.Context(), s.Study, out); err != nil {
			if out.begun {
				panic(http.ErrAbortHandler) // the panic breaks the connection, so the reader sees that the body is incomplete
			}
			fail(w, err)
		}
	})
	return &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ConnContext: withGiver}
}

// started remembers whether a reply has begun, because an error can then no longer be sent as text.
type started struct {
	w     io.Writer
	begun bool
}

func (s *started) Write(b []byte) (int, error) {
	s.begun = true
	return s.w.Write(b)
}

func answer[Q, A any](mux *http.ServeMux, path string, do func(context.Context, Q) (A, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if !decode(w, r, &q) {
			return
		}
		a, err := do(r.Context(), q)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(a) //nolint:errcheck // the other end went away
	})
}

func decode(w http.ResponseWriter, r *http.Request, q any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(q); err != nil {
		http.Error(w, "unknown order: use the same version of this program as the coordinator that is running", http.StatusBadRequest)
		return false
	}
	return true
}

func fail(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusUnprocessableEntity)
}

// A Remote sends orders to a running coordinator in another process.
type Remote struct{ client *http.Client }

var _ API = (*Remote)(nil)

// Dial returns a Remote for the coordinator that is running on the state directory. If no
// coordinator is running, the error wraps [ErrNoServer].
func Dial(ctx context.Context, dir string) (*Remote, error) {
	c, err := dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	c.Close()
	connect := func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dir) }
	return &Remote{&http.Client{Transport: &http.Transport{DialContext: connect, DisableKeepAlives: true}}}, nil
}

func (r *Remote) post(ctx context.Context, path string, q any) (io.ReadCloser, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://coordinator"+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	a, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	if a.StatusCode == http.StatusOK {
		return a.Body, nil
	}
	defer a.Body.Close()
	why, err := io.ReadAll(io.LimitReader(a.Body, 1<<16))
	if err != nil {
		return nil, err
	}
	return nil, errors.New(string(bytes.TrimSpace(why)))
}

func ask[A any](ctx context.Context, r *Remote, path string, q any) (a A, err error) {
	body, err := r.post(ctx, path, q)
	if err != nil {
		return a, err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&a); err != nil {
		return a, fmt.Errorf("the coordinator's reply is incomplete: %w", err)
	}
	return a, nil
}

// order gives an order that has no reply.
func (r *Remote) order(ctx context.Context, path string, s selector) error {
	_, err := ask[struct{}](ctx, r, path, s)
	return err
}

// Found implements [API].
func (r *Remote) Found(ctx context.Context, f Founding) (*Founded, error) {
	return ask[*Founded](ctx, r, pathFound, f)
}

// Invite implements [API].
func (r *Remote) Invite(ctx context.Context, i Invitation) ([]coordinator.Invited, error) {
	return ask[[]coordinator.Invited](ctx, r, pathInvite, i)
}

// Status implements [API].
func (r *Remote) Status(ctx context.Context, study string) ([]coordinator.Status, error) {
	return ask[[]coordinator.Status](ctx, r, pathStatus, selector{Study: study})
}

// Begin implements [API].
func (r *Remote) Begin(ctx context.Context, study string) error {
	return r.order(ctx, pathBegin, selector{Study: study})
}

// Exclude implements [API].
func (r *Remote) Exclude(ctx context.Context, study string, client identity.Name, reason string) error {
	return r.order(ctx, pathExclude, selector{study, client, reason})
}

// Revoke implements [API].
func (r *Remote) Revoke(ctx context.Context, study string, client identity.Name, reason string) error {
	return r.order(ctx, pathRevoke, selector{study, client, reason})
}

// Rotate implements [API].
func (r *Remote) Rotate(ctx context.Context, study string) error {
	return r.order(ctx, pathRotate, selector{Study: study})
}

// Abort implements [API].
func (r *Remote) Abort(ctx context.Context, study, reason string) error {
	return r.order(ctx, pathAbort, selector{Study: study, Reason: reason})
}

// Posterior implements [API].
func (r *Remote) Posterior(ctx context.Context, study string) (*session.Posterior, error) {
	return ask[*session.Posterior](ctx, r, pathPosterior, selector{Study: study})
}

// Bundle implements [API].
func (r *Remote) Bundle(ctx context.Context, study string, w io.Writer) error {
	body, err := r.post(ctx, pathBundle, selector{Study: study})
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(w, body)
	return err
}
