// Package browser runs the browser Chromium, so that tests see pages as people do. It controls
// Chromium with the DevTools protocol over two pipes.
package browser

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// These are the environment variables for tests in a browser.
const (
	Program  = "FEDPVI_BROWSER" // path of the Chromium program
	Axe      = "FEDPVI_AXE"     // path of axe.min.js, the program axe-core that examines pages; optional
	Pictures = "FEDPVI_SHOTS"   // folder in which to save pictures of all pages; optional
)

// A Browser is a running Chromium with one page.
type Browser struct {
	t       *testing.T
	session string
	write   io.Writer

	mu       sync.Mutex
	next     int
	answers  map[int]chan answer
	loaded   chan struct{}
	problems []string // errors that the page has reported
}

// An answer is a message from the browser: the reply to a command, or an event.
type answer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// Start starts Chromium, which runs until the test ends. The environment has its path. If it has
// none, Start skips the test.
func Start(t *testing.T) *Browser {
	t.Helper()
	path := os.Getenv(Program)
	if path == "" {
		t.Skipf("set %s to the path of a Chromium", Program)
	}
	commands, write := pipe(t)
	read, events := pipe(t)
	args := []string{"--headless", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir()}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // as root, Chromium has no sandbox
	}
	c := exec.Command(path, args...)
	c.ExtraFiles = []*os.File{commands, events}
	if err := errors.Join(c.Start(), commands.Close(), events.Close()); err != nil {
		t.Fatal(err)
	}
	b := &Browser{t: t, write: write, answers: map[int]chan answer{}, loaded: make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.listen(read)
	}()
	t.Cleanup(func() {
		b.session = ""
		b.do("Browser.close", nil, nil)
		<-ended
		_ = c.Wait() // the exit code does not matter, because the browser was closed on purpose
		if err := errors.Join(write.Close(), read.Close()); err != nil {
			t.Error(err)
		}
	})
	b.attach()
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// attach opens the page.
func (b *Browser) attach() {
	var target struct{ TargetID string }
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.do(domain+".enable", nil, nil)
	}
}

func (b *Browser) listen(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &a); err != nil {
			b.t.Errorf("the browser says %q: %v", text, err)
			continue
		}
		b.take(a)
	}
}

func (b *Browser) take(a answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case a.ID != 0:
		b.answers[a.ID] <- a
	case a.Method == "Page.loadEventFired":
		select {
		case b.loaded <- struct{}{}:
		default:
		}
	case a.Method == "Runtime.exceptionThrown", a.Method == "Log.entryAdded" && bytes.Contains(a.Params, []byte(`"level":"error"`)),
		a.Method == "Runtime.consoleAPICalled" && bytes.Contains(a.Params, []byte(`"type":"error"`)):
		b.problems = append(b.problems, string(a.Params))
	}
}

// do sends a command, waits for its result, and fails the test if the command fails.
func (b *Browser) do(method string, params map[string]any, result any) {
	b.t.Helper()
	b.mu.Lock()
	b.next++
	id, c := b.next, make(chan answer, 1)
	b.answers[id] = c
	b.mu.Unlock()
	command := map[string]any{"id": id, "method": method}
	if params != nil {
		command["params"] = params
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	text, err := json.Marshal(command)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.write.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	a := <-c
	if a.Error != nil {
		b.t.Fatalf("%s: %s", method, a.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(a.Result, result); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Go opens an address and waits until the page has loaded.
func (b *Browser) Go(url string) {
	b.t.Helper()
	b.do("Page.navigate", map[string]any{"url": url}, nil)
	<-b.loaded
}

// Click clicks an element that leads to another page, and waits until that page has loaded.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.Eval(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)
	<-b.loaded
}

// Eval evaluates an expression on the page. If the value is a promise, it waits for the result. The
// content security policy of the page does not apply.
func (b *Browser) Eval(expression string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("the page fails: %s", r.ExceptionDetails)
	}
	if value != nil {
		if err := json.Unmarshal(r.Result.Value, value); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Look checks that the open page fits a telephone and a desktop screen, in light and in dark
// colours, and that the browser has reported no problem, such as a violation of the content
// security policy. If the environment has the path of axe-core, this program must find no serious
// or critical problem. If the environment has a folder for pictures, Look saves pictures there.
// Their file names begin with name.
func (b *Browser) Look(name string) {
	b.t.Helper()
	for _, width := range []int{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false}, nil)
			b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
			at := fmt.Sprintf("%s-%d-%s", name, width, scheme)
			var over int
			b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &over)
			if over > 0 {
				b.t.Errorf("%s: %d pixels too wide", at, over)
			}
			b.examine(at)
			b.picture(at)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		b.t.Errorf("%s: %s", name, problem)
	}
	b.problems = nil
}

// examine examines the page with axe-core, if the environment has its path.
func (b *Browser) examine(at string) {
	path := os.Getenv(Axe)
	if path == "" {
		return
	}
	script, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Eval(string(script)+";0", nil)
	var found struct {
		Passes     int
		Violations []string
	}
	b.Eval(`axe.run().then(r => ({passes: r.passes.length, violations: r.violations.filter(v => ["serious", "critical"].includes(v.impact)).map(v => v.id + ": " + v.nodes.map(n => n.target.join(" ")).join(", "))}))`, &found)
	if found.Passes == 0 || len(found.Violations) > 0 {
		b.t.Errorf("%s: axe-core passes %d rules and finds %s", at, found.Passes, strings.Join(found.Violations, "; "))
	}
}

// picture saves a picture of the whole page, if the environment has a folder for pictures.
func (b *Browser) picture(name string) {
	dir := os.Getenv(Pictures)
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.do("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
