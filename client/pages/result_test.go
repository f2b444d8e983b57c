package pages

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/internal/table/origin"
)

// takePart approves the study and takes part in it until it ends.
func (h *holder) takePart(dir string, c *client.Client, m *client.Member) error {
	policy, err := client.LoadPolicy(dir)
	if err != nil {
		return err
	}
	if _, err := c.Approve(m, policy, "", m.Hash.String()); err != nil {
		return err
	}
	records := filepath.Join(dir, "records.csv")
	if err := os.WriteFile(records, []byte("x,y\n"+strings.Repeat("0.5,1\n-0.5,-1\n0.1,0\n", 30)), 0o600); err != nil {
		return err
	}
	_, err = c.Run(h.t.Context(), client.Run{
		Member: m, Policy: policy, Data: origin.Source{From: records},
		Connect: func(ctx context.Context) (client.Link, io.Closer, error) {
			line, err := c.Dial(ctx, m, client.Network{})
			return line, line, err
		},
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	return err
}

func (h *holder) play() {
	h.t.Helper()
	dir := filepath.Join(h.t.TempDir(), "south")
	south, m := join(h.t, dir, h.other)
	ended := make(chan error, 1)
	go func() { ended <- h.takePart(dir, south, m) }()
	h.pages.Begin()
	err := h.takePart(h.dir, h.client, h.member)
	h.pages.End()
	check(h.t, err)
	check(h.t, <-ended)
}

func TestResult(t *testing.T) {
	h := open(t)
	if page := h.get(h.path(""), http.StatusOK); strings.Contains(page, "Results</h2>") || strings.Contains(page, h.path("/report")) {
		t.Error("a study has a result before it begins")
	}
	h.get(h.path("/report"), http.StatusConflict, "not over yet")
	h.play()
	h.get("/", http.StatusOK, "<strong>over</strong>")
	h.get(h.path(""), http.StatusOK, "<strong>over</strong>", h.path("/report"), "Results</h2>", "intercept</th>", "<circle", "Review</h2>")
	h.get(h.path("/report"), http.StatusOK, "A &lt;b&gt;plane&lt;/b&gt;", "Verification</h2>", "A client of the study wrote this report", "north, south")
	h.get(h.path("/check"), http.StatusOK, "2 rows: the study uses 1 record")
}
