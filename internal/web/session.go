package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"fedpvi/crypto/secret"
	"fedpvi/internal/private"
)

const (
	tokenSize = 32
	lifetime  = 12 * time.Hour
)

// An entry keeps the login link and the sessions of a site.
type entry struct {
	// name of the cookie. It includes the port of the site: browsers send a cookie to all ports of
	// a host, and two sites on one host must not share it
	cookie string
	secure bool // whether browsers may send the cookie only over TLS

	mu       sync.Mutex
	link     secret.Secret         // token in the current login link
	sessions map[[32]byte]*session // sessions of signed-in browsers; the key is the SHA-256 of the cookie
}

// A session belongs to a browser that is signed in.
type session struct {
	token string // token that protects forms against forged requests
	until time.Time
	key   [32]byte
}

func newToken() string { return hex.EncodeToString(secret.Random(tokenSize).Reveal()) }

func (s *Site) replaceLink() (string, error) {
	token := newToken()
	link := s.base + "/login?token=" + token
	if err := private.Replace(s.o.LinkFile, []byte(link+"\n")); err != nil {
		return "", fmt.Errorf("the login link cannot be written: %w", err)
	}
	s.entry.link = secret.New([]byte(token))
	return link, nil
}

// errLink is the error for a browser that is not signed in. why is its first sentence.
func (s *Site) errLink(why string) error {
	return &Error{http.StatusUnauthorized, fmt.Errorf("%s. Open the link in the file %s on the machine where the program runs: it is valid once", why, s.o.LinkFile)}
}

// askLogin shows a form with which a person signs in. Merely opening the link does not sign in.
// Otherwise programs that open links in advance, such as mail scanners, would use it up.
func (s *Site) askLogin(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	if !s.validLink(token) {
		s.fail(w, nil, s.errLink("This login link was already used, or a newer one exists"))
		return
	}
	s.render(w, http.StatusOK, nil, &frame{Title: "Sign in", Login: token})
}

func (s *Site) validLink(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return token != "" && s.entry.link.Equal([]byte(token))
}

func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	if err := readForm(w, r); err != nil {
		s.fail(w, nil, err)
		return
	}
	value, err := s.begin(r.PostForm.Get("token"))
	if err != nil {
		s.fail(w, nil, err)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie, Value: value, Path: "/", MaxAge: int(lifetime / time.Second),
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// begin begins a session if token is that of the current login link. It then makes a new link.
func (s *Site) begin(token string) (cookie string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token == "" || !s.entry.link.Equal([]byte(token)) {
		return "", s.errLink("This login link was already used, or a newer one exists")
	}
	if _, err := s.replaceLink(); err != nil {
		return "", err
	}
	for key, old := range s.sessions {
		if !s.o.Now().Before(old.until) {
			delete(s.sessions, key)
		}
	}
	cookie = newToken()
	key := sha256.Sum256([]byte(cookie))
	s.sessions[key] = &session{newToken(), s.o.Now().Add(lifetime), key}
	return cookie, nil
}

// session returns the session of the browser that sent a request. It returns nil if the browser is
// not signed in.
func (s *Site) session(r *http.Request) *session {
	cookie, err := r.Cookie(s.cookie)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	browser := s.sessions[sha256.Sum256([]byte(cookie.Value))]
	if browser == nil || !s.o.Now().Before(browser.until) {
		return nil
	}
	return browser
}

func (s *Site) logout(w http.ResponseWriter, _ *http.Request, browser *session) {
	s.mu.Lock()
	delete(s.sessions, browser.key)
	s.mu.Unlock()
	s.render(w, http.StatusOK, nil, &frame{Title: "Signed out", Problem: "This browser is signed out"})
}

// signedIn returns a handler that calls f only for signed-in browsers. It refuses a form without
// the session's token, because another site may have sent it.
func (s *Site) signedIn(f func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		browser := s.session(r)
		if browser == nil {
			s.fail(w, nil, s.errLink("You are not signed in, or your session has ended"))
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			if err := readForm(w, r); err != nil {
				s.fail(w, browser, err)
				return
			}
			if !secret.New([]byte(browser.token)).Equal([]byte(r.PostForm.Get("token"))) {
				s.fail(w, browser, &Error{http.StatusForbidden, errors.New("the form does not have the token of this session: reload the page, and try again")})
				return
			}
		}
		f(w, r, browser)
	}
}

func readForm(w http.ResponseWriter, r *http.Request) error {
	control := http.NewResponseController(w)
	// SetReadDeadline can fail only for response writers in tests, which have no deadlines.
	_ = control.SetReadDeadline(time.Now().Add(toRead))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &Error{http.StatusBadRequest, errors.New("the form cannot be read: reload the page, and try again")}
	}
	return nil
}

func (s *Site) protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // without a referrer, the origin of forms would be null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// trusted refuses a request that another site may have caused: a request for another host name,
// which is a sign of DNS rebinding, or a request from a page of another site.
func (s *Site) trusted(r *http.Request) error {
	if !s.hosts[r.Host] {
		return &Error{http.StatusMisdirectedRequest, fmt.Errorf("this site is not %q: open %s, or name the origin of a proxy with --web-origin", r.Host, s.base)}
	}
	foreign := &Error{http.StatusForbidden, errors.New("another site has made this request: open the page yourself")}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		// Another site may have a link to a page of this site. The mode of the request is then
		// navigate. All other requests from other sites are refused.
		if at := r.Header.Get("Sec-Fetch-Site"); (at == "cross-site" || at == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return foreign
		}
		return nil
	}
	if origin, ok := r.Header["Origin"]; ok && (len(origin) != 1 || !s.origins[origin[0]]) {
		return foreign
	}
	if at := r.Header.Get("Sec-Fetch-Site"); at != "" && at != "same-origin" {
		return foreign
	}
	return nil
}
