package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/session"
)

// A clerk is an API whose methods all return an error.
type clerk struct{}

var errNo = errors.New("no")

func (clerk) Found(context.Context, Founding) (*Founded, error) { return nil, errNo }
func (clerk) Invite(context.Context, Invitation) ([]coordinator.Invited, error) {
	return nil, errNo
}
func (clerk) Status(context.Context, string) ([]coordinator.Status, error) { return nil, errNo }
func (clerk) Begin(context.Context, string) error                          { return errNo }
func (clerk) Abort(context.Context, string, string) error                  { return errNo }
func (clerk) Exclude(context.Context, string, identity.Name, string) error { return errNo }
func (clerk) Revoke(context.Context, string, identity.Name, string) error  { return errNo }
func (clerk) Rotate(context.Context, string) error                         { return errNo }
func (clerk) Posterior(context.Context, string) (*session.Posterior, error) {
	return nil, errNo
}
func (clerk) Bundle(context.Context, string, io.Writer) error { return errNo }

// FuzzOrders sends arbitrary bytes to the handler, which must not panic or allocate much memory.
func FuzzOrders(f *testing.F) {
	for _, path := range []string{pathFound, pathInvite, pathStatus, pathBegin, pathExclude, pathAbort, pathPosterior, pathBundle, "/v1/../v1/abort", "/"} {
		f.Add("POST", path, []byte(`{"study":"plane","clients":["north"],"valid":1,"document":"aGk=","reason":"why"}`))
	}
	f.Add("GET", pathStatus, []byte("{}"))
	handler := NewServer(clerk{}).Handler
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		if path == "" || path[0] != '/' {
			return
		}
		request, err := http.NewRequest(method, "http://coordinator"+path, bytes.NewReader(body))
		if err != nil {
			return
		}
		var answer *httptest.ResponseRecorder
		memory.Bound(t, len(method)+len(path)+len(body), func() {
			request.Body = io.NopCloser(bytes.NewReader(body))
			answer = httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
		})
		if answer.Code == http.StatusOK {
			t.Errorf("%s %s: it was carried out", method, path)
		}
	})
}
