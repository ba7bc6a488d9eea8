package signing

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// label names the signature and, in the dictionary form, its Signature-Agent
// member: one word for both, because renaming only one breaks verifiers.
const label = "sig1"

// Form is how the Signature-Agent header is written. One header cannot be both.
type Form string

const (
	// FormDictionary is sig1="https://bot.example": what draft-ietf -00 and -01
	// require of signers, and what verifiers of architecture-04 and later read.
	FormDictionary Form = "dictionary"
	// FormLegacyString is "https://bot.example": architecture-02 and -03. As of
	// 2026 it is what Cloudflare documents for its verifier, which by the same
	// page refuses the component parameter "key" of the dictionary form. Drafts
	// from -04 on only MAY accept it.
	FormLegacyString Form = "legacy-string"
)

// Agent is the value of Signature-Agent: where a verifier finds the keys.
type Agent struct {
	url  string
	form Form
	// Written once for the hot path.
	header    string // the header's value
	component string // the covered component's identifier
	value     string // the covered component's value
	covered   string // the inner list of all covered components
}

// NewAgent checks and prepares a Signature-Agent. value is one of
//   - an https origin exactly, "https://bot.example": lower case, A-labels, no
//     path, no slash, no default port. A verifier of draft -00 fetches its
//     well-known directory;
//   - a whole https URL, "https://bot.example/.well-known/http-message-signatures-directory":
//     what draft -01 means, where the value itself is the JWK Set's URL.
//
// No single value satisfies verifiers of both drafts. form "" is [FormDictionary].
func NewAgent(value string, form Form) (Agent, error) {
	if err := checkAgent(value); err != nil {
		return Agent{}, fmt.Errorf("signature agent %q: %w", value, err)
	}
	a := Agent{url: value, form: form, value: `"` + value + `"`}
	switch form {
	case "", FormDictionary:
		a.form = FormDictionary
		a.header = label + "=" + a.value
		a.component = `"signature-agent";key="` + label + `"`
	case FormLegacyString:
		a.header = a.value
		a.component = `"signature-agent"`
	default:
		return Agent{}, fmt.Errorf("signature agent form %q: want %q or %q", form, FormDictionary, FormLegacyString)
	}
	a.covered = `("@method" "@authority" "@path" "user-agent" ` + a.component + `)`
	return a, nil
}

// URL returns the origin or URL the agent was made of.
func (a Agent) URL() string { return a.url }

// Form returns the form of the header.
func (a Agent) Form() Form { return a.form }

// Header returns the value of the Signature-Agent header.
func (a Agent) Header() string { return a.header }

// checkAgent says what to write instead of a value that two verifiers could
// read differently.
func checkAgent(value string) error {
	u, err := url.Parse(value)
	if err != nil {
		return err
	}
	host := u.Hostname()
	switch {
	case u.Scheme != "https":
		return errors.New("want an https URL such as https://bot.example")
	case u.User != nil || u.Fragment != "" || u.RawQuery != "" || u.ForceQuery || u.Opaque != "":
		return errors.New("user, query and fragment have no place in it")
	case host == "":
		return errors.New("there is no host in it")
	case strings.HasSuffix(u.Host, ":443") || strings.HasSuffix(u.Host, ":"):
		return errors.New("leave the default port out")
	case u.Path == "/":
		return errors.New("leave the slash out: an origin has no path (RFC 6454 6.2)")
	}
	if _, err := netip.ParseAddr(host); err != nil {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return fmt.Errorf("host: %w", err)
		}
		if ascii != host {
			return fmt.Errorf("write the host as %s", ascii)
		}
	}
	// The value stands in a quoted string and in the signature base as it is.
	if u.String() != value || !visible(value) || strings.ContainsAny(value, `"\`) {
		return fmt.Errorf("write it as %s", u.String())
	}
	return nil
}

// visible reports whether s is VCHAR only (RFC 5234 B.1).
func visible(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
