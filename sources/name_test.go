package sources_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentcensus/sources"
)

func TestNormaliseBringsNamesIntoOneForm(t *testing.T) {
	long63 := strings.Repeat("a", 63)
	tests := map[string]struct{ in, want string }{
		"as it is":                 {"shop.example", "shop.example"},
		"upper case":               {"Shop.EXAMPLE", "shop.example"},
		"trailing dot":             {"shop.example.", "shop.example"},
		"blanks":                   {" \tshop.example \r", "shop.example"},
		"no-break space":           {"\u00a0shop.example", "shop.example"},
		"umlaut":                   {"bücher.example", "xn--bcher-kva.example"},
		"upper umlaut":             {"BÜCHER.example", "xn--bcher-kva.example"},
		"decomposed umlaut":        {"bu\u0308cher.example", "xn--bcher-kva.example"},
		"sharp s is kept":          {"straße.example", "xn--strae-oqa.example"},
		"A-label":                  {"xn--bcher-kva.example", "xn--bcher-kva.example"},
		"upper A-label":            {"XN--BCHER-KVA.example", "xn--bcher-kva.example"},
		"emoji A-label":            {"xn--ls8h.example", "xn--ls8h.example"},
		"ideographic full stop":    {"shop。example", "shop.example"},
		"full width":               {"ｓｈｏｐ.example", "shop.example"},
		"right to left":            {"مثال.example", "xn--mgbh0fb.example"},
		"www is a name of its own": {"www.shop.example", "www.shop.example"},
		"hyphens third and fourth": {"r3---sn.example", "r3---sn.example"},
		"label begins with digit":  {"3d.example", "3d.example"},
		"label of digits":          {"360.example", "360.example"},
		"63 octets":                {long63 + ".example", long63 + ".example"},
		"simulation":               {"site-1.test", "site-1.test"},
		"public suffix":            {"github.io", "github.io"},
		"local as a name":          {"local.example", "local.example"},
		"0x in front":              {"0x7f.example", "0x7f.example"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := sources.Normalise(test.in)
			if err != nil || got != test.want {
				t.Errorf("Normalise(%q) = %q, %v; want %q", test.in, got, err, test.want)
			}
		})
	}
}

func TestNormaliseRefusesWithAReason(t *testing.T) {
	label := strings.Repeat("a", 60)
	tests := map[string]struct{ in, want string }{
		"nothing":                {"", sources.ReasonEmpty},
		"blanks":                 {"  ", sources.ReasonEmpty},
		"dot":                    {".", sources.ReasonEmpty},
		"soft hyphen alone":      {"\u00ad", sources.ReasonEmpty},
		"two dots":               {"shop..example", sources.ReasonEmptyLabel},
		"two dots at the end":    {"shop.example..", sources.ReasonEmptyLabel},
		"dot in front":           {".example", sources.ReasonEmptyLabel},
		"wildcard entry":         {"_wildcard_.example", sources.ReasonUnderscore},
		"underscore with umlaut": {"bü_cher.example", sources.ReasonUnderscore},
		"label ends in hyphen":   {"shop-.example", sources.ReasonHyphen},
		"label begins in hyphen": {"-shop.example", sources.ReasonHyphen},
		"empty A-label":          {"xn--.example", sources.ReasonHyphen},
		"64 octets":              {strings.Repeat("a", 64) + ".example", sources.ReasonLabelTooLong},
		"umlauts past 63 octets": {strings.Repeat("ü", 63) + ".example", sources.ReasonLabelTooLong},
		"254 octets":             {strings.Repeat(label+".", 4) + "toolong.ex", sources.ReasonNameTooLong},
		"A-label of a control":   {"xn--a.example", sources.ReasonBadIDNA},
		"A-label of ASCII":       {"xn--shop-.example", sources.ReasonHyphen},
		"A-label past Unicode":   {"xn--zzzzzzzzzzzzzzz.example", sources.ReasonBadIDNA},
		"private use":            {"\ue000.example", sources.ReasonBadIDNA},
		"URL":                    {"https://shop.example/", sources.ReasonBadCharacter},
		"port":                   {"shop.example:443", sources.ReasonBadCharacter},
		"path":                   {"shop.example/a", sources.ReasonBadCharacter},
		"full-width slash":       {"shop.example／a", sources.ReasonBadCharacter},
		"mail address":           {"nobody@shop.example", sources.ReasonBadCharacter},
		"star":                   {"*.shop.example", sources.ReasonBadCharacter},
		"inner blank":            {"shop .example", sources.ReasonBadCharacter},
		"control":                {"sh\x01op.example", sources.ReasonBadCharacter},
		"not UTF-8":              {"sh\xffop.example", sources.ReasonBadCharacter},
		"IPv4":                   {"192.0.2.10", sources.ReasonIPLiteral},
		"short IPv4":             {"1.1", sources.ReasonIPLiteral},
		"hex IPv4":               {"0x7f.1", sources.ReasonIPLiteral},
		"hex at the end":         {"1.0x7F", sources.ReasonIPLiteral},
		"bare number":            {"3221225994", sources.ReasonIPLiteral},
		"number past IPv4":       {"256.256.256.256", sources.ReasonIPLiteral},
		"full-width IPv4":        {"１９２.0.2.10", sources.ReasonIPLiteral},
		"IPv6 in brackets":       {"[2001:db8::1]", sources.ReasonIPLiteral},
		"IPv6":                   {"2001:db8::1", sources.ReasonIPLiteral},
		"IPv4 with dot":          {"192.0.2.10.", sources.ReasonIPLiteral},
		"bare TLD":               {"com", sources.ReasonSingleLabel},
		"host name":              {"printer", sources.ReasonSingleLabel},
		"localhost":              {"localhost", sources.ReasonSpecialUse},
		"below localhost":        {"app.localhost", sources.ReasonSpecialUse},
		"mDNS":                   {"router.local", sources.ReasonSpecialUse},
		"private":                {"service.internal", sources.ReasonSpecialUse},
		"onion":                  {"site.onion", sources.ReasonSpecialUse},
		"invalid":                {"site.invalid", sources.ReasonSpecialUse},
		"alt":                    {"site.alt", sources.ReasonSpecialUse},
		"home network":           {"home.arpa", sources.ReasonSpecialUse},
		"in a home network":      {"nas.home.arpa", sources.ReasonSpecialUse},
		"not quite home.arpa":    {"athome.arpa", sources.ReasonNotWeb},
		"reverse zone":           {"113.0.203.in-addr.arpa", sources.ReasonNotWeb},
		"arpa":                   {"arpa", sources.ReasonNotWeb},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := sources.Normalise(test.in)
			var bad *sources.NameError
			if !errors.As(err, &bad) || bad.Reason != test.want || bad.Name != test.in || got != "" {
				t.Errorf("Normalise(%q) = %q, %v; want reason %s", test.in, got, err, test.want)
			}
		})
	}
}

// A name that comes out goes in unchanged, whatever it was made of.
func TestNormaliseIsStable(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "Z", "9", "-", ".", "xn--", "ü", "ß", "。", "٣", "א", "\u200d", "\u00ad", "é", "例", "😀", "kva", "_", " ", "\u0301",
	})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "") + rapid.SampledFrom([]string{"", ".example"}).Draw(t, "tld")
		checkNormalise(t, in)
	})
}

type failer interface {
	Fatalf(format string, args ...any)
}

// checkNormalise checks what holds of Normalise for any input.
func checkNormalise(t failer, in string) {
	out, err := sources.Normalise(in)
	var bad *sources.NameError
	if err != nil {
		if !errors.As(err, &bad) || bad.Reason == "" || out != "" {
			t.Fatalf("Normalise(%q) = %q, %v: no reason", in, out, err)
		}
		return
	}
	again, err := sources.Normalise(out)
	if err != nil || again != out {
		t.Fatalf("Normalise(%q) = %q, but that gives %q, %v", in, out, again, err)
	}
	if len(out) > 253 || !strings.Contains(out, ".") || strings.Trim(out, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		t.Fatalf("Normalise(%q) = %q: no host name", in, out)
	}
}

func FuzzNormalise(f *testing.F) {
	for _, seed := range []string{
		"shop.example", "BÜCHER.example.", "xn--bcher-kva.example", "xn--a.example", "0x7f.1", "[2001:db8::1]",
		"_wildcard_.example", "shop。example", "\xff.example", "a..b", "home.arpa", "\u200d.example", "xn--.xn--",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) { checkNormalise(t, in) })
}
