package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"agentcensus/signing"
)

// Limits of the server. What it answers is small and made in memory, so that
// they only bound what a slow or hostile client can hold.
const (
	serveHeaderTimeout = 5 * time.Second
	serveTimeout       = 10 * time.Second // of one request, and of one answer
	serveIdleTimeout   = 60 * time.Second
	serveHeaderBytes   = 16 << 10
	// serveGrace is how long a stop waits for the answers under way.
	serveGrace = 10 * time.Second
)

// botPath is where the page for site owners is served.
const botPath = "/bot"

func newServeCommand(s streams) *cobra.Command {
	var listen, path string
	c := &cobra.Command{
		Use:   "serve --listen ADDR [--config FILE]",
		Short: "Answer for the bot: its key directory and its page for site owners",
		Long: `serve answers
  ` + signing.DirectoryPath + `
            the signed directory of the configured keys, at the authority of
            signing.agent alone; also at /, when Accept names the directory's
            media type (draft -01 of Web Bot Auth)
  ` + botPath + `      a page for site owners, made from the configuration

It speaks plain HTTP: TLS is the business of a reverse proxy before it, which
must pass the Host field on and must not compress. A changed configuration is
read at the next start. SIGTERM or Ctrl-C finishes what is being answered.

Exit statuses: 0 stopped, 1 failed, 2 wrong usage or configuration.`,
		Example: "  agentcensus serve --listen 127.0.0.1:8080 --config /etc/agentcensus.yaml",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return runServe(c.Context(), s, listen, path)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "the `ADDR` to listen on, such as 127.0.0.1:8080")
	addConfigFlag(c, &path)
	return c
}

func runServe(ctx context.Context, s streams, listen, path string) error {
	if listen == "" {
		return usagef("name the address to listen on with --listen, such as --listen 127.0.0.1:8080")
	}
	c, err := loadConfig(path)
	if err != nil {
		return err
	}
	h, err := newBotServer(c, time.Now)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return usagef("--listen: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	errs := log.New(s.err, "agentcensus: ", log.LstdFlags)
	errs.Printf("serving the key directory of %s and the page of %s on http://%s", c.Signing.Agent, c.Bot.Name, ln.Addr())
	if u, err := url.Parse(c.Bot.InfoURL); err == nil && u.Path != botPath {
		errs.Printf("bot.info_url is %s: let the reverse proxy answer it with %s", c.Bot.InfoURL, botPath)
	}
	return serve(ctx, ln, h, errs)
}

// newBotServer answers for the configured bot. It refuses a configuration that
// leaves a question of the page open.
func newBotServer(c *config, now func() time.Time) (http.Handler, error) {
	if err := c.requireIdentity(); err != nil {
		return nil, err
	}
	if c.Bot.Operator == "" {
		return nil, usagef("%s: write bot.operator: the page tells site owners who runs the bot", c.path)
	}
	authority, err := directoryAuthority(c.Signing.Agent)
	if err != nil {
		return nil, usagef("%s: signing.agent: %w", c.path, err)
	}
	keys, err := c.keySet()
	if err != nil {
		return nil, err
	}
	directory, err := signing.NewHandler(keys, authority, now)
	if err != nil {
		return nil, keyError(err)
	}
	page, err := newBotPage(c, keys, authority, now)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(signing.DirectoryPath, directory)
	mux.Handle("GET "+botPath, page)
	mux.Handle("/{$}", root(directory))
	return mux, nil
}

// root answers / with the directory to whom asks for its media type: a
// verifier of draft -01 fetches the Signature-Agent value itself. Others are
// shown the page.
func root(directory http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if !acceptsDirectory(r.Header) {
			http.Redirect(w, r, botPath, http.StatusFound)
			return
		}
		at := *r
		at.URL = &url.URL{Path: signing.DirectoryPath}
		directory.ServeHTTP(w, &at)
	})
}

// acceptsDirectory says whether Accept names the directory's media type; a
// range that merely includes it does not (RFC 9110 section 12.5.1).
func acceptsDirectory(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil || kind != signing.DirectoryType {
			continue
		}
		q, given := params["q"]
		weight, err := strconv.ParseFloat(q, 64)
		if !given || (err == nil && weight > 0) {
			return true
		}
	}
	return false
}

// serve answers on ln until ctx ends, then finishes what is being answered.
func serve(ctx context.Context, ln net.Listener, h http.Handler, errs *log.Logger) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: serveHeaderTimeout,
		ReadTimeout:       serveTimeout,
		WriteTimeout:      serveTimeout,
		IdleTimeout:       serveIdleTimeout,
		MaxHeaderBytes:    serveHeaderBytes,
		ErrorLog:          errs,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), serveGrace)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop serving: %w", err), server.Close())
	}
	if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve: %w", end))
	}
	return err
}
