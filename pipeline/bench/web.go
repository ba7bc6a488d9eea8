package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"agentcensus/pipeline/simweb"
)

// webConfig is what the simulated web is made from.
type webConfig struct {
	Profile            string
	Latency, Handshake simweb.Lognormal
}

// order is a line of the web's input.
type order string

const (
	orderForget order = "forget" // set the counters to zero
	orderStats  order = "stats"  // say the counters
)

// webGC keeps the web's collector from taking the clients' cores.
var webGC = GC{Percent: 400}

// playWeb is the child process that is the web. It answers each order with
// its counters and ends with its input.
func playWeb(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	webGC.set()
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	var c webConfig
	if err := orders.Decode(&c); err != nil {
		return fmt.Errorf("bench: web: read its configuration: %w", err)
	}
	w, err := simweb.Start(ctx, simweb.Config{
		Seed: 1, Profile: c.Profile, Latency: c.Latency, HandshakeLatency: c.Handshake,
		Addresses: simweb.Loopback, Log: simweb.LogCounters,
	})
	if err != nil {
		return fmt.Errorf("bench: web: %w", err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := answers.Encode(Reach{Resolvers: w.Resolvers(), Port: w.Port(), Roots: w.CAPEM()}); err != nil {
		return fmt.Errorf("bench: web: %w", err)
	}
	for {
		var o order
		switch err := orders.Decode(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("bench: web: read an order: %w", err)
		}
		if o == orderForget {
			w.Forget()
		}
		if err := answers.Encode(w.Stats()); err != nil {
			return fmt.Errorf("bench: web: %w", err)
		}
	}
}

// web is the parent's end of that process.
type web struct {
	Reach   Reach
	cmd     *exec.Cmd
	stdin   io.Closer
	orders  *json.Encoder
	answers *json.Decoder
}

// startWeb starts the web. It must be closed.
func startWeb(ctx context.Context, c webConfig) (*web, error) {
	cmd, err := command(ctx, roleWeb)
	if err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: start the web: %w", err)
	}
	w := &web{cmd: cmd, stdin: stdin, orders: json.NewEncoder(stdin), answers: json.NewDecoder(stdout)}
	if err := errors.Join(w.orders.Encode(c), w.answers.Decode(&w.Reach)); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: start the web: %w", err), w.close())
	}
	return w, nil
}

// ask gives an order and returns the counters after it.
func (w *web) ask(o order) (s simweb.Stats, err error) {
	if err := errors.Join(w.orders.Encode(o), w.answers.Decode(&s)); err != nil {
		return s, fmt.Errorf("bench: ask the web to %s: %w", o, err)
	}
	return s, nil
}

func (w *web) close() error { return errors.Join(w.stdin.Close(), w.cmd.Wait()) }
