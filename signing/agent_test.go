package signing

import (
	"strings"
	"testing"
)

func TestSignatureAgents(t *testing.T) {
	for _, tc := range []struct {
		name, value string
		form        Form
		header      string // "" when refused
		says        string // when refused
	}{
		{"an origin", "https://bot.example", FormDictionary, `sig1="https://bot.example"`, ""},
		{"no form is the dictionary", "https://bot.example", "", `sig1="https://bot.example"`, ""},
		{"an origin as a string", "https://bot.example", FormLegacyString, `"https://bot.example"`, ""},
		{"a port that is not the default", "https://bot.example:8443", FormDictionary, `sig1="https://bot.example:8443"`, ""},
		{"punycode", "https://xn--bcher-kva.example", FormDictionary, `sig1="https://xn--bcher-kva.example"`, ""},
		{"a whole URL for draft -01", "https://bot.example" + DirectoryPath, FormDictionary, `sig1="https://bot.example` + DirectoryPath + `"`, ""},
		{"an address", "https://[2001:db8::1]:8443", FormDictionary, `sig1="https://[2001:db8::1]:8443"`, ""},
		{"nothing", "", FormDictionary, "", "https URL"},
		{"http", "http://bot.example", FormDictionary, "", "https URL"},
		{"a host alone", "bot.example", FormDictionary, "", "https URL"},
		{"no host", "https://", FormDictionary, "", "no host"},
		{"a bare slash", "https://bot.example/", FormDictionary, "", "leave the slash out"},
		{"the default port", "https://bot.example:443", FormDictionary, "", "leave the default port out"},
		{"an empty port", "https://bot.example:", FormDictionary, "", "leave the default port out"},
		{"upper case", "https://Bot.example", FormDictionary, "", "write the host as bot.example"},
		{"an upper-case scheme", "HTTPS://bot.example", FormDictionary, "", "write it as https://bot.example"},
		{"a Unicode name", "https://bücher.example", FormDictionary, "", "write the host as xn--bcher-kva.example"},
		{"a user", "https://me@bot.example", FormDictionary, "", "no place"},
		{"a query", "https://bot.example/?a", FormDictionary, "", "no place"},
		{"a fragment", "https://bot.example/#a", FormDictionary, "", "no place"},
		{"a quote", `https://bot.example/"`, FormDictionary, "", "write it as"},
		{"a form of its own", "https://bot.example", "list", "", "form"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := NewAgent(tc.value, tc.form)
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Fatalf("error %v, want one that says %q", err, tc.says)
				}
				return
			}
			if err != nil || a.Header() != tc.header || a.URL() != tc.value {
				t.Errorf("header %q, URL %q, error %v", a.Header(), a.URL(), err)
			}
		})
	}
}
