package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentcensus/signing"
)

// signFlags are the flags of `agentcensus sign`.
type signFlags struct {
	key, agent, userAgent, form, nonce, config string
	created                                    int64 // seconds since 1970
}

func newSignCommand(s streams) *cobra.Command {
	var f signFlags
	c := &cobra.Command{
		Use:   "sign --key FILE [--agent ORIGIN] [--user-agent UA] METHOD URL",
		Short: "Print a signed request as JSON, for trying a verifier by hand",
		Long: `sign prints the request {"method","url","headers"} as the crawler would sign
it; it sends nothing. Only GET and https are signed.

Agent, user agent and form come from the configuration when no flag names them.
The key never does: site owners take a signature with the crawl's key for a
crawl, so keep another key for trials.

Exit statuses: 0 signed, 1 failed, 2 wrong usage, a key or a URL that is refused.`,
		Example: `  agentcensus sign --key trial.pem GET https://site.example/robots.txt
  agentcensus sign --key trial.pem --agent https://bot.example --user-agent 'SampleBot/1.0' GET https://site.example/ |
    agentcensus verify --directory directory.json -`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("created") {
				f.created = time.Now().Unix()
			}
			return sign(s, f, args[0], args[1])
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.key, "key", "", "the key `file`")
	fl.StringVar(&f.agent, "agent", "", "the https `origin` of the key directory (default: signing.agent of the configuration)")
	fl.StringVar(&f.userAgent, "user-agent", "", "the User-Agent field (default: the configured bot's)")
	fl.StringVar(&f.form, "form", "", "dictionary or legacy-string (default: signing.form of the configuration)")
	oneOf(c, "form", "dictionary", "legacy-string")
	fl.Int64Var(&f.created, "created", 0, "when it was signed, in `seconds` since 1970 (default: now)")
	fl.StringVar(&f.nonce, "nonce", "", "the nonce in `base64`, or none (default: 64 random bytes)")
	addConfigFlag(c, &f.config)
	return c
}

func sign(s streams, f signFlags, method, rawURL string) error {
	key, err := loadKeyFlag(f.key)
	if err != nil {
		return err
	}
	if err := f.fill(); err != nil {
		return err
	}
	agent, err := signing.NewAgent(f.agent, signing.Form(f.form))
	if err != nil {
		return usage(err)
	}
	nonce, err := nonceOf(f.nonce)
	if err != nil {
		return err
	}
	if err := checkSigned(method, rawURL); err != nil {
		return usage(err)
	}
	r, err := signing.RequestFromURL(method, rawURL, http.Header{"User-Agent": {f.userAgent}})
	if err != nil {
		return usage(err)
	}
	created := time.Unix(f.created, 0)
	signed, err := signing.SignRequest(key, agent, r, signing.Params{
		Created: created, Expires: created.Add(signing.Lifetime), Nonce: nonce,
	})
	if err != nil {
		return usage(err)
	}
	signed.Set(r.Header)
	text, err := r.JSON()
	if err != nil {
		return err
	}
	if _, err := s.out.Write(text); err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	return nil
}

// fill takes from the configuration what no flag names.
func (f *signFlags) fill() error {
	if f.config == "" && f.agent != "" && f.userAgent != "" && f.form != "" {
		return nil
	}
	c, err := loadConfig(f.config)
	if err != nil {
		return err
	}
	if f.agent == "" {
		f.agent = c.Signing.Agent
	}
	if f.userAgent == "" && c.Bot.Name != "" && c.Bot.InfoURL != "" {
		f.userAgent = c.userAgent()
	}
	if f.form == "" {
		f.form = c.Signing.Form
	}
	switch {
	case f.agent == "":
		return usagef("name the origin of the key directory with --agent, or write signing.agent into the configuration")
	case f.userAgent == "":
		return usagef("give the User-Agent field with --user-agent, or write bot.name and bot.info_url into the configuration")
	}
	return nil
}

// nonceOf reads --nonce.
func nonceOf(text string) ([]byte, error) {
	switch text {
	case "none":
		return nil, nil
	case "":
		nonce := make([]byte, signing.NonceSize)
		if _, err := rand.Read(nonce); err != nil {
			return nil, fmt.Errorf("make a nonce: %w", err)
		}
		return nonce, nil
	}
	nonce, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, usagef("--nonce: %w; write base64, or none", err)
	}
	return nonce, nil
}

// checkSigned refuses what the crawler would never send.
func checkSigned(method, rawURL string) error {
	if method != http.MethodGet {
		return fmt.Errorf("method %q: only GET is signed", method)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return err
	}
	switch {
	case u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%q: only https URLs are signed", rawURL)
	case u.User != nil:
		return errors.New("a user name in the URL is never sent; leave it out")
	}
	for segment := range strings.SplitSeq(u.EscapedPath(), "/") {
		// Verifiers built on the URL Standard remove these before they check.
		if plain := strings.ReplaceAll(strings.ToLower(segment), "%2e", "."); plain == "." || plain == ".." {
			return fmt.Errorf("%q: write the URL without dot segments, as it is requested", rawURL)
		}
	}
	return nil
}
