package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// self looks at this process.
func self() (Sample, error) {
	s := Sample{Goroutines: runtime.NumGoroutine()}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return s, fmt.Errorf("bench: %w", err)
	}
	for name, to := range map[string]*int64{"VmHWM": &s.Peak, "VmRSS": &s.RSS, "RssAnon": &s.Anon} {
		if *to, err = kilobytes(status, name); err != nil {
			return s, err
		}
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return s, fmt.Errorf("bench: %w", err)
	}
	s.Files = len(files) - 1 // without the one that reads the directory
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	s.Live = int64(live[0].Value.Uint64())
	s.CPU, err = ownCPU()
	return s, err
}

// kilobytes reads a field such as "VmHWM:   1234 kB", in bytes.
func kilobytes(status []byte, name string) (int64, error) {
	_, rest, ok := bytes.Cut(status, []byte("\n"+name+":"))
	if !ok {
		return 0, fmt.Errorf("bench: /proc/self/status has no %s", name)
	}
	value, _, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("bench: %s in /proc/self/status: %w", name, err)
	}
	return n << 10, nil
}

// ownCPU is the user and system time of this process so far.
func ownCPU() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("bench: own CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// load is the machine's load over a minute, as it says itself.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

// machine is what the figures were measured on.
func machine() string {
	model := "unknown CPU"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(b), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			model = strings.Trim(line, "\t :")
		}
	}
	return fmt.Sprintf("%s, %d cores, %s %s/%s", model, runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// profile writes a CPU profile to path until stop is called; "" writes none.
func profile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("bench: profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: profile: %w", err), f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
