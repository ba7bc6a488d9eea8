package sink

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answers are worked out by hand from the census of census_test.go. Columns are
// those of the question's query.
var answers = map[string][]string{
	"What share of the top 1,000, 10,000, 100,000 and 1,000,000 publishes a card?": {
		"1000 | 3 | 167 | 150 | 0.017964071856287425 | 0.02",
		"10000 | 4 | 329 | 160 | 0.0121580547112462 | 0.025",
		"100000 | 4 | 329 | 160 | 0.0121580547112462 | 0.025",
		"1000000 | 5 | 980 | 300 | 0.00510204081632653 | 0.016666666666666666",
	},
	"What did each of the well-known paths answer?": {
		"/.well-known/agent-card.json | not_found | 11 | 0.6875",
		"/.well-known/agent-card.json | card | 4 | 0.25",
		"/.well-known/agent-card.json | robots_disallowed | 1 | 0.0625",
		"/.well-known/agent.json | not_found | 9 | 0.9",
		"/.well-known/agent.json | card | 1 | 0.1",
		"/robots.txt | rules | 10 | 0.625",
		"/robots.txt | no_rules | 6 | 0.375",
	},
	"What became of the sites: card, near card, other JSON, HTML, 404, blocked, no answer?": {
		"no answer | dns_not_found | 511 | 0.511",
		"answered | not_a_card | 135 | 0.135",
		"kept out | robots_disallowed | 120 | 0.12",
		"answered | soft_404 | 107 | 0.107",
		"answered | not_found | 40 | 0.04",
		"kept out | robots_unreadable | 32 | 0.032",
		"ours | duplicate | 15 | 0.015",
		"answered | client_error | 9 | 0.009",
		"answered | challenged | 8 | 0.008",
		"no answer | timeout | 6 | 0.006",
		"published | card | 5 | 0.005",
		"ours | invalid_name | 5 | 0.005",
		"answered | near_card | 4 | 0.004",
		"kept out | opted_out | 3 | 0.003",
	},
	"Which A2A versions do cards speak, and how is that known?": {
		"1.0 | interface | 2",
		"0.3 | card | 1",
		"unknown | none | 1",
	},
	"How far has 1.0 come: its share, union cards, and declarations that contradict the shape?": {
		"2026-11-01 | 1 | 1 | 0 | 0 | 3 | 0.3333333333333333",
		"2026-12-01 | 2 | 2 | 1 | 1 | 4 | 0.5",
	},
	"Who provides the agents?": {
		"(not stated) | 2",
		"Aster Works | 2",
	},
	"Do agents answer at the site itself or elsewhere?": {
		"other_site | 2 | 3",
		"loopback | 1 | 1",
		"same_host | 1 | 1",
	},
	"Which platforms host the endpoints?": {
		"(own or other) | 2 | 2",
		"run.app | 1 | 2",
		"vercel.app | 1 | 1",
	},
	"How many skills does a card have?": {
		"0 | 1.0 | 2 | 1 | 4",
	},
	"Which skill IDs are the most common?": {
		"echo | 2",
		"find | 1",
		"plan | 1",
	},
	"Which skill tags are the most common?": {
		"text | 3 | 3",
		"search | 1 | 2",
	},
	"Which input and output modes: text, JSON, images?": {
		"input | text/plain | 3",
		"output | text/plain | 3",
		"output | application/json | 1",
	},
	"Which bindings do cards offer?": {
		"JSONRPC | true | 3 | 0.75",
		"GRPC | true | 1 | 0.25",
		"MCP | false | 1 | 0.25",
	},
	"Which bindings come together?": {
		"[JSONRPC] | 2",
		"[GRPC, JSONRPC] | 1",
		"[MCP] | 1",
	},
	"What can agents do: streaming, push notifications, extended card?": {
		"extended_card | 2 | 0 | 2",
		"push_notifications | 0 | 1 | 3",
		"state_transition_history | 0 | 0 | 4",
		"streaming | 1 | 2 | 1",
	},
	"Which protocol extensions are declared, and which are required?": {
		"https://ext.example/trace | 2 | 0",
		"https://ext.example/pay/v1 | 1 | 1",
	},
	"Which authentication do cards declare?": {
		"(none declared) | 2 | 0.5",
		"apiKey | 1 | 0.25",
		"http | 1 | 0.25",
		"oauth2 | 1 | 0.25",
	},
	"Is authentication required, optional, or not spoken of?": {
		"(not stated) | 2 | 0",
		"optional | 1 | 1",
		"required | 1 | 0",
	},
	"Which OAuth flows?": {
		"authorizationCode | 1",
		"clientCredentials | 1",
	},
	"Where do API keys go?": {
		"header | 1",
	},
	"By which URL scheme are endpoints reached?": {
		"https | 2 | 2",
		"(none) | 1 | 1",
		"http | 1 | 1",
		"wss | 1 | 1",
	},
	"How many cards are signed?": {
		"1 | 4 | 0.25",
	},
	"With which algorithms, and does the key set lie on the same site?": {
		"ES256 | same_host | 1 | 0",
		"HS256 | (no jku) | 1 | 1",
	},
	"How many cards name documentation and an icon?": {
		"1 | 1 | 4",
	},
	"Which conformance faults are common in each generation?": {
		"0.x | skill_missing_description | 2",
		"0.x | url_not_https | 1",
		"union | url_not_https | 1",
	},
	"Which cards are copies of one template?": {
		"canonical | 2 | [birch.example, cedar.example]",
		"skills | 2 | [birch.example, cedar.example]",
	},
	"Which sites publish a card that still points to localhost or a placeholder?": {
		"cedar.example | http://localhost:9000/ | loopback",
	},
	"Can a reader tell cheaply that a card has not changed, and how big are cards?": {
		"1 | 1 | 1 | 1500.0 | 2002 | 4",
	},
	"Whom do robots.txt and bot walls keep out?": {
		"robots.txt | robots_disallowed |  | 120",
		"robots.txt | robots_unreadable | challenge_wall | 30",
		"bot wall | challenged | wall | 8",
		"owner | opted_out |  | 3",
		"robots.txt | robots_unreadable | redirect | 2",
	},
	"How many publishers answer, week by week?": {
		"2026-12-08 | 4 | 2 | 1 | 1 | 0 | 0.6666666666666666",
	},
	"Who came and who went since the crawl before?": {
		"monthly | 2026-12-01 | 2026-11-01 | 2 | 1 | 2 | 1 | 1 | 1",
		"weekly | 2026-12-08 | 2026-12-01 | 0 | 1 | 2 | 1 | 0 | 0",
	},
	"How does the census develop from crawl to crawl?": {
		"monthly | 2026-11-01 | 102 | 3 | 0.029411764705882353 | 0.029411764705882353 | 1 | 1",
		"monthly | 2026-12-01 | 980 | 5 | 0.00510204081632653 | 0.016666666666666666 | 2 | 1",
	},
}

func TestQuestionsHaveTheirKnownAnswers(t *testing.T) {
	db := openDuck(t, writeCensus(t))
	asked := make(map[string]bool)
	for _, question := range Questions() {
		asked[question.Title] = true
		t.Run(question.Title, func(t *testing.T) {
			want, known := answers[question.Title]
			if !known {
				t.Fatal("no known answer")
			}
			if diff := cmp.Diff(want, answer(t, db, question.SQL)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for title := range answers {
		if !asked[title] {
			t.Errorf("nobody asks %q", title)
		}
	}
}

// An answer must be empty or say nothing, not fail, before there is any data.
func TestQuestionsAreValidWithoutData(t *testing.T) {
	db := openDuck(t, t.TempDir())
	for _, question := range Questions() {
		t.Run(question.Title, func(t *testing.T) { answer(t, db, question.SQL) })
	}
}
