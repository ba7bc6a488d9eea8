package agentcard

// Kind is the class of a body.
type Kind string

// The classes of a body.
const (
	Is   Kind = "card"
	Near Kind = "near" // meant as a card, of no use to a client
	Not  Kind = "not"
)

// Verdict says what a body is.
type Verdict struct {
	Kind Kind
	// Reason is the rule that made it a card ("R1" to "R6"), "partial" for a near
	// card, and for anything else the mark that gave it away.
	Reason string
	// Detail says why an "invalid_json" body is none; "" otherwise.
	Detail string
	// Offset is the byte of the UTF-8 text at which Detail was noticed.
	Offset int
}

// Read decides what body is and, for a card or near card, reads its facts.
func Read(body []byte) (Verdict, Card) { return Verdict{Kind: Not, Reason: ReasonEmpty}, Card{} }

// Reasons of bodies that are not JSON.
const ReasonEmpty = "empty"
