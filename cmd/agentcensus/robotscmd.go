package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"agentcensus/pipeline/robots"
)

// newRobotsCommand is `agentcensus robots`.
func newRobotsCommand(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "robots",
		Short: "Ask a robots.txt what the crawler would ask it",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(newRobotsCheck(s))
	return c
}

func newRobotsCheck(s streams) *cobra.Command {
	var (
		agents []string
		policy string
		cases  string
		asJSON bool
	)
	c := &cobra.Command{
		Use:   "check FILE URL...",
		Short: "Say for each URL whether a robots.txt allows it, and which line decided",
		Long: `check reads FILE as the robots.txt of a site ("-" is standard input) and says
for each URL or path whether the crawler may request it, which line decided and
in which group.

Exit statuses: 0 all allowed, 1 some not, 2 wrong usage or an unreadable file.`,
		Example: `  agentcensus robots check --agent SampleBot robots.txt https://site.example/.well-known/agent-card.json
  agentcensus robots check --policy strict robots.txt /a /b
  agentcensus robots check --cases cases.jsonl`,
		RunE: func(_ *cobra.Command, args []string) error {
			mode := robots.Mode(policy)
			if mode != robots.RFC9309 && mode != robots.Strict {
				return usagef("--policy %q: write rfc9309 or strict", policy)
			}
			if cases != "" {
				if len(args) > 0 {
					return usagef("--cases takes no further arguments")
				}
				return answerCases(s, cases, mode)
			}
			if len(args) < 2 {
				return usagef("name a robots.txt file and at least one URL; see 'agentcensus robots check --help'")
			}
			if err := checkQuestions(agents, args[1:]); err != nil {
				return usage(err)
			}
			return checkURLs(s, args[0], args[1:], agents, mode, asJSON)
		},
	}
	c.Flags().StringArrayVar(&agents, "agent", nil, "a product `token` of the bot, the preferred first; may be repeated (default: the group *)")
	c.Flags().StringVar(&policy, "policy", string(robots.RFC9309), "rfc9309 or strict")
	oneOf(c, "policy", string(robots.RFC9309), string(robots.Strict))
	c.Flags().StringVar(&cases, "cases", "", "answer a `file` of JSON lines {\"id\",\"robots\" or \"robots_b64\",\"agent\",\"url\"} with lines {\"id\",\"allowed\"}")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

// checkQuestions refuses what no crawl would ask: an answer would mislead.
func checkQuestions(agents, urls []string) error {
	for _, a := range agents {
		if !isProductToken(a) {
			return fmt.Errorf("--agent %q is no product token of RFC 9309: letters, '-' and '_' only, without version", a)
		}
	}
	for _, text := range urls {
		u, err := url.Parse(text)
		switch {
		case strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//"): // a path, well escaped or not
		case err != nil:
			return err
		case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
			return fmt.Errorf("%q: write a whole URL, or a path that begins with /", text)
		}
	}
	return nil
}

// robotsAnswer is one line of `robots check --json`.
type robotsAnswer struct {
	URL     string `json:"url"`
	Allowed bool   `json:"allowed"`
	By      string `json:"by"`
	Group   string `json:"group"`
	Named   bool   `json:"named_group"`
	Line    int    `json:"line"`
	Text    string `json:"text"`
	Policy  string `json:"policy_reason"`
}

// readPolicy reads a robots.txt as the answer 200 of a site.
func readPolicy(body []byte, agents []string, mode robots.Mode) *robots.Policy {
	cut := len(body) > robots.MaxBody
	if cut {
		body = body[:robots.MaxBody]
	}
	return robots.Read(robots.Response{Status: http.StatusOK, Body: body, Cut: cut}, agents, mode)
}

func checkURLs(s streams, file string, urls, agents []string, mode robots.Mode, asJSON bool) error {
	body, err := readFileOr(s.in, file)
	if err != nil {
		return usagef("read the robots.txt: %w", err)
	}
	p := readPolicy(body, agents, mode)
	all := true
	for _, u := range urls {
		d := p.Allows(robots.PathOf(u))
		all = all && d.Allowed
		if asJSON {
			if err := encodeLine(s.out, robotsAnswer{u, d.Allowed, d.By, d.Group, d.Named, d.Line, d.Text, p.Reason()}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(s.out, printable(robotsLine(u, d, p)))
	}
	if !all {
		return &exitError{exitFailed, nil}
	}
	return nil
}

// robotsLine is an answer for a person.
func robotsLine(u string, d robots.Decision, p *robots.Policy) string {
	verdict := "allowed   "
	if !d.Allowed {
		verdict = "disallowed"
	}
	group := "no group applies"
	if d.Group != "" {
		group = "group " + d.Group
	}
	switch d.By {
	case robots.ByRule, robots.ByTie:
		why := ""
		if d.By == robots.ByTie {
			why = ", allow wins a tie"
		}
		return fmt.Sprintf("%s %s  line %d: %s (%s%s)", verdict, u, d.Line, d.Text, group, why)
	case robots.ByClosed:
		return fmt.Sprintf("%s %s  the file keeps the bot out (%s)", verdict, u, p.Reason())
	case robots.ByPathTooLong:
		return fmt.Sprintf("%s %s  no path beyond %d bytes is requested", verdict, u, robots.MaxPath)
	case robots.ByImplicit:
		return fmt.Sprintf("%s %s  /robots.txt is always allowed", verdict, u)
	}
	return fmt.Sprintf("%s %s  no rule matches (%s; %s)", verdict, u, group, p.Reason())
}

// robotsCase is one line of a file of cases.
type robotsCase struct {
	ID     string  `json:"id"`
	Robots *string `json:"robots"`
	Base64 []byte  `json:"robots_b64"`
	Agent  string  `json:"agent"`
	URL    string  `json:"url"`
}

// answerCases answers a file of cases line by line.
func answerCases(s streams, file string, mode robots.Mode) (err error) {
	in, err := openOr(s.in, file)
	if err != nil {
		return usagef("read the cases: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out := bufio.NewWriter(s.out)
	defer func() { err = errors.Join(err, out.Flush()) }()
	answers := json.NewEncoder(out)
	cases := bufio.NewReader(in)
	for line := 1; ; line++ {
		text, err := cases.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return usagef("%s:%d: %w", file, line, err)
		}
		if len(text) == 0 {
			return nil
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var c robotsCase
		if err := json.Unmarshal(text, &c); err != nil {
			return usagef("%s:%d: %w", file, line, err)
		}
		body := c.Base64
		if body == nil && c.Robots != nil {
			body = []byte(*c.Robots)
		} else if body == nil {
			return usagef("%s:%d: neither robots nor robots_b64", file, line)
		}
		d := readPolicy(body, []string{c.Agent}, mode).Decide(robots.PathOf(c.URL))
		if err := answers.Encode(struct {
			ID      string `json:"id"`
			Allowed bool   `json:"allowed"`
		}{c.ID, d.Allowed}); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
}
