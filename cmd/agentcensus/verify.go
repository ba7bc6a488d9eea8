package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"agentcensus/signing"
)

// reasonTestKey is the verdict on a signature that is good, but by the key
// whose private half everyone can read in RFC 9421.
const reasonTestKey signing.Reason = "test_key"

// verifyFlags are the flags of `agentcensus verify`.
type verifyFlags struct {
	directory, agent string
	strict, asJSON   bool
	at               int64 // seconds since 1970
	longest          time.Duration
}

func newVerifyCommand(s streams) *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify --directory FILE REQUEST.json|-",
		Short: "Say whether a request was signed with a key of a directory",
		Long: `verify reads a request as {"method","url","headers"}, a header being a string
or a list of its lines, and checks its Web Bot Auth signature with the keys of a
directory: the JWK Set that an agent publishes under
` + signing.DirectoryPath + `.

Exit statuses: 0 verified, 1 not verified (the reason is printed), 2 wrong
usage or a file that cannot be read.`,
		Example: `  curl -s https://bot.example` + signing.DirectoryPath + ` >directory.json
  agentcensus verify --directory directory.json --agent https://bot.example request.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			now := time.Now()
			if c.Flags().Changed("at") {
				now = time.Unix(f.at, 0)
			}
			return verify(s, f, args[0], now)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.directory, "directory", "", "the JWK Set `file` of the agent")
	fl.StringVar(&f.agent, "agent", "", "the `URL` the directory belongs to, which Signature-Agent must then name")
	fl.BoolVar(&f.strict, "strict", false, "ask for all that this crawler signs, not for what the draft demands alone")
	fl.Int64Var(&f.at, "at", 0, "verify as of this time, in `seconds` since 1970 (default: now)")
	fl.DurationVar(&f.longest, "max-lifetime", signing.DefaultMaxLifetime, "the longest validity that is accepted")
	fl.BoolVar(&f.asJSON, "json", false, "one JSON object")
	return c
}

// verification is the answer of `verify --json`.
type verification struct {
	Verified bool     `json:"verified"`
	Reason   string   `json:"reason"` // "" when verified
	Detail   string   `json:"detail,omitempty"`
	Label    string   `json:"label,omitempty"`
	KeyID    string   `json:"keyid,omitempty"`
	Agent    string   `json:"agent,omitempty"`
	Created  int64    `json:"created,omitempty"` // seconds since 1970
	Expires  int64    `json:"expires,omitempty"`
	Nonce    string   `json:"nonce,omitempty"`
	Covered  []string `json:"covered"`
	Base     string   `json:"signature_base,omitempty"`
}

func verify(s streams, f verifyFlags, file string, now time.Time) error {
	if f.directory == "" {
		return usagef("name the agent's JWK Set with --directory")
	}
	if f.longest <= 0 {
		return usagef("--max-lifetime %s: give a time above zero", f.longest)
	}
	if f.directory == "-" && file == "-" {
		return usagef("directory and request cannot both come from standard input")
	}
	set, err := readFileOr(s.in, f.directory)
	if err != nil {
		return usagef("read the key directory: %w", err)
	}
	keys, err := signing.ParseDirectory(set)
	if err != nil {
		return usagef("%s: %w", f.directory, err)
	}
	text, err := readFileOr(s.in, file)
	if err != nil {
		return usagef("read the request: %w", err)
	}
	r, err := signing.ParseRequestJSON(text)
	if err != nil {
		return usagef("%s: %w", file, err)
	}
	v := verdictOn(r, keys, f, now)
	if err := showVerdict(s, v, f.asJSON); err != nil {
		return err
	}
	if !v.OK() {
		return &exitError{exitFailed, nil}
	}
	return nil
}

// verdictOn verifies r. The published test key is no key to it: a signature that
// only that one fits has a verdict of its own.
func verdictOn(r signing.Request, keys []signing.PublicKey, f verifyFlags, now time.Time) signing.Verdict {
	c := signing.VerifierConfig{Keys: keys, Agent: f.agent, MaxLifetime: f.longest, Strict: f.strict}
	own := slices.DeleteFunc(slices.Clone(keys), signing.PublicKey.Published)
	v := signing.NewVerifier(c).Verify(r, now)
	if len(own) == len(keys) || !v.OK() {
		return v
	}
	c.Keys = own
	if without := signing.NewVerifier(c).Verify(r, now); without.OK() {
		return without
	}
	v.Reason, v.Detail = reasonTestKey, "signed with the key that is printed in RFC 9421: anyone can do that"
	return v
}

func showVerdict(s streams, v signing.Verdict, asJSON bool) error {
	if asJSON {
		answer := verification{
			Verified: v.OK(), Reason: string(v.Reason), Detail: v.Detail, Label: v.Label, KeyID: v.KeyID,
			Agent: v.Agent, Nonce: v.Nonce, Covered: listed(v.Covered), Base: v.Base,
		}
		if !v.Created.IsZero() {
			answer.Created, answer.Expires = v.Created.Unix(), v.Expires.Unix()
		}
		return encodeLine(s.out, answer)
	}
	if !v.OK() {
		fmt.Fprintln(s.out, printable("not verified: "+v.String()))
		return nil
	}
	fmt.Fprintln(s.out, printable(fmt.Sprintf("verified: signed by %s of %s, created %s, expires %s",
		v.KeyID, v.Agent, v.Created.UTC().Format(time.RFC3339), v.Expires.UTC().Format(time.RFC3339))))
	return nil
}
