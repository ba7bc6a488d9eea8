package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"agentcensus/pipeline/agentcard"
)

func newInspectCommand(s streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "inspect FILE...",
		Short: "Say what the census reads from a card",
		Long: `inspect reads files (or standard input, "-") as the crawler reads the body of
/.well-known/agent-card.json: is it an Agent Card, and what does it say? On a
terminal it shows a page, elsewhere or with --json one JSON object a line.

Exit statuses: 0 all are cards, 1 some are not, 2 a file could not be read.`,
		Example: `  agentcensus inspect agent-card.json
  curl -s https://site.example/.well-known/agent-card.json | agentcensus inspect --json -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			show := showCard
			if asJSON || !isTerminal(s.out) {
				show = encodeCard
			}
			all := true
			for _, file := range files {
				body, err := readFileOr(s.in, file)
				if err != nil {
					return usagef("read a card: %w", err)
				}
				v, card := agentcard.Read(body)
				all = all && v.Kind == agentcard.Is
				if err := show(s.out, file, v, card); err != nil {
					return err
				}
			}
			if !all {
				return &exitError{exitFailed, nil}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line, also on a terminal")
	return c
}

// inspection is one line of `inspect --json`.
type inspection struct {
	File                 string       `json:"file"`
	Verdict              string       `json:"verdict"`
	Reason               string       `json:"reason"`
	Detail               string       `json:"detail,omitempty"`
	A2AVersion           string       `json:"a2a_version"`
	VersionSource        string       `json:"version_source"`
	Shape                string       `json:"shape"`
	Name                 string       `json:"name"`
	ProviderOrganization string       `json:"provider_organization"`
	SkillsCount          int          `json:"skills_count"`
	AuthSchemeTypes      []string     `json:"auth_scheme_types"`
	LegacyAuthSchemes    []string     `json:"legacy_auth_schemes"`
	Signed               bool         `json:"signed"`
	SignatureAlgs        []string     `json:"signature_algs"`
	InterfaceHosts       []string     `json:"interface_hosts"`
	Bindings             []string     `json:"bindings"`
	Capabilities         capabilities `json:"capabilities"`
	Warnings             []string     `json:"warnings"`
}

// capabilities has null for what the card does not say.
type capabilities struct {
	Streaming              *bool `json:"streaming"`
	PushNotifications      *bool `json:"pushNotifications"`
	StateTransitionHistory *bool `json:"stateTransitionHistory"`
	ExtendedAgentCard      *bool `json:"extendedAgentCard"`
}

func encodeCard(out io.Writer, file string, v agentcard.Verdict, c agentcard.Card) error {
	return encodeLine(out, inspection{
		File: file, Verdict: string(v.Kind), Reason: v.Reason, Detail: v.Detail,
		A2AVersion: c.A2AVersion, VersionSource: string(c.VersionSource), Shape: string(c.Shape),
		Name: c.Name, ProviderOrganization: c.Provider.Organization, SkillsCount: c.SkillsCount,
		AuthSchemeTypes: listed(c.SchemeTypes), LegacyAuthSchemes: listed(c.LegacyAuthSchemes),
		Signed: c.Signed, SignatureAlgs: listed(algs(c)),
		InterfaceHosts: listed(c.InterfaceHosts), Bindings: listed(c.Bindings),
		Capabilities: capabilities{c.Capabilities.Streaming, c.Capabilities.PushNotifications,
			c.Capabilities.StateTransitionHistory, c.Capabilities.ExtendedCard},
		Warnings: listed(c.Warnings),
	})
}

// algs are the algorithms of the well-formed signatures, in order.
func algs(c agentcard.Card) []string {
	var out []string
	for _, sig := range c.Signatures {
		if sig.WellFormed {
			out = append(out, sig.Alg)
		}
	}
	return out
}

// listed makes an absent list an empty one: [] in JSON, not null.
func listed(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// showCard is the page for a person. Every text of the card is a stranger's.
func showCard(out io.Writer, file string, v agentcard.Verdict, c agentcard.Card) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, values ...string) {
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
		if text := strings.Join(values, ", "); text != "" {
			fmt.Fprintf(w, "  %s\t%s\n", name, printable(text))
		}
	}
	fmt.Fprintf(w, "%s: %s\n", printable(file), verdictLine(v))
	if v.Kind == agentcard.Not {
		return w.Flush()
	}
	row("name", c.Name)
	row("description", c.Description)
	row("agent version", c.Version)
	row("provider", c.Provider.Organization, c.Provider.URL)
	row("A2A version", fmt.Sprintf("%s (from %s, shape %s)", c.A2AVersion, c.VersionSource, c.Shape))
	for _, i := range c.Interfaces {
		row("interface", i.Binding, i.URL)
	}
	row("skills", fmt.Sprint(c.SkillsCount))
	for _, skill := range c.Skills {
		row("", "- "+skill.ID+" "+skill.Name)
	}
	row("auth schemes", c.SchemeTypes...)
	row("legacy auth", c.LegacyAuthSchemes...)
	row("streaming", said(c.Capabilities.Streaming))
	row("push", said(c.Capabilities.PushNotifications))
	row("extended card", said(c.Capabilities.ExtendedCard))
	row("signatures", signatureLine(c))
	row("warnings", c.Warnings...)
	return w.Flush()
}

func verdictLine(v agentcard.Verdict) string {
	switch v.Kind {
	case agentcard.Is:
		return "an Agent Card (rule " + v.Reason + ")"
	case agentcard.Near:
		return "meant as an Agent Card, of no use to a client (" + v.Reason + ")"
	}
	if v.Detail != "" {
		return fmt.Sprintf("not an Agent Card (%s: %s at byte %d)", v.Reason, v.Detail, v.Offset)
	}
	return "not an Agent Card (" + v.Reason + ")"
}

func said(b *bool) string {
	if b == nil {
		return ""
	}
	return fmt.Sprint(*b)
}

// signatureLine never says that a signature is valid: nobody has checked it.
func signatureLine(c agentcard.Card) string {
	if c.SignaturesCount == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, not checked (%s)", c.SignaturesCount, strings.Join(algs(c), ", "))
}
