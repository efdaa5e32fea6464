package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long anything may take in the browser.
const patience = 20 * time.Second

// tab is one window of the browser with cookies of its own. The test fails where
// a page opens a dialog, breaks the content security policy, has an error in a
// script, or asks another host for anything.
type tab struct {
	t    testing.TB
	ctx  context.Context
	base string // scheme and host of the node

	mu       sync.Mutex
	troubles []string
}

// reporter hands what the policy refuses to the test.
const reporter = `addEventListener("securitypolicyviolation", (e) => report("policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));`

// open opens an empty tab for a node.
func open(t testing.TB, base string) *tab {
	t.Helper()
	b := &tab{t: t, base: base}
	parent := browser(t)
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	limited, stop := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(stop)
	b.ctx = limited
	b.must(chromedp.Listen(ctx, b.heard))
	call(b, network.Enable, network.EnableParams{})
	call(b, runtime.AddBinding, runtime.AddBindingParams{Name: "report"})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: reporter})
	call(b, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
	b.size(1280, 900)
	t.Cleanup(b.fine)
	return b
}

// call sends a command to the tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	b.must(err)
	return result
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// heard notes what no page may do.
func (b *tab) heard(event any) {
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		b.trouble("a dialog: %s", e.Message)
	case *runtime.EventBindingCalled:
		b.trouble("%s", e.Payload)
	case *runtime.EventExceptionThrown:
		b.trouble("an error in a script: %s", exception(e.ExceptionDetails))
	case *network.EventRequestWillBeSent:
		if address := e.Request.URL; !strings.HasPrefix(address, b.base+"/") && !strings.HasPrefix(address, "data:") {
			b.trouble("a request to %s", address)
		}
	}
}

func exception(details *runtime.ExceptionDetails) string {
	if details.Exception != nil && details.Exception.Description != "" {
		return details.Exception.Description
	}
	return details.Text
}

func (b *tab) trouble(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.troubles = append(b.troubles, fmt.Sprintf(format, args...))
}

// fine fails the test where there was trouble, and forgets it.
func (b *tab) fine() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, trouble := range b.troubles {
		b.t.Errorf("%s", trouble)
	}
	b.troubles = nil
}

// size sets the width and height of the window in CSS pixels.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500,
	})
}

// theme is light or dark.
func (b *tab) theme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// visit opens a path of the node, or a whole address.
func (b *tab) visit(path string) {
	b.t.Helper()
	address := path
	if strings.HasPrefix(path, "/") {
		address = b.base + path
	}
	b.must(chromedp.Do(b.ctx, chromedp.Navigate(address)))
	b.settled()
}

// path is where the tab is, with the query.
func (b *tab) path() string {
	b.t.Helper()
	location, err := url.Parse(eval[string](b, "location.href"))
	b.must(err)
	return location.RequestURI()
}

// eval computes an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v in %.200s", err, expression)
	}
	return value
}

// quote writes a text as a JavaScript string.
func quote(text string) string {
	raw, _ := json.Marshal(text) // a string always has a JSON form
	return string(raw)
}

// text is what the page says to somebody who looks at it.
func (b *tab) text() string {
	b.t.Helper()
	return eval[string](b, "document.body.innerText")
}

// until waits for an expression to be true. A page that is just being left has
// no answer, and is asked again.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		done, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if err == nil && done {
			return
		}
		last = err
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("it did not happen: %s (last error: %v); the page at %s says:\n%s", what, last, b.path(), b.text())
}

// settled waits until the page and its scripts are there.
func (b *tab) settled() {
	b.t.Helper()
	b.until("the page is there", `document.readyState === "complete"`)
}

// says waits until the page says a text, in any case of letters.
func (b *tab) says(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		b.until("the page says "+text, "document.body.innerText.toLowerCase().includes("+quote(strings.ToLower(text))+")")
	}
}

// lacks fails the test where the page says a text.
func (b *tab) lacks(text string) {
	b.t.Helper()
	if said := b.text(); strings.Contains(strings.ToLower(said), strings.ToLower(text)) {
		b.t.Errorf("the page says %q:\n%s", text, said)
	}
}
