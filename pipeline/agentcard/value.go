package agentcard

import (
	"slices"
	"strings"
)

// missing stands for a member that is not there; nobody writes to a value once
// it is parsed.
var missing = &value{}

// get is the member of an object by its camelCase name, or by the snake_case
// spelling of that name, which is legal ProtoJSON input (A2A 1.0 section 5.5
// asks for camelCase). When both are there the camelCase one counts. Names that
// an author chose, such as those of security schemes, are looked up by [value.exact].
func (v *value) get(name string) *value {
	if v.kind != object {
		return missing
	}
	var snake *value
	for i := range v.members {
		m := &v.members[i]
		if m.key == name {
			return &m.value
		}
		if v.snake && isSnakeOf(name, m.key) {
			snake = &m.value
		}
	}
	if snake != nil {
		return snake
	}
	return missing
}

// exact is the member of an object by its key as written.
func (v *value) exact(key string) *value {
	if v.kind == object {
		for i := range v.members {
			if v.members[i].key == key {
				return &v.members[i].value
			}
		}
	}
	return missing
}

// isSnakeOf says whether key is the snake_case spelling of the camelCase name.
func isSnakeOf(name, key string) bool {
	j := 0
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			if j >= len(key) || key[j] != '_' {
				return false
			}
			j++
			c += 'a' - 'A'
		}
		if j >= len(key) || key[j] != c {
			return false
		}
		j++
	}
	return j == len(key)
}

// has says that the value is there and not null.
func (v *value) has() bool { return v.kind > null }

// str is the content of a string, "" for anything else.
func (v *value) str() string {
	if v.kind == text {
		return v.text
	}
	return ""
}

// label is the content of a string or a number as written: versions and
// identifiers are now and then written without quotes.
func (v *value) label() string {
	if v.kind == text || v.kind == number {
		return v.text
	}
	return ""
}

// items are the values of a list.
func (v *value) items() []member {
	if v.kind == list {
		return v.members
	}
	return nil
}

// entries are the members of an object in order of their keys.
func (v *value) entries() []member {
	if v.kind != object {
		return nil
	}
	sorted := slices.Clone(v.members)
	slices.SortFunc(sorted, byKey)
	return sorted
}

func byKey(a, b member) int { return strings.Compare(a.key, b.key) }

// strs are the non-empty strings of a list.
func (v *value) strs() []string {
	var out []string
	for i := range v.items() {
		if s := v.members[i].str(); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// truth reads a boolean, also one written as text: Google's first samples have
// "streaming": "True". Anything else is nil and not false.
func (v *value) truth() *bool {
	if v.kind != boolean && v.kind != text {
		return nil
	}
	var b bool
	switch strings.ToLower(strings.TrimSpace(v.text)) {
	case "true":
		b = true
	case "false":
	default:
		return nil
	}
	return &b
}

// ordered gathers distinct non-empty strings in order of first appearance.
type ordered struct {
	seen map[string]struct{}
	list []string
}

func (o *ordered) add(s string) {
	if s == "" {
		return
	}
	if _, ok := o.seen[s]; ok {
		return
	}
	if o.seen == nil {
		o.seen = make(map[string]struct{})
	}
	o.seen[s] = struct{}{}
	o.list = append(o.list, s)
}

func (o *ordered) sorted() []string {
	slices.Sort(o.list)
	return o.list
}
