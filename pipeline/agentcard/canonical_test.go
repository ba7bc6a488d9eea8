package agentcard

import (
	"strings"
	"testing"
)

func TestCanonicalHashIgnoresLayoutAndSignatures(t *testing.T) {
	hash := func(body string) string {
		t.Helper()
		v, c := Read([]byte(body))
		if v.Kind != Is {
			t.Fatalf("%q: %+v", body, v)
		}
		return c.CanonicalSHA256
	}
	const card = `{"name":"é","url":"u","skills":[{"id":"s","tags":["x","y"]}],"defaultInputModes":["t"],"n":1.0}`
	want := hash(card)
	for name, same := range map[string]string{
		"space":              strings.ReplaceAll(card, ",", " ,\n\t"),
		"order of keys":      `{"n":1.0,"defaultInputModes":["t"],"skills":[{"tags":["x","y"],"id":"s"}],"url":"u","name":"é"}`,
		"escapes":            strings.ReplaceAll(card, "é", `\u00e9`),
		"signatures":         strings.Replace(card, "{", `{"signatures":[{"protected":"x","signature":"y"}],`, 1),
		"byte order mark":    "\ufeff" + card,
		"an overruled value": strings.Replace(card, "{", `{"url":"v",`, 1),
	} {
		if got := hash(same); got != want {
			t.Errorf("%s changes the hash", name)
		}
	}
	for name, other := range map[string]string{
		"a text":                   strings.Replace(card, `"u"`, `"v"`, 1),
		"a number's digits":        strings.Replace(card, `1.0`, `1`, 1),
		"number and text":          strings.Replace(card, `1.0`, `"1.0"`, 1),
		"order of a list":          strings.Replace(card, `"x","y"`, `"y","x"`, 1),
		"a further member":         strings.Replace(card, "{", `{"x":null,`, 1),
		"signatures below the top": strings.Replace(card, `{"id"`, `{"signatures":[],"id"`, 1),
	} {
		if hash(other) == want {
			t.Errorf("%s does not change the hash", name)
		}
	}
}

func TestCanonicalForm(t *testing.T) {
	v, _, err := parseJSON(` { "b" : [ 1.50 , true , null , {} ] , "a" : "\u0000\u001f\b\f\n\r\t\"\\\/é<" , "" : false } `)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"":false,"a":"\u0000\u001f\b\f\n\r\t\"\\/é<","b":[1.50,true,null,{}]}`
	if got := string(appendCanonical(nil, &v)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
