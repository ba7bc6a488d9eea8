package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser is a headless Chromium, spoken to by its DevTools pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	last    int
	// complaints are console errors, exceptions and failed requests.
	complaints []string
}

// startBrowser starts Chromium with one empty page, or skips the test on a
// machine that has none.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed")
	}
	ours, theirs := pipe(t)
	theirsOut, oursOut := pipe(t)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{ours, oursOut} // its file descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, to: theirs, from: bufio.NewReaderSize(theirsOut, 1<<20)}
	t.Cleanup(func() {
		// Without its pipe Chromium ends by itself.
		if err := errors.Join(theirs.Close(), theirsOut.Close(), cmd.Wait()); err != nil {
			t.Logf("ending Chromium: %v", err)
		}
	})
	if err := errors.Join(ours.Close(), oursOut.Close(), theirsOut.SetReadDeadline(time.Now().Add(4*time.Minute))); err != nil {
		t.Fatal(err)
	}
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	attached := b.call("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})
	b.session, _ = attached["sessionId"].(string)
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil)
	}
	return b
}

// pipe returns the end that is read from and the one that is written to.
func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return read, write
}

// call sends one command and returns its result.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.last++
	message := map[string]any{"id": b.last, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		answer := b.next()
		if answer.ID != b.last {
			continue
		}
		if answer.Error != nil {
			b.t.Fatalf("%s: %v", method, answer.Error)
		}
		return answer.Result
	}
}

// await reads events until one of the given kind.
func (b *browser) await(method string) {
	b.t.Helper()
	for b.next().Method != method {
	}
}

type devToolsMessage struct {
	ID             int            `json:"id"`
	Method         string         `json:"method"`
	Params, Result map[string]any `json:",omitempty"`
	Error          map[string]any `json:"error"`
}

// next reads one message and takes note of what the page complains about.
func (b *browser) next() devToolsMessage {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("reading from Chromium: %v", err)
	}
	var message devToolsMessage
	if err := json.Unmarshal(text[:len(text)-1], &message); err != nil {
		b.t.Fatal(err)
	}
	switch message.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled", "Network.loadingFailed":
		b.complaints = append(b.complaints, string(text[:len(text)-1]))
	case "Network.requestWillBeSent":
		request, _ := message.Params["request"].(map[string]any)
		if url := fmt.Sprint(request["url"]); !strings.HasPrefix(url, "file:") && !strings.HasPrefix(url, "data:") {
			b.complaints = append(b.complaints, "asked the network for "+url)
		}
	}
	return message
}

// evaluate runs an expression in the page; its value comes back as JSON.
func (b *browser) evaluate(expression string, into any) {
	b.t.Helper()
	result := b.call("Runtime.evaluate", map[string]any{"expression": "Promise.resolve(" + expression + ").then(JSON.stringify)", "awaitPromise": true})
	if result["exceptionDetails"] != nil {
		b.t.Fatalf("%s: %v", expression, result["exceptionDetails"])
	}
	value, _ := result["result"].(map[string]any)
	text, _ := value["value"].(string)
	if err := json.Unmarshal([]byte(text), into); err != nil {
		b.t.Fatalf("%s: %v: %s", expression, err, text)
	}
}

// open loads a page as somebody with this window and colour scheme sees it.
func (b *browser) open(path string, width int, scheme string) {
	b.t.Helper()
	b.complaints = nil
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600})
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	b.call("Page.navigate", map[string]any{"url": "file://" + path})
	b.await("Page.loadEventFired")
}

// keep saves a picture of the whole page for a person to look at, if
// AGENTCENSUS_SHOTS names a directory.
func (b *browser) keep(name string) {
	b.t.Helper()
	dir := os.Getenv("AGENTCENSUS_SHOTS")
	if dir == "" {
		return
	}
	shot := b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true})
	picture, err := base64.StdEncoding.DecodeString(fmt.Sprint(shot["data"]))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// fault lists what is wrong with the page as it is laid out now.
const fault = `(() => {
  const faults = [], root = document.documentElement, seen = e => e.checkVisibility({checkVisibilityCSS: true});
  if (root.scrollWidth > root.clientWidth) faults.push('the page is ' + root.scrollWidth + ' wide in a window of ' + root.clientWidth);
  const inScroller = e => e.closest('.scroll, pre, .skip, .of, #said');
  for (const e of document.body.querySelectorAll('*')) {
    const box = e.getBoundingClientRect();
    if (box.width && !e.closest('svg') && !inScroller(e) && box.right > root.clientWidth + 1) faults.push('overflows: ' + e.outerHTML.slice(0, 80));
  }
  const charts = document.querySelectorAll('.chart');
  if (!charts.length) faults.push('no chart');
  for (const chart of charts) {
    const label = chart.getAttribute('aria-label') || '', svgs = [...chart.querySelectorAll('svg')].filter(seen);
    if (chart.getAttribute('role') !== 'img' || label.length < 30) faults.push('unlabelled chart: ' + chart.outerHTML.slice(0, 80));
    if (svgs.length !== 1) { faults.push(svgs.length + ' pictures are seen: ' + label); continue; }
    const frame = svgs[0].getBoundingClientRect();
    for (const text of svgs[0].querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1) faults.push('text leaves its chart: ' + text.textContent);
      for (const other of svgs[0].querySelectorAll('text')) {
        const o = other.getBoundingClientRect();
        if (other !== text && box.left < o.right - 1 && o.left < box.right - 1 && box.top < o.bottom - 6 && o.top < box.bottom - 6) faults.push('texts overlap: ' + text.textContent + ' and ' + other.textContent);
      }
      if (box.height < 9) faults.push('text too small: ' + text.textContent);
    }
    if (!chart.closest('article').querySelector('h3') || !chart.closest('article').querySelector('table') || !chart.closest('article').querySelector('code')) faults.push('no title, table or SQL: ' + label);
  }
  for (const e of document.querySelectorAll('a[href^="#"]')) if (!document.querySelector(e.getAttribute('href'))) faults.push('leads nowhere: ' + e.outerHTML);
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  for (const id of new Set(ids)) if (ids.filter(other => other === id).length > 1) faults.push('two of one ID: ' + id);
  const luminance = c => { const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255, 255, 255)'; };
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  for (const e of document.body.querySelectorAll('*')) {
    if (!seen(e) || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (e.closest('script, style')) continue;
    const style = getComputedStyle(e), ink = e.closest('svg') ? style.fill : style.color, ratio = contrast(ink, ground(e));
    if (ratio < 4.5) faults.push('contrast ' + ratio.toFixed(2) + ': ' + e.outerHTML.slice(0, 80));
  }
  for (const e of document.querySelectorAll('.chart path')) {
    const fill = getComputedStyle(e).fill;
    if (seen(e) && fill !== 'none' && contrast(fill, ground(e)) < 3) faults.push('a bar of contrast ' + contrast(fill, ground(e)).toFixed(2));
  }
  return [...new Set(faults)];
})()`

func TestPageInABrowser(t *testing.T) {
	_, path := pageOf(t, writeCensus(t))
	b := startBrowser(t)
	for _, width := range []int{360, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d %s", width, scheme), func(t *testing.T) {
				b.t = t
				b.open(path, width, scheme)
				b.keep(fmt.Sprintf("closed-%d-%s", width, scheme))
				check := func(state string) {
					var faults []string
					b.evaluate(fault, &faults)
					for _, found := range faults {
						t.Errorf("%s: %s", state, found)
					}
				}
				check("as loaded")
				var opened int
				b.evaluate("[...document.querySelectorAll('details')].map(d => d.open = true).length", &opened)
				if opened < 40 {
					t.Errorf("%d details, expected a table and SQL for each exhibit", opened)
				}
				check("all opened")
				b.keep(fmt.Sprintf("open-%d-%s", width, scheme))
				var ground string
				b.evaluate("getComputedStyle(document.body).backgroundColor", &ground)
				if dark := ground == "rgb(20, 23, 26)"; dark != (scheme == "dark") {
					t.Errorf("the background is %s", ground)
				}
				for _, complaint := range b.complaints {
					t.Errorf("the page complains: %s", complaint)
				}
			})
		}
	}
	b.t = t
}

func TestPageByKeyboard(t *testing.T) {
	_, path := pageOf(t, writeCensus(t))
	b := startBrowser(t)
	b.open(path, 1280, "light")
	press := func(key, code string, number int, text string) {
		for _, kind := range []string{"keyDown", "keyUp"} {
			event := map[string]any{"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number}
			if kind == "keyDown" && text != "" {
				event["text"] = text
			}
			b.call("Input.dispatchKeyEvent", event)
		}
	}
	focused := func() (what string) {
		b.evaluate("document.activeElement.textContent.trim().slice(0, 40)", &what)
		return what
	}
	press("Tab", "Tab", 9, "")
	if got := focused(); got != "Skip to the numbers" {
		t.Fatalf("the first stop is %q", got)
	}
	var outlined string
	b.evaluate("getComputedStyle(document.activeElement).outlineStyle", &outlined)
	if outlined != "solid" {
		t.Errorf("the focus is drawn %q", outlined)
	}
	press("Enter", "Enter", 13, "\r")
	press("Tab", "Tab", 9, "")
	if got := focused(); got != "SQL of these numbers" {
		t.Fatalf("after the skip link comes %q", got)
	}
	press("Enter", "Enter", 13, "\r")
	press("Tab", "Tab", 9, "")
	if got := focused(); got != "Copy SQL" {
		t.Fatalf("within the opened part comes %q", got)
	}
	press("Enter", "Enter", 13, "\r")
	var said string
	b.evaluate("new Promise(done => setTimeout(() => done(document.getElementById('said').textContent), 300))", &said)
	if said != "Copied" && said != "Selected: copy with your keyboard" {
		t.Errorf("after copying the page says %q", said)
	}
}
