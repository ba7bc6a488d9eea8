package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"agentcensus/pipeline"
)

// sourceCards is the list source of a weekly crawl: the cards of a monthly one.
const sourceCards = "cards"

// reasonRemoved is why an entry of an unfinished weekly crawl is not asked: its
// site was forgotten on request.
const reasonRemoved = "removed"

// publisher is a site at which a monthly crawl found a card.
type publisher struct {
	rank int64  // in the monthly crawl's list
	site string // "" when it was removed from the list on request
}

func (p publisher) removed() bool { return p.site == "" }

// publishers are a list in the order of ranks. The entry numbered n, from 1, is
// the one at n-1.
type publishers []publisher

// publishersOf reads the publishers that a crawl found.
func publishersOf(out string, c *pastCrawl) (publishers, error) {
	list := publishers{}
	for card, err := range cardsOf(out, c) {
		if err != nil {
			return nil, fmt.Errorf("read the publishers: %w", err)
		}
		list = append(list, publisher{card.Rank, card.Site})
	}
	return list, nil
}

func (ps publishers) without(covered func(site string) bool) publishers {
	kept := publishers{}
	for _, p := range ps {
		if !covered(p.site) {
			kept = append(kept, p)
		}
	}
	return kept
}

// among returns those of the sites at which c found a card too.
func (ps publishers) among(out string, c *pastCrawl) (map[string]bool, error) {
	listed := make(map[string]bool, len(ps))
	for _, p := range ps {
		listed[p.site] = true
	}
	found := make(map[string]bool)
	for card, err := range cardsOf(out, c) {
		if err != nil {
			return nil, fmt.Errorf("read the publishers: %w", err)
		}
		if listed[card.Site] {
			found[card.Site] = true
		}
	}
	return found, nil
}

// sites yields the list to the pipeline, by the entries' numbers.
func (ps publishers) sites(yield func(pipeline.Site, error) bool) {
	for i, p := range ps {
		s := pipeline.Site{Rank: int64(i + 1), Domain: p.site}
		if p.removed() {
			s.Invalid = reasonRemoved
		}
		if !yield(s, nil) {
			return
		}
	}
}

func (ps publishers) rankOf(entry int64) int64 { return ps[entry-1].rank }

func (ps publishers) anyRemoved() bool {
	for _, p := range ps {
		if p.removed() {
			return true
		}
	}
	return false
}

// text is the list as lines of rank,site.
func (ps publishers) text() []byte {
	var b bytes.Buffer
	for _, p := range ps {
		fmt.Fprintf(&b, "%d,%s\n", p.rank, p.site)
	}
	return b.Bytes()
}

func (ps publishers) sha256() string {
	sum := sha256.Sum256(ps.text())
	return hex.EncodeToString(sum[:])
}

// writePublishers keeps the list of an unfinished crawl: it is to go on with
// the same, whatever becomes of the tables meanwhile.
func writePublishers(path string, ps publishers) error {
	if err := replaceFile(path, ps.text()); err != nil {
		return fmt.Errorf("keep the list of publishers: %w", err)
	}
	return nil
}

// readPublishers reads what writePublishers wrote; nil when there is nothing.
func readPublishers(path string) (_ publishers, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return parsePublishers(f)
}

func parsePublishers(r io.Reader) (publishers, error) {
	list, lines := publishers{}, bufio.NewScanner(r)
	for lines.Scan() {
		rank, site, ok := strings.Cut(lines.Text(), ",")
		n, err := strconv.ParseInt(rank, 10, 64)
		if err != nil || !ok || n < 1 || len(list) > 0 && n <= list[len(list)-1].rank {
			return nil, fmt.Errorf("line %d is not rank,site with a rank above the one before", len(list)+1)
		}
		list = append(list, publisher{n, site})
	}
	return list, lines.Err()
}

// forgetPublishers takes the covered sites out of the list that an unfinished
// weekly crawl keeps, and says how many. Their entries stay, without a name, so
// that the others keep their numbers.
func forgetPublishers(path string, covers func(site string) bool) (int, error) {
	list, err := readPublishers(path)
	if err != nil {
		return 0, fmt.Errorf("take the site out of the list of the unfinished weekly crawl: %w", err)
	}
	n := 0
	for i, p := range list {
		if !p.removed() && covers(p.site) {
			list[i].site = ""
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	return n, writePublishers(path, list)
}
