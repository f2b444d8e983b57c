package pages

import (
	"testing"

	"fedpvi/coordinator/admin"
	"fedpvi/internal/testing/browser"
)

func TestOperatorInABrowser(t *testing.T) {
	chromium := browser.Start(t)
	b := open(t, func(a admin.API) admin.API { return a })
	chromium.Go(b.link())
	chromium.Click("main button")
	chromium.Look("coordinator-studies")
	chromium.Click(".cards a")
	chromium.Look("coordinator-study")
}
