package signing

import (
	"fmt"
	"slices"
	"time"
)

// KeySet is the bot's keys: the one that signs, those announced before their
// use, and those not yet expired. The zero KeySet is empty and signs nothing.
type KeySet struct {
	keys []Key
}

// NewKeySet returns the set of keys, in that order. It refuses with a [KeyError]
// an empty set, a key twice, an expiry not after its not-before, a key without
// its private half, and the published test key.
func NewKeySet(keys ...Key) (KeySet, error) {
	if len(keys) == 0 {
		return KeySet{}, &KeyError{Fault: FaultNone, What: "none is configured: make one with keys new"}
	}
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		switch {
		case k.private == nil:
			return KeySet{}, &KeyError{Fault: FaultNoPrivate, What: "a key without its private half cannot sign"}
		case k.ID == testKeyID:
			return KeySet{}, testKeyError()
		case seen[k.ID]:
			return KeySet{}, &KeyError{Fault: FaultDuplicate, What: k.ID + " is listed twice: list it once"}
		case !k.NotBefore.IsZero() && !k.Expires.IsZero() && !k.NotBefore.Before(k.Expires):
			return KeySet{}, &KeyError{Fault: FaultWindow, What: fmt.Sprintf(
				"%s expires at %s and begins at %s: set not_before before expires", k.ID, stamp(k.Expires), stamp(k.NotBefore))}
		}
		seen[k.ID] = true
	}
	return KeySet{keys: slices.Clone(keys)}, nil
}

// Keys returns the keys in their order.
func (s KeySet) Keys() []Key { return slices.Clone(s.keys) }

// Current returns the key that signs at now: of the valid ones the one with the
// latest NotBefore, of equal ones the last listed. When none is valid the
// [KeyError] says whether they have expired or not begun.
func (s KeySet) Current(now time.Time) (Key, error) {
	i, err := s.current(now)
	if err != nil {
		return Key{}, err
	}
	return s.keys[i], nil
}

func (s KeySet) current(now time.Time) (int, error) {
	best := -1
	for i := range s.keys {
		k := &s.keys[i]
		if !k.Begun(now) || k.Expired(now) {
			continue
		}
		if best < 0 || !k.NotBefore.Before(s.keys[best].NotBefore) {
			best = i
		}
	}
	if best < 0 {
		return 0, s.noneValid(now)
	}
	return best, nil
}

// noneValid explains why Current has no key.
func (s KeySet) noneValid(now time.Time) *KeyError {
	if len(s.keys) == 0 {
		return &KeyError{Fault: FaultNone, What: "none is configured: make one with keys new"}
	}
	var next, last *Key // the first to begin, the last to expire
	for i := range s.keys {
		k := &s.keys[i]
		if !k.Begun(now) && (next == nil || k.NotBefore.Before(next.NotBefore)) {
			next = k
		}
		if k.Expired(now) && (last == nil || last.Expires.Before(k.Expires)) {
			last = k
		}
	}
	if next != nil {
		return &KeyError{Fault: FaultNotBegun, What: fmt.Sprintf(
			"no key is valid yet, the first (%s) begins at %s: wait, or set its not_before earlier", next.ID, stamp(next.NotBefore))}
	}
	return &KeyError{Fault: FaultExpired, What: fmt.Sprintf(
		"every key has expired, the last (%s) at %s: add a new key and publish it, or set a later expires", last.ID, stamp(last.Expires))}
}

// Listed returns the keys a directory shows at now: all that have not expired,
// those that have not begun included (draft 5.5.2: announce before use).
func (s KeySet) Listed(now time.Time) []Key {
	listed := make([]Key, 0, len(s.keys))
	for _, k := range s.keys {
		if !k.Expired(now) {
			listed = append(listed, k)
		}
	}
	return listed
}

// Public returns the public halves, for a [Verifier].
func (s KeySet) Public() []PublicKey {
	public := make([]PublicKey, len(s.keys))
	for i, k := range s.keys {
		public[i] = k.PublicKey
	}
	return public
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
