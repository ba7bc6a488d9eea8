package bench

import (
	"math/rand/v2"
	"strconv"
)

// cardSeed makes the cards of all runs the same.
const cardSeed = 8

// sampleCard is the card of site number n, of at least size bytes. No two are
// alike: names and texts are drawn for each, from so many words that zstd
// makes a card of 20 KB less than a third as long, as it does with the
// published ones of that length that it was tried on.
func sampleCard(n, size int) []byte {
	c := cardWriter{b: make([]byte, 0, size+1024), random: rand.New(rand.NewPCG(cardSeed, uint64(n)))}
	host := siteName(n)
	c.raw(`{"protocolVersion":"0.3.0","name":"`)
	c.words(2)
	c.raw(` of `, host, `","description":"`)
	c.sentence(12)
	c.raw(` `)
	c.sentence(20)
	c.raw(`","url":"https://`, host, `/a2a","preferredTransport":"JSONRPC","version":"1.4.`, c.number(40), `","provider":{"organization":"`)
	c.words(2)
	c.raw(`","url":"https://`, host, `"},"capabilities":{"streaming":true,"pushNotifications":false},`+
		`"defaultInputModes":["text/plain"],"defaultOutputModes":["application/json"],"skills":[`)
	for i := 0; len(c.b) < size; i++ {
		if i > 0 {
			c.raw(`,`)
		}
		c.raw(`{"id":"`, strconv.Itoa(i), `-`)
		c.words(1)
		c.raw(`","name":"`)
		c.words(3)
		c.raw(`","description":"`)
		c.sentence(10)
		c.raw(` `)
		c.sentence(14)
		c.raw(`","tags":["`)
		c.words(1)
		c.raw(`","`)
		c.words(1)
		c.raw(`"],"examples":["Which \"`)
		c.words(1)
		c.raw(`\" of row `, c.number(1000), ` `)
		c.words(6)
		c.raw(`?"]}`)
	}
	c.raw(`]}`)
	return c.b
}

// cardWriter writes a card with what is drawn for it.
type cardWriter struct {
	b      []byte
	random *rand.Rand
}

func (c *cardWriter) raw(parts ...string) {
	for _, p := range parts {
		c.b = append(c.b, p...)
	}
}

// words writes n words with spaces between. It draws eight at once: the run in
// memory pays for its cards.
func (c *cardWriter) words(n int) {
	b, bits := c.b, uint64(0)
	for i := range n {
		if i%8 == 0 {
			bits = c.random.Uint64()
		}
		b = append(b, cardWords[bits>>(i%8*8)%uint64(len(cardWords))]...)
		b = append(b, ' ')
	}
	c.b = b[:len(b)-1]
}

// sentence writes n words, the first in upper case.
func (c *cardWriter) sentence(n int) {
	first := len(c.b)
	c.words(n)
	c.b[first] -= 'a' - 'A'
	c.b = append(c.b, '.')
}

// number is one from 0 to under n.
func (c *cardWriter) number(n int) string { return strconv.Itoa(c.random.IntN(n)) }

// cardWords are all in lower case and ASCII.
var cardWords = [128]string{
	"about", "acre", "after", "agent", "almond", "answer", "apple", "apricot", "april", "barrel", "before",
	"berry", "between", "blossom", "bucket", "calendar", "carry", "cellar", "cider", "clean", "collect",
	"compare", "compost", "crate", "crop", "customer", "damson", "date", "deliver", "depth", "drain", "early",
	"east", "fence", "fertile", "field", "file", "flower", "forecast", "frost", "give", "graft", "ground",
	"grow", "guide", "harvest", "height", "hill", "hire", "honey", "irrigate", "juice", "ladder", "leaf",
	"letter", "light", "load", "machine", "market", "measure", "medlar", "moist", "month", "mulch", "neighbour",
	"north", "nursery", "nut", "offer", "orchard", "order", "plan", "plant", "plum", "pollen", "pond",
	"produce", "quality", "quantity", "rake", "record", "region", "remind", "repair", "report", "request",
	"ripe", "sample", "sapling", "schedule", "seed", "sell", "send", "share", "shed", "ship", "soil", "sort",
	"south", "split", "spray", "stem", "storm", "sugar", "summer", "supply", "table", "tenant", "the",
	"tractor", "trim", "trunk", "twig", "under", "valley", "variety", "water", "weather", "week", "weigh",
	"when", "wild", "wind", "winter", "with", "work", "yard", "yield",
}
