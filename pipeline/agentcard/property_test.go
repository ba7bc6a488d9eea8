package agentcard

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyValue draws a JSON value of a few levels.
func anyValue(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.Float64Range(-1e6, 1e6).AsAny(),
		rapid.String().AsAny(),
		rapid.SampledFrom([]string{"", "1.0", "url", "https://x.example", "true", "bearer"}).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	key := rapid.OneOf(rapid.StringN(0, 6, -1), rapid.SampledFrom([]string{
		"url", "name", "id", "type", "scheme", "schemes", "list", "flows", "$case", "value", "protected", "signature",
		"header", "extensions", "streaming", "uri", "tags", "organization", "transport", "httpAuthSecurityScheme"}))
	return rapid.OneOf(append(leaves,
		rapid.SliceOfN(anyValue(depth-1), 0, 4).AsAny(),
		rapid.MapOfN(key, anyValue(depth-1), 0, 4).AsAny())...)
}

// TestOneOddFieldNeverLosesTheCard: in a 1.0 card any member but the two that
// decide may be anything, and the facts of the others stay.
func TestOneOddFieldNeverLosesTheCard(t *testing.T) {
	body := testCard(t, "v10_every_scheme_form.json")
	_, want := Read(body)
	fields := []string{"description", "version", "capabilities", "securitySchemes", "securityRequirements", "security",
		"defaultInputModes", "defaultOutputModes", "skills", "signatures", "provider", "authentication", "protocolVersion",
		"protocolVersions", "additionalInterfaces", "preferredTransport", "iconUrl", "documentationUrl", "error", "tools", "openapi"}
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.SampledFrom(fields).Draw(t, "field")
		odd := anyValue(3).Draw(t, "value")
		var members map[string]any
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatal(err)
		}
		members[field] = odd
		changed, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		v, got := Read(changed)
		if v != (Verdict{Kind: Is, Reason: "R1"}) {
			t.Fatalf("%s: %+v", changed, v)
		}
		got.Relate("toll.example")
		if got.Name != want.Name || got.A2AVersion != want.A2AVersion || got.Interfaces[0].URL != want.Interfaces[0].URL {
			t.Fatalf("%s: %+v", changed, got)
		}
		if field != "skills" && cmp.Diff(want.Skills, got.Skills) != "" {
			t.Fatalf("%s changes skills", field)
		}
		if field != "securitySchemes" && cmp.Diff(want.SecuritySchemes, got.SecuritySchemes) != "" {
			t.Fatalf("%s changes schemes", field)
		}
		if field != "securityRequirements" && cmp.Diff(want.Requirements, got.Requirements) != "" {
			t.Fatalf("%s changes requirements", field)
		}
	})
}

// TestSnakeCaseReadsAlike: any card of the test data with some of its keys in
// snake_case has the same facts.
func TestSnakeCaseReadsAlike(t *testing.T) {
	files := testFiles(t, "cards")
	var names []string
	for name := range files {
		names = append(names, name)
	}
	// Keys whose members are named by the author, or that have nothing to do with A2A.
	chosen := map[string]bool{"securitySchemes": true, "security": true, "schemes": true, "params": true, "scopes": true, "header": true}
	var snake func(t *rapid.T, v any, named bool) any
	snake = func(t *rapid.T, v any, named bool) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = snake(t, v[i], named)
			}
		case map[string]any:
			out := make(map[string]any)
			for key, item := range v {
				item = snake(t, item, chosen[key])
				if !named && !strings.HasPrefix(key, "$") && rapid.Bool().Draw(t, key) {
					key = toSnake(key)
				}
				out[key] = item
			}
			return out
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "file")
		var card any
		if err := json.Unmarshal(files[name], &card); err != nil {
			t.Fatal(err)
		}
		changed, err := json.Marshal(snake(t, card, false))
		if err != nil {
			t.Fatal(err)
		}
		wantVerdict, want := Read(files[name])
		verdict, got := Read(changed)
		if verdict != wantVerdict {
			t.Fatalf("%s: %+v, want %+v", changed, verdict, wantVerdict)
		}
		for _, c := range []*Card{&want, &got} { // these follow the text
			c.CanonicalSHA256, c.BodyUTF8 = "", ""
			for i := range c.SecuritySchemes {
				c.SecuritySchemes[i].TypeRaw = strings.ReplaceAll(c.SecuritySchemes[i].TypeRaw, "_", "")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: -want +got\n%s", changed, diff)
		}
	})
}

func toSnake(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
