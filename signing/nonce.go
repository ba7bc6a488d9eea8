package signing

import (
	"crypto/sha256"
	"sync"
	"time"
)

// NonceMemory remembers the nonces of verified signatures until they expire. It
// holds at most its capacity, about 100 bytes each; when full the oldest is
// forgotten, even when it has not expired. It is safe for concurrent use.
type NonceMemory struct {
	mu      sync.Mutex
	expires map[[sha256.Size]byte]int64 // seconds since 1970, by hash of key and nonce
	order   [][sha256.Size]byte         // a ring in order of arrival
	next    int                         // the place in order to write next
}

// NewNonceMemory returns an empty memory for capacity nonces, at least one.
func NewNonceMemory(capacity int) *NonceMemory {
	return &NonceMemory{
		expires: make(map[[sha256.Size]byte]int64),
		order:   make([][sha256.Size]byte, 0, max(capacity, 1)),
	}
}

// Add remembers a nonce and reports whether it is new: never seen with this key,
// forgotten, or expired when it came again.
func (n *NonceMemory) Add(keyID, nonce string, expires, now time.Time) bool {
	sum := sha256.Sum256([]byte(keyID + "\x00" + nonce))
	n.mu.Lock()
	defer n.mu.Unlock()
	if until, ok := n.expires[sum]; ok {
		if now.Unix() < until {
			return false
		}
		n.expires[sum] = expires.Unix() // it keeps its place in the ring
		return true
	}
	if len(n.order) < cap(n.order) {
		n.order = append(n.order, sum)
	} else {
		delete(n.expires, n.order[n.next])
		n.order[n.next] = sum
		n.next = (n.next + 1) % len(n.order)
	}
	n.expires[sum] = expires.Unix()
	return true
}
