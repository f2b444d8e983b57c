package web

import (
	"errors"
	"net/http"
	"time"
)

const (
	toNotify = 10 * time.Second // time limit for writing an event; a slower reader is disconnected
	// after this many reads of the state without a change, a comment keeps the stream alive
	silence = 15
)

// events sends an event when the stream opens, and whenever the state of the site changes. The page
// then reloads its live parts. The stream ends with the session, the browser or the site.
func (s *Site) events(w http.ResponseWriter, r *http.Request, browser *session) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		s.fail(w, browser, &Error{http.StatusServiceUnavailable, errors.New("too many pages are open: close some")})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // without this, nginx would collect events and send them later
	ticker := time.NewTicker(s.look)
	defer ticker.Stop()
	shown, quiet, first := "", 0, true
	for s.o.Now().Before(browser.until) {
		state, err := s.o.State(r.Context())
		text := ""
		switch {
		case first || err == nil && state != shown:
			text, shown, quiet, first = "data: changed\n\n", state, 0, false
		case quiet >= silence:
			text, quiet = ":\n\n", 0
		default:
			quiet++
		}
		if text != "" && !notify(w, text) {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-s.closing:
			return
		}
	}
}

// notify sends text to a stream. It returns false if this takes longer than toNotify.
func notify(w http.ResponseWriter, text string) bool {
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(toNotify)); err != nil {
		return false
	}
	_, err := w.Write([]byte(text))
	return err == nil && control.Flush() == nil
}
