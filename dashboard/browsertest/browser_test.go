// Package browsertest drives the dashboard of real nodes in a real browser. It
// holds tests only, so that nothing of it gets into the program.
package browsertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the pictures of all pages anew")

// require makes a missing browser a failure: make test sets it.
const require = "AGENTLINK_REQUIRE_CHROMIUM"

// programs are the names under which the browser is installed.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

// shared is the one browser of all tests; each test has cookies of its own in it.
var shared struct {
	once  sync.Once
	ctx   context.Context
	close func()
	err   error
}

func TestMain(m *testing.M) {
	flag.Parse()
	if *update {
		if err := clearPictures(); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if shared.close != nil {
		shared.close()
	}
	os.Exit(code)
}

// browser starts the browser where it does not run yet.
func browser(t testing.TB) context.Context {
	t.Helper()
	program := installed()
	if program == "" {
		if os.Getenv(require) != "" {
			t.Fatalf("there is no Chromium, and %s is set: install chromium", require)
		}
		t.Skip("there is no Chromium: install chromium for the tests of the dashboard in a browser")
	}
	shared.once.Do(func() { shared.err = start(program) })
	if shared.err != nil {
		t.Fatalf("start the browser: %v", shared.err)
	}
	return shared.ctx
}

func installed() string {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// start runs a fresh browser that reaches this machine and nothing else.
func start(program string) error {
	profile, err := os.MkdirTemp("", "agentlink-browser-")
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.NoFirstRun, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-pings", true), chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost"),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-GB"), chromedp.Env("TZ=UTC"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // its sandbox refuses root
	}
	allocator, closeAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	shared.ctx, shared.close = ctx, func() {
		closeBrowser()
		closeAllocator()
		_ = os.RemoveAll(profile)
	}
	if err := chromedp.Do(ctx); err != nil {
		return err
	}
	// TZ and the browser's own settings must not decide what a test sees.
	version, err := chromedp.Run(ctx, chromedp.Evaluate[string]("navigator.userAgent"))
	if err == nil && !strings.Contains(version, "Chrome") {
		err = fmt.Errorf("%s is no Chromium: %s", program, version)
	}
	return err
}
