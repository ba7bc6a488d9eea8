package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"time"

	"agentcensus/pipeline/simweb"
)

// roleVar tells a process that it is a child, and which.
const roleVar = "AGENTCENSUS_BENCH_ROLE"

// The roles of children.
const (
	roleWeb      = "web"
	roleBare     = "bare"
	roleUnsigned = "unsigned"
	rolePolite   = "polite"
	roleCrawler  = "crawler"
	roleInMemory = "in_memory"
)

// Task is what a client is told to do.
type Task struct {
	Sites   int
	Reach   Reach
	GC      GC
	Profile string // where to write a CPU profile; "" none
	Dir     string // of the crawler's output; made by the parent

	// Of the crawler.
	List   string        // a list file to crawl instead of made-up names
	For    time.Duration // stop after so long; 0: at the end of the list
	Sample time.Duration // report the process so often; 0: never

	// Of the crawl in memory.
	CardEvery   int  // every so many sites publish a card; 0: none
	Discard     bool // keep nothing: the pipeline alone
	SampleSites int  // report the process after so many sites; 0: never
}

// GC is how a client's collector is set.
type GC struct {
	Percent int   // 0: Go's default of 100
	Limit   int64 // bytes; 0: none
}

func (g GC) set() {
	if g.Percent != 0 {
		debug.SetGCPercent(g.Percent)
	}
	if g.Limit != 0 {
		debug.SetMemoryLimit(g.Limit)
	}
}

func (g GC) String() string {
	percent := g.Percent
	if percent == 0 {
		percent = 100
	}
	if g.Limit == 0 {
		return fmt.Sprintf("GC %d", percent)
	}
	return fmt.Sprintf("GC %d, limit %.0f MiB", percent, mib(g.Limit))
}

// Report is what a client says at its end.
type Report struct {
	Sites    int64
	Requests int64
	Failed   int64         // sites whose robots.txt brought no answer
	Wall     time.Duration // of the asking, without starting up
	Blocked  time.Duration // of it, slots held by dials to hosts that never answer
	Own      time.Duration // CPU of the asking, by the process itself
	Peak     int64         // VmHWM in bytes
	Tables   time.Duration // writing Parquet, where tables are written
	Outcomes map[string]int64
}

// message is a line of a client's output: a sample on the way or the report.
type message struct {
	Sample *Sample `json:",omitempty"`
	Report *Report `json:",omitempty"`
}

// Run is a client's run as the parent saw it.
type Run struct {
	Report
	CPU    time.Duration // user and system time of the whole process
	Server simweb.Stats  // the web's counters of it; zero without sockets
}

// Role is what this process was started for; "" when it is no child.
func Role() string { return os.Getenv(roleVar) }

// Play is the life of a child. in and out are its standard input and output.
func Play(ctx context.Context, role string, in io.Reader, out io.Writer) error {
	if role == roleWeb {
		return playWeb(ctx, in, out)
	}
	client, ok := clients[role]
	if !ok {
		return fmt.Errorf("bench: no role %q", role)
	}
	var t Task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("bench: read the task: %w", err)
	}
	t.GC.set()
	stop, err := profile(t.Profile)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	report, err := client(ctx, t, func(s Sample) error { return enc.Encode(message{Sample: &s}) })
	if err = errors.Join(err, stop()); err != nil {
		return fmt.Errorf("bench: %s: %w", role, err)
	}
	p, err := self()
	if err != nil {
		return err
	}
	report.Peak = p.Peak
	return enc.Encode(message{Report: &report})
}

// client is what a child does for a task.
type client func(ctx context.Context, t Task, sample func(Sample) error) (Report, error)

// clients by role.
var clients = map[string]client{
	roleBare:     bare,
	roleUnsigned: unsigned,
	rolePolite:   polite,
	roleCrawler:  crawler,
	roleInMemory: inMemory,
}

// command is this program again, as a child.
func command(ctx context.Context, role string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("bench: find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// start runs a client to its end. Samples on the way go to sample, which may
// be nil.
func start(ctx context.Context, role string, t Task, sample func(Sample)) (run Run, err error) {
	dir, err := os.MkdirTemp("", "agentcensus-bench-*")
	if err != nil {
		return run, fmt.Errorf("bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	t.Dir = dir

	cmd, err := command(ctx, role)
	if err != nil {
		return run, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return run, fmt.Errorf("bench: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return run, fmt.Errorf("bench: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return run, fmt.Errorf("bench: start %s: %w", role, err)
	}
	told := errors.Join(json.NewEncoder(stdin).Encode(t), stdin.Close())
	report, heard := listen(stdout, sample)
	if err := errors.Join(told, heard, cmd.Wait()); err != nil {
		return run, fmt.Errorf("bench: %s: %w", role, err)
	}
	return Run{Report: report, CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// listen reads a client's messages up to its report.
func listen(r io.Reader, sample func(Sample)) (Report, error) {
	dec := json.NewDecoder(r)
	for {
		var m message
		if err := dec.Decode(&m); err != nil {
			return Report{}, fmt.Errorf("read its report: %w", err)
		}
		if m.Sample != nil && sample != nil {
			sample(*m.Sample)
		}
		if m.Report != nil {
			return *m.Report, nil
		}
	}
}
