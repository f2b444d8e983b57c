package web

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// serveNginx starts an nginx with the location block from the documentation, which passes requests
// on to address. It returns a client that sends all requests, whatever their host, to this nginx.
func serveNginx(t *testing.T, address string) *http.Client {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	text, err := os.ReadFile("../../docs/use/operations.md")
	check(t, err)
	_, after, _ := strings.Cut(string(text), "location / {")
	location, _, ok := strings.Cut(after, "}")
	if !ok || !strings.Contains(location, "127.0.0.1:8441") {
		t.Fatal("the documentation has no configuration of nginx")
	}
	certified := httptest.NewTLSServer(nil) // this server has a certificate for example.com
	certified.Close()
	key, err := x509.MarshalPKCS8PrivateKey(certified.TLS.Certificates[0].PrivateKey)
	check(t, err)
	dir, err := os.MkdirTemp("", "nginx") // not in the test's folder, because the path of a socket must be short
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	for file, block := range map[string]*pem.Block{"key": {Type: "PRIVATE KEY", Bytes: key}, "cert": {Type: "CERTIFICATE", Bytes: certified.Certificate().Raw}} {
		check(t, os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600))
	}
	temporary := ""
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s/%[1]s;\n", name, dir)
	}
	check(t, os.WriteFile(filepath.Join(dir, "conf"), fmt.Appendf(nil, `
pid %[1]s/pid; error_log %[1]s/log; worker_processes 1; daemon on;
events {}
http { access_log off; %[2]s
server { listen unix:%[1]s/s ssl http2; server_name example.com; ssl_certificate %[1]s/cert; ssl_certificate_key %[1]s/key;
location / {%[3]s} } }`, dir, temporary, strings.Replace(location, "127.0.0.1:8441", address, 1)), 0o600))
	run := func(args ...string) {
		out, err := exec.Command(nginx, append([]string{"-e", filepath.Join(dir, "log"), "-c", filepath.Join(dir, "conf")}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("nginx %v: %v\n%s", args, err, out)
		}
	}
	run() // wait until nginx listens
	jar, err := cookiejar.New(nil)
	check(t, err)
	browser := certified.Client()
	browser.Jar = jar
	browser.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "s"))
	}
	t.Cleanup(func() {
		browser.CloseIdleConnections()
		run("-s", "stop")
	})
	return browser
}

// An event must arrive when the state changes, although nginx buffers other answers.
func TestSiteBehindNginx(t *testing.T) {
	d := open(t, "https://example.com")
	served := make(chan error, 1)
	go func() { served <- d.site.Serve() }()
	browser := serveNginx(t, d.site.Address())
	t.Cleanup(func() {
		close(d.state) // the event stream reads states until it ends
		check(t, d.site.Shutdown(context.Background()))
		check(t, <-served)
	})
	post := func(path, origin string, form url.Values) (status int, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.com"+path, strings.NewReader(form.Encode()))
		check(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		a, err := browser.Do(r)
		check(t, err)
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		check(t, err)
		return a.StatusCode, string(text)
	}
	status, page := post("/login", "https://example.com", url.Values{"token": {d.link()}})
	if status != http.StatusOK {
		t.Fatalf("the login has the status %d:\n%s", status, page)
	}
	_, after, _ := strings.Cut(page, `action="/note"><input name="token" value="`)
	token, _, _ := strings.Cut(after, `"`)
	if status, page := post("/note", "https://evil.example", url.Values{"token": {token}, "note": {"evil"}}); status != http.StatusForbidden {
		t.Errorf("a form of another site has the status %d:\n%s", status, page)
	}
	if status, page := post("/note", "https://example.com", url.Values{"token": {token}, "note": {"good"}}); status != http.StatusOK || len(d.given) != 1 {
		t.Errorf("a form has the status %d, and %q was given:\n%s", status, d.given, page)
	}
	a, err := browser.Get("https://other.example.com/")
	check(t, err)
	if check(t, a.Body.Close()); a.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another host has the status %d", a.StatusCode)
	}
	arrived := make(chan error, 1)
	go func() { arrived <- events(t.Context(), browser, 2) }()
	for i := range 5000 {
		select {
		case err := <-arrived:
			check(t, err)
			return
		case d.state <- []string{"a state", "another state"}[min(i, 1)]:
		}
	}
	t.Error("nginx keeps the events back")
}

func events(ctx context.Context, browser *http.Client, number int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.com/events", nil)
	if err != nil {
		return err
	}
	a, err := browser.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	for lines := bufio.NewReader(a.Body); number > 0; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if line == "data: changed\n" {
			number--
		}
	}
	return nil
}
