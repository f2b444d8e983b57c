package pages

import (
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/internal/testing/browser"
)

// The page must show the progress of the run without being reloaded.
func TestDataHolderInABrowser(t *testing.T) {
	b := browser.Start(t)
	h := open(t)
	b.Go(h.link(t))
	b.Look("client-login")
	b.Click("main button")
	b.Look("client-studies")
	b.Go(h.base + h.path("/document"))
	b.Look("client-document")
	b.Go(h.base + h.path("/check"))
	b.Look("client-check")
	b.Go(h.base + h.path(""))
	b.Look("client-review")
	b.Eval(`document.querySelector("form[action$=approve] input[type=checkbox]").checked = true`, nil)
	b.Click("form[action$=approve] button")
	b.Eval("window.here = true", nil)
	h.pages.Begin()
	h.pages.Show(client.Status{Study: "plane", Asked: 2, Of: 13, Waiting: "south", Since: time.Unix(1000, 0)})
	var here bool
	b.Eval(`new Promise(found => new MutationObserver(() => {
		if (document.body.innerText.includes("plan 2 of 13")) found(window.here === true);
	}).observe(document.body, {childList: true, subtree: true}))`, &here)
	if !here {
		t.Error("the page was loaded again")
	}
	b.Look("client-running")
	b.Go(h.base + "/ledger")
	b.Look("client-ledger")
	h.play()
	b.Go(h.base + h.path(""))
	b.Look("client-result")
	b.Go(h.base + h.path("/report"))
	b.Look("client-report")
	b.Click("header form button")
	b.Look("client-signed-out")
}
