package report_test

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserBound ends a browser that hangs, with all that wait for it.
const browserBound = 2 * time.Minute

// startBrowser starts Chromium with a profile of its own, and ends it with the test. It skips the test where there is none, unless
// SNOWKEY_TEST_REQUIRE names it.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("no browser is opened with -short")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		const missing = "no chromium found: install Debian's package chromium to have the HTML page opened in a browser"
		for word := range strings.SplitSeq(os.Getenv("SNOWKEY_TEST_REQUIRE"), ",") {
			if strings.TrimSpace(word) == "chromium" {
				t.Fatal("SNOWKEY_TEST_REQUIRE requires chromium, but " + missing)
			}
		}
		t.Skip(missing)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which Chromium refuses to have for root
	}
	bound, stop := context.WithTimeout(t.Context(), browserBound)
	t.Cleanup(stop)
	allocator, stopAllocator := chromedp.NewExecAllocator(bound, options...)
	t.Cleanup(stopAllocator) // waits until the process has ended and its files are gone
	browser, stopBrowser := chromedp.NewContext(allocator)
	t.Cleanup(stopBrowser)
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return browser
}

// screen is how a reader looks at the page.
type screen struct {
	width  int64
	scheme string
	height int64 // of a picture; 0: as high as the page
}

func (s screen) String() string { return fmt.Sprintf("%d-%s", s.width, s.scheme) }

var phone = screen{width: 360, scheme: "light"}

//go:embed testdata/problems.js
var problemsScript string

// tab is a page opened in a browser, and what it did that it should not.
type tab struct {
	ctx   context.Context
	mu    sync.Mutex
	found []string // guarded by mu
}

// open opens a page from a file.
func open(t *testing.T, browser context.Context, page string, at screen) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	url, opened := "file://"+file, &tab{ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if e.Request.URL != url && e.Request.URL != "data:," {
				opened.add("request: " + e.Request.URL)
			}
		case *runtime.EventConsoleAPICalled:
			opened.add(fmt.Sprintf("console: %s", e.Type))
		case *runtime.EventExceptionThrown:
			opened.add("exception: " + e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			opened.add("log: " + e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	opened.show(t, at)
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return opened
}

func (o *tab) add(problem string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.found = append(o.found, problem)
}

// show has the page as on another screen.
func (o *tab) show(t *testing.T, at screen) {
	t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: at.scheme}}}
	if _, err := chromedp.Call(o.ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(o.ctx, chromedp.EmulateViewport(at.width, cmp.Or(at.height, 900))); err != nil {
		t.Fatal(err)
	}
}

// problems is all that is wrong with the page: what it asked for, what it wrote to the console, and what the script finds. The reply of the
// browser to the script comes behind all that it had to tell before.
func (o *tab) problems(t *testing.T, at screen) []string {
	t.Helper()
	wrong, err := chromedp.Run(o.ctx, chromedp.Evaluate[[]string](problemsScript))
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("SNOWKEY_TEST_SCREENSHOTS"); dir != "" {
		_, name, _ := strings.Cut(t.Name(), "/")
		screenshot(t, o.ctx, at, filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".png"))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return append(slices.Clone(o.found), wrong...)
}

// screenshot keeps what a person would see.
func screenshot(t *testing.T, tab context.Context, at screen, path string) {
	t.Helper()
	take := chromedp.FullScreenshot(100)
	if at.height > 0 {
		take = chromedp.CaptureScreenshot()
	}
	shot, err := chromedp.Run(tab, take)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, shot, 0o644); err != nil {
		t.Fatal(err)
	}
}
