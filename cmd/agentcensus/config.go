package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// defaultConfig is read when it is there and --config names no other file.
const defaultConfig = "agentcensus.yaml"

// configTemplate is what `config init` writes.
//
//go:embed config.yaml
var configTemplate []byte

// config is the operator's configuration file. Nothing in it has a default
// that pretends to be somebody.
type config struct {
	Bot     botConfig     `yaml:"bot"`
	Signing signingConfig `yaml:"signing"`
	Robots  robotsConfig  `yaml:"robots"`
	Limits  limitsConfig  `yaml:"limits"`
	// OptOut is the file of domains that must not be asked anything.
	OptOut string `yaml:"opt_out"`
	// Suppressed is the file of domains of which no row is kept.
	Suppressed string `yaml:"suppressed"`
	// Resolvers are DNS servers as IP:PORT, instead of the system's.
	Resolvers []string `yaml:"resolvers"`
	// Canaries are URLs on origins of the operator's own.
	Canaries []string `yaml:"canaries"`

	// path is where the configuration was read, "" for none.
	path string
}

type botConfig struct {
	Name     string   `yaml:"name"`
	Version  string   `yaml:"version"`
	InfoURL  string   `yaml:"info_url"`
	Operator string   `yaml:"operator"`
	Contact  string   `yaml:"contact"`
	Tokens   []string `yaml:"tokens"`
	Schedule string   `yaml:"schedule"`
}

type signingConfig struct {
	Agent string      `yaml:"agent"`
	Form  string      `yaml:"form"`
	Keys  []keyConfig `yaml:"keys"`
}

type keyConfig struct {
	File      string `yaml:"file"`
	NotBefore moment `yaml:"not_before"`
	Expires   moment `yaml:"expires"`
}

type robotsConfig struct {
	Policy string `yaml:"policy"`
}

type limitsConfig struct {
	Written  whole `yaml:"in_flight"`
	InFlight *int  `yaml:"-"` // not nil once filled
}

// moment is a point in time, zero when none is given. The YAML reader's own
// would take what it cannot read for none.
type moment struct{ time.Time }

// UnmarshalYAML reads a date, its first instant in UTC, or a time with a zone.
func (m *moment) UnmarshalYAML(node ast.Node) (err error) {
	if node.Type() == ast.NullType {
		return nil
	}
	token := node.GetToken()
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if m.Time, err = time.Parse(layout, token.Value); err == nil {
			return nil
		}
	}
	return &lineError{token.Position.Line, fmt.Sprintf("%q is no time; write 2027-01-31 or 2027-01-31T12:00:00Z", token.Value)}
}

// whole is a whole number, nil when none is given. The YAML reader's own would
// cut what follows a decimal point.
type whole struct{ n *int }

// UnmarshalYAML reads decimal digits.
func (w *whole) UnmarshalYAML(node ast.Node) error {
	if node.Type() == ast.NullType {
		return nil
	}
	token := node.GetToken()
	n, err := strconv.Atoi(token.Value)
	if err != nil {
		return &lineError{token.Position.Line, fmt.Sprintf("%q is no whole number", token.Value)}
	}
	w.n = &n
	return nil
}

// lineError is a fault at a line of the file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// maxInFlight is promise P4: requests in flight over all sites.
const maxInFlight = 60

// loadConfig reads path, or the default file if there is one when path is
// empty. Relative paths in the file are relative to it. Every error names the
// file, and the line where there is one.
func loadConfig(path string) (*config, error) {
	explicit := path != ""
	if !explicit {
		path = defaultConfig
	}
	c := new(config)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !explicit:
	case err != nil:
		return nil, usagef("read the configuration: %w; 'agentcensus config init' writes a commented one", err)
	default:
		if err := parseConfig(text, c); err != nil {
			return nil, usage(configError(path, err))
		}
		c.path = path
	}
	c.fill()
	if err := c.check(); err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	return c, nil
}

// parseConfig reads strict YAML: an unknown key is an error, and so is a second
// document. The reader panics on some broken tags, which is an error too.
func parseConfig(text []byte, c *config) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("this is no YAML: %v", p)
		}
	}()
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return err
	}
	for _, doc := range file.Docs[min(1, len(file.Docs)):] {
		if doc.Body != nil {
			return &lineError{doc.Body.GetToken().Position.Line, "another document begins here: write all settings into one"}
		}
	}
	return yaml.UnmarshalWithOptions(text, c, yaml.Strict())
}

// configError puts file and line before what the YAML reader says.
func configError(path string, err error) error {
	var fault *lineError
	if errors.As(err, &fault) {
		return fmt.Errorf("%s:%d: %s", path, fault.line, fault.text)
	}
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) && wrong.Token != nil {
		return fmt.Errorf("%s:%d: %q is no %s", path, wrong.Token.Position.Line, wrong.Token.Value, kindOf(wrong.DstType))
	}
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil {
		return fmt.Errorf("%s:%d: %s", path, y.GetToken().Position.Line, y.GetMessage())
	}
	return fmt.Errorf("%s: %w", path, err)
}

// kindOf is what a person calls a value of type t.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "list"
	case reflect.Struct:
		return "group of settings"
	}
	return t.String()
}

// fill sets what follows from other settings, or has a default.
func (c *config) fill() {
	if c.Limits.InFlight = c.Limits.Written.n; c.Limits.InFlight == nil {
		c.Limits.InFlight = new(maxInFlight)
	}
	if c.Bot.Version == "" {
		c.Bot.Version = "1.0"
	}
	if len(c.Bot.Tokens) == 0 && c.Bot.Name != "" {
		c.Bot.Tokens = []string{c.Bot.Name}
	}
	if c.Signing.Agent == "" {
		c.Signing.Agent = originOf(c.Bot.InfoURL)
	}
	if c.Signing.Form == "" {
		c.Signing.Form = "dictionary"
	}
	if c.Robots.Policy == "" {
		c.Robots.Policy = "rfc9309"
	}
	dir := filepath.Dir(c.path)
	for i := range c.Signing.Keys {
		c.Signing.Keys[i].File = relativeTo(dir, c.Signing.Keys[i].File)
	}
	c.OptOut = relativeTo(dir, c.OptOut)
	c.Suppressed = relativeTo(dir, c.Suppressed)
	if c.Suppressed == "" && c.OptOut != "" {
		c.Suppressed = filepath.Join(filepath.Dir(c.OptOut), "suppressed.txt")
	}
}

func relativeTo(dir, file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// originOf is the scheme and host of an https URL, "" of anything else.
func originOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return "https://" + strings.ToLower(u.Host)
}

// check refuses values that no crawl could use.
func (c *config) check() error {
	if n := c.Bot.Name; n != "" && !isToken(n) {
		return fmt.Errorf("bot.name %q: write one word of letters, digits, '-' and '_', as site owners will write it in robots.txt", n)
	}
	for _, t := range c.Bot.Tokens {
		if !isProductToken(t) {
			return fmt.Errorf("bot.tokens: %q is no product token of RFC 9309: letters, '-' and '_' only", t)
		}
	}
	for _, f := range []struct{ name, text string }{
		{"bot.version", c.Bot.Version}, {"bot.info_url", c.Bot.InfoURL}, {"bot.contact", c.Bot.Contact},
	} {
		if strings.ContainsFunc(f.text, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("%s %q: printable ASCII without blanks only", f.name, f.text)
		}
	}
	for _, k := range c.Signing.Keys {
		if k.File == "" {
			return errors.New("signing.keys: a key has no file; write - file: key.pem")
		}
	}
	if c.Bot.InfoURL != "" && originOf(c.Bot.InfoURL) == "" {
		return fmt.Errorf("bot.info_url %q: write the https URL of the page that tells site owners about the bot", c.Bot.InfoURL)
	}
	if p := c.Robots.Policy; p != "rfc9309" && p != "strict" {
		return fmt.Errorf("robots.policy %q: write rfc9309 or strict", p)
	}
	if f := c.Signing.Form; f != "dictionary" && f != "legacy-string" {
		return fmt.Errorf("signing.form %q: write dictionary or legacy-string", f)
	}
	for _, text := range c.Canaries {
		if _, err := parseCanary(text); err != nil {
			return fmt.Errorf("canaries: %w", err)
		}
	}
	for _, r := range c.Resolvers {
		if err := checkResolver(r); err != nil {
			return fmt.Errorf("resolvers: %w", err)
		}
	}
	return checkInFlight("limits.in_flight", *c.Limits.InFlight)
}

// checkResolver refuses what is no address of a DNS server: its name could only
// be looked up by another.
func checkResolver(text string) error {
	if a, err := netip.ParseAddrPort(text); err != nil || a.Port() == 0 {
		return fmt.Errorf("%q: write IP:PORT, such as 127.0.0.1:53 or [::1]:53", text)
	}
	return nil
}

// checkHostPort refuses what is no address of a server.
func checkHostPort(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q: write HOST:PORT, such as 127.0.0.1:9100", text)
	}
	return nil
}

func checkInFlight(name string, n int) error {
	if n < 1 || n > maxInFlight {
		return errors.New(strings.TrimSpace(fmt.Sprintf("%s %d: between 1 and %d requests may be in flight", name, n, maxInFlight)))
	}
	return nil
}

// takeInFlight sets the limit of the flag, 0 when it was not given. It may not
// exceed the one that the configuration states: the bot's page promises that.
func (c *config) takeInFlight(n int) error {
	if n == 0 {
		return nil
	}
	if limit := *c.Limits.InFlight; n > limit {
		return usagef("--in-flight %d is more than limits.in_flight %d in %s, which the bot's page promises", n, limit, c.path)
	}
	c.Limits.InFlight = &n
	return nil
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// isProductToken is RFC 9309 section 2.2.1's product token.
func isProductToken(s string) bool {
	return isToken(s) && !strings.ContainsAny(s, "0123456789")
}

// requireIdentity says what is still to be written before a single request
// may go to the public internet.
func (c *config) requireIdentity() error {
	var missing []string
	for _, f := range []struct{ key, value, what string }{
		{"bot.name", c.Bot.Name, "the name under which the bot asks"},
		{"bot.info_url", c.Bot.InfoURL, "the https page that tells site owners about it"},
		{"bot.contact", c.Bot.Contact, "how site owners reach you"},
	} {
		if f.value == "" {
			missing = append(missing, fmt.Sprintf("  %-16s %s", f.key, f.what))
		}
	}
	if len(c.Signing.Keys) == 0 {
		missing = append(missing, "  signing.keys     the key that signs every request ('agentcensus keys new --out FILE' makes one)")
	}
	if len(missing) == 0 {
		return nil
	}
	where := c.path
	if where == "" {
		where = "a configuration file ('agentcensus config init' writes a commented one)"
	}
	return usagef("nothing is sent to the public internet without a name, an information URL, a contact and a key; write into %s:\n%s",
		where, strings.Join(missing, "\n"))
}

// userAgent is the User-Agent field: NAME/VERSION (+INFO_URL).
func (c *config) userAgent() string {
	return fmt.Sprintf("%s/%s (+%s)", c.Bot.Name, c.Bot.Version, c.Bot.InfoURL)
}
