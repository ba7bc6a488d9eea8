package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentcensus/pipeline/simweb"
	"agentcensus/signing"
	"agentcensus/sink"
)

// census is a list of made-up sites, a simulated web that serves them in this
// process, and an output directory. The crawlers are processes of their own, so
// that they can be killed.
type census struct {
	out     string
	entries []string // of the list, by rank less one
	args    []string // of a crawl, but for the kind
	// inFlight is how many requests its crawlers may have in flight: few, so that
	// a small list takes long enough to be interrupted often.
	inFlight int64
	config   simweb.Config
	web      *simweb.Web
	earlier  []simweb.Entry // logs of webs that were closed
	starts   []time.Time    // of the crawlers

	list, optOut, yaml, ca string // files
}

// newCensus writes the files that a crawl of n made-up names needs and starts
// the web. Sites of scripted get a behaviour each, every tenth name one of them
// in turn, so that all of them are met all along the list.
func newCensus(t *testing.T, c simweb.Config, n int, scripted ...simweb.ScenarioSite) *census {
	t.Helper()
	dir := t.TempDir()
	s := &census{
		inFlight: 12,
		out:      filepath.Join(dir, "out"), list: filepath.Join(dir, "names.csv"), optOut: filepath.Join(dir, "opt-out.txt"),
		yaml: filepath.Join(dir, "agentcensus.yaml"), ca: filepath.Join(dir, "ca.pem"),
	}
	key, err := signing.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := signing.WriteKey(filepath.Join(dir, "key.pem"), key); err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.yaml, `bot: {name: censusbot, info_url: "https://census.example/bot", contact: "mailto:bot@census.example"}
signing: {keys: [{file: key.pem}]}
opt_out: opt-out.txt
`)
	writeFile(t, s.optOut, "# nobody yet\n")

	read, err := loadConfig(s.yaml)
	if err != nil {
		t.Fatal(err)
	}
	who, err := identify(read)
	if err != nil {
		t.Fatal(err)
	}
	c.Bot, c.Verify, c.Addresses = "censusbot", who.verify(), simweb.Loopback
	s.config = c
	s.startWeb(t)
	for _, name := range s.web.Names(n) {
		s.entries = append(s.entries, name)
	}
	if len(scripted) > 0 {
		s.config.Scenario = &simweb.Scenario{}
		for i := 0; i < n; i += 10 {
			site := scripted[i/10%len(scripted)]
			site.Name = s.entries[i]
			if s.web.Fate(int64(i+1), site.Name).Outcome != "duplicate" {
				s.config.Scenario.Sites = append(s.config.Scenario.Sites, site)
			}
		}
		s.restartWeb(t)
	}
	s.writeList(t)
	return s
}

// writeList writes the entries as Tranco writes lists.
func (s *census) writeList(t *testing.T) {
	t.Helper()
	var b strings.Builder
	for i, name := range s.entries {
		fmt.Fprintf(&b, "%d,%s\r\n", i+1, name)
	}
	writeFile(t, s.list, b.String())
}

// startWeb starts the web and makes the flags by which a crawler reaches it.
func (s *census) startWeb(t *testing.T) {
	t.Helper()
	var err error
	if s.web, err = simweb.Start(context.Background(), s.config); err != nil {
		t.Fatal(err)
	}
	web := s.web
	t.Cleanup(func() {
		if err := web.Close(); err != nil {
			t.Error(err)
		}
	})
	writeFile(t, s.ca, string(s.web.CAPEM()))
	s.args = []string{
		"--list", s.list, "--out", s.out, "--config", s.yaml,
		"--ca-file", s.ca, "--connect-to", fmt.Sprintf(":%d", s.web.Port()), "--allow-address", "127.86.0.0/16",
	}
	for _, r := range s.web.Resolvers() {
		s.args = append(s.args, "--resolver", r)
	}
}

// restartWeb has the same sites served by another web, at other ports. What the
// one before saw stays in the log.
func (s *census) restartWeb(t *testing.T) {
	t.Helper()
	s.earlier = s.log()
	if err := s.web.Close(); err != nil {
		t.Fatal(err)
	}
	s.startWeb(t)
}

// log is what all webs of the census saw.
func (s *census) log() []simweb.Entry {
	return append(s.earlier[:len(s.earlier):len(s.earlier)], s.web.Log()...)
}

// fate is what a crawl must make of the entry at rank.
func (s *census) fate(rank int64) simweb.Fate { return s.web.Fate(rank, s.entries[rank-1]) }

// openSites is how many sites a crawler may have open: two a slot.
func (s *census) openSites() int64 { return 2 * s.inFlight }

// command is the command line of a crawl.
func (s *census) command(args ...string) []string {
	return slices.Concat([]string{"crawl", "--in-flight", fmt.Sprint(s.inFlight)}, s.args, args)
}

// crawl starts a crawler on the census.
func (s *census) crawl(t *testing.T, args ...string) *process {
	t.Helper()
	s.starts = append(s.starts, time.Now())
	return start(t, nil, s.command(args...)...)
}

// limited is crawl in a process that the shell's ulimit holds to a limit.
func (s *census) limited(t *testing.T, ulimit string, args ...string) *process {
	t.Helper()
	s.starts = append(s.starts, time.Now())
	return start(t, []string{"sh", "-c", "ulimit " + ulimit + ` && exec "$@"`, "sh"}, s.command(args...)...)
}

// process is a crawler that runs, or has.
type process struct {
	cmd      *exec.Cmd
	out, err *transcript
	done     chan struct{} // closed when it has ended
	waitErr  error         // set before that
}

// start runs the program in a process of its own, under the command given if
// any. It has no standard input. It is ended with the test at the latest.
func start(t *testing.T, under []string, args ...string) *process {
	t.Helper()
	return startWith(t, nil, under, args...)
}

// startWith is start with a standard input.
func startWith(t *testing.T, in io.Reader, under []string, args ...string) *process {
	t.Helper()
	// TestMain has put it there: the test binary under this name.
	program, err := exec.LookPath("agentcensus")
	if err != nil {
		t.Fatal(err)
	}
	argv := append(append(under[:len(under):len(under)], program), args...)
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), out: newTranscript(), err: newTranscript(), done: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, p.out, p.err
	// The race detector else keeps a process for a second after its end.
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.waitErr = p.cmd.Wait()
		p.out.end()
		p.err.end()
	}()
	t.Cleanup(func() {
		select {
		case <-p.done:
		default:
			t.Errorf("still running at the end of the test: %v\n%s", p.cmd.Args, p.err)
			p.kill(t)
		}
	})
	return p
}

// patience is how long a test waits for another process to do something.
const patience = 60 * time.Second

// said waits until the process has written text to its standard error, and
// returns false when it ends without.
func (p *process) said(t *testing.T, text string) bool {
	t.Helper()
	ok, late := p.err.wait(text)
	if late {
		t.Fatalf("it does not say %q:\n%s", text, p.err)
	}
	return ok
}

// kill ends the process by SIGKILL and waits for its end.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	p.wait(t)
}

// signal sends a signal to this process alone; one that has ended is no error.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

// killed is wait's status of a process that a signal ended.
const killed = -1

// wait waits for the end of the process and returns its exit status.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Errorf("no end: %v\n%s", p.cmd.Args, p.err)
		p.signal(t, syscall.SIGKILL)
		<-p.done
	}
	if exit := (*exec.ExitError)(nil); p.waitErr != nil && !errors.As(p.waitErr, &exit) {
		t.Fatal(p.waitErr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// ends waits for the end and checks the exit status, and that each of the texts
// was said on either stream.
func (p *process) ends(t *testing.T, status int, texts ...string) {
	t.Helper()
	if got := p.wait(t); got != status {
		t.Fatalf("exit status %d, want %d\n%s%s", got, status, p.out, p.err)
	}
	for _, text := range texts {
		if all := p.out.String() + p.err.String(); !strings.Contains(all, text) {
			t.Errorf("it does not say %q:\n%s", text, all)
		}
	}
}

// transcript is what a process has written, for who waits for words in it.
type transcript struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed and made anew at each change
	ended   bool
}

func newTranscript() *transcript { return &transcript{changed: make(chan struct{})} }

func (w *transcript) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
	return w.text.Write(b)
}

func (w *transcript) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed, w.ended = make(chan struct{}), true
}

// wait waits until text was written; late says that it took too long.
func (w *transcript) wait(text string) (found, late bool) {
	limit := time.After(patience)
	for {
		w.mu.Lock()
		found, ended, changed := bytes.Contains(w.text.Bytes(), []byte(text)), w.ended, w.changed
		w.mu.Unlock()
		if found || ended {
			return found, false
		}
		select {
		case <-changed:
		case <-limit:
			return false, true
		}
	}
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// eventually polls what another process does, until it is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !so() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// requests waits until the web has answered so many requests.
func (s *census) requests(t *testing.T, n int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d requests", n), func() bool { return s.web.Stats().Requests >= n })
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// statePath is the state file of an unfinished crawl.
func (s *census) statePath(kind sink.Kind) string {
	return filepath.Join(s.out, ".state", string(kind)+".db")
}

// over says whether the process has ended.
func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
