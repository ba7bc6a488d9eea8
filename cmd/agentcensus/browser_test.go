package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// leastContrast is what WCAG 2.2 asks of body text (1.4.3, level AA).
const leastContrast = 4.5

// browserPatience bounds one answer of the browser.
const browserPatience = 60 * time.Second

// browser speaks the DevTools protocol with a headless Chromium over its
// pipe: JSON messages, each ended by a NUL.
type browser struct {
	t       *testing.T
	to      io.Writer
	from    *bufio.Reader
	pipe    *os.File // the end of from that deadlines are set on
	session string
	last    int
}

// cdpMessage is a command, its answer, or an event.
type cdpMessage struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

// startBrowser skips the test only when there is no Chromium to start.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("there is no chromium on this machine")
	}
	commands, toBrowser := pipe(t)
	fromBrowser, answers := pipe(t)
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{commands, answers} // its descriptors 3 and 4
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = browserPatience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	closeAll(t, commands, answers)
	b := &browser{t: t, to: toBrowser, from: bufio.NewReader(fromBrowser), pipe: fromBrowser}
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		closeAll(t, toBrowser, fromBrowser)
		if err := cmd.Wait(); err != nil && t.Failed() {
			t.Logf("chromium: %v\n%s", err, said.String())
		}
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Page.enable", nil, nil)
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

func closeAll(t *testing.T, files ...*os.File) {
	t.Helper()
	for _, f := range files {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// call sends a command and reads on until its answer, which goes into result.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.last++
	text, err := json.Marshal(cdpMessage{ID: b.last, SessionID: b.session, Method: method, Params: params})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.read(method)
		if m.ID != b.last {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

// await reads on until an event.
func (b *browser) await(event string) {
	b.t.Helper()
	for b.read(event).Method != event {
	}
}

func (b *browser) read(what string) cdpMessage {
	b.t.Helper()
	if err := b.pipe.SetReadDeadline(time.Now().Add(browserPatience)); err != nil {
		b.t.Fatal(err)
	}
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("waiting for %s: %v", what, err)
	}
	var m cdpMessage
	if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

// open loads url on a screen of this width, in a colour scheme.
func (b *browser) open(url string, width int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600,
	}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.await("Page.loadEventFired")
}

// looks are what the browser made of a page.
type looks struct {
	Scheme      string   // the colour scheme it was shown in
	Width       int      // of the screen, in CSS pixels
	ScrollWidth int      // of the page
	Beyond      []string // elements that reach over the edge
	Texts       int      // pieces of text seen
	Contrast    float64  // the least of any text against its ground
	Faintest    string   // the text that has it
	SmallestPx  float64  // font size
	Resources   int      // loaded besides the page
	Faults      []string // of the structure
}

// measure is run in the page.
const measure = `(() => {
  const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const numbers = c => c.match(/[\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = numbers(c); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
  const opaque = c => { const n = numbers(c); return n.length < 4 || n[3] === 1; };
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (opaque(c)) return c;
    }
    return 'rgb(255, 255, 255)';
  };
  const out = {
    Scheme: matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light',
    Width: document.documentElement.clientWidth, ScrollWidth: document.documentElement.scrollWidth,
    Beyond: [], Texts: 0, Contrast: 21, Faintest: '', SmallestPx: 1000,
    Resources: performance.getEntriesByType('resource').length, Faults: [],
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walker.nextNode();) {
    if (!n.data.trim()) continue;
    const style = getComputedStyle(n.parentElement);
    const a = light(style.color), b = light(ground(n.parentElement));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    out.Texts++;
    if (contrast < out.Contrast) { out.Contrast = contrast; out.Faintest = n.data.trim(); }
    out.SmallestPx = Math.min(out.SmallestPx, parseFloat(style.fontSize));
  }
  for (const e of document.body.querySelectorAll('*')) {
    const r = e.getBoundingClientRect();
    if (r.right > out.Width + 0.5 || r.left < -0.5) out.Beyond.push(e.tagName + ' ' + e.textContent.trim().slice(0, 40));
  }
  const fault = (bad, what) => { if (bad) out.Faults.push(what); };
  const all = s => [...document.querySelectorAll(s)];
  fault(!document.documentElement.lang, 'no language');
  fault(!document.title.trim(), 'no title');
  fault(all('h1').length !== 1, 'not one h1');
  fault(all('main').length !== 1, 'not one main');
  let level = 0;
  for (const h of all('h1,h2,h3,h4')) { const l = Number(h.tagName[1]); fault(l > level + 1, 'heading skips to ' + h.tagName); level = l; }
  for (const a of all('a')) {
    const href = a.getAttribute('href') || '';
    fault(!a.textContent.trim() || !href, 'empty link');
    fault(href.startsWith('#') && !document.getElementById(href.slice(1)), 'link to nowhere: ' + href);
  }
  for (const e of all('[aria-labelledby]')) fault(!document.getElementById(e.getAttribute('aria-labelledby')), 'label missing');
  const ids = all('[id]').map(e => e.id);
  fault(new Set(ids).size !== ids.length, 'an id twice');
  return out;
})()`

func (b *browser) look() looks {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value looks }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": measure, "returnByValue": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("measuring the page: %s", answer.ExceptionDetails)
	}
	return answer.Result.Value
}

// shoot keeps a picture of the whole page where AGENTCENSUS_SCREENSHOTS says.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("AGENTCENSUS_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// faults are what a reader would have to complain of.
func (l looks) faults() []string {
	out := l.Faults
	if l.ScrollWidth > l.Width || len(l.Beyond) > 0 {
		out = append(out, fmt.Sprintf("overflow: %d wide on %d (%s)", l.ScrollWidth, l.Width, strings.Join(l.Beyond, "; ")))
	}
	if l.Contrast < leastContrast {
		out = append(out, fmt.Sprintf("contrast %.2f of %q", l.Contrast, l.Faintest))
	}
	if l.SmallestPx < 14 {
		out = append(out, fmt.Sprintf("text of %.1f px", l.SmallestPx))
	}
	if l.Resources > 0 {
		out = append(out, fmt.Sprintf("%d files loaded", l.Resources))
	}
	return out
}

func TestThePageIsReadableOnPhoneAndDesktop(t *testing.T) {
	b := startBrowser(t)
	ordinary := botConfiguration(t)
	crowded := botConfiguration(t)
	long := strings.Repeat("averylongnamewithoutabreak", 6)
	crowded.Bot.Operator, crowded.Bot.Contact = long, "https://"+strings.Repeat("long.", 20)+"example/"+long
	crowded.Bot.Tokens = []string{"SampleBot", "averylongtokenwithoutabreakaverylongtokenwithoutabreak"}
	crowded.Bot.InfoURL += "?" + long
	crowded.Robots.Policy = "strict"
	for name, c := range map[string]*config{"ordinary": ordinary, "crowded": crowded} {
		address := served(t, c, at(noon))
		for _, width := range []int{320, 360, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s/%d/%s", name, width, scheme), func(t *testing.T) {
					b.t = t
					b.open("http://"+address+botPath, width, scheme)
					seen := b.look()
					if seen.Width != width || seen.Scheme != scheme || seen.Texts < 50 {
						t.Errorf("not the page that was meant: %+v", seen)
					}
					for _, fault := range seen.faults() {
						t.Error(fault)
					}
					b.shoot(fmt.Sprintf("%s-%d-%s", name, width, scheme))
				})
			}
		}
	}
	b.t = t
}

// The measure of the test above finds what it looks for.
func TestAPageThatIsNotReadableIsNoticed(t *testing.T) {
	b := startBrowser(t)
	pages := map[string]string{
		"/wide":     `<p style="width:500px">wide</p>`,
		"/faint":    `<p style="color:#999">faint</p>`,
		"/small":    `<p style="font-size:9px">small</p>`,
		"/loading":  `<img alt="" src="/picture">`,
		"/dangling": `<a href="#nowhere">dangling</a>`,
	}
	want := map[string]string{
		"/wide": "overflow", "/faint": "contrast", "/small": "text of", "/loading": "files loaded", "/dangling": "link to nowhere",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `<!DOCTYPE html><html lang="en"><meta name="viewport" content="width=device-width">`+
			`<title>page</title><body><main><h1>Page</h1>`+pages[r.URL.Path])
	}))
	defer server.Close()
	for path, fault := range want {
		b.open(server.URL+path, 360, "light")
		got := b.look().faults()
		if len(got) != 1 || !strings.Contains(got[0], fault) {
			t.Errorf("%s: found %q, want one fault: %s", path, got, fault)
		}
	}
}
