package main

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentcensus/pipeline"
	"agentcensus/sink"
)

// site is a result of a.example with these fetches of the paths in their order.
func site(o pipeline.Outcome, fetches ...pipeline.FetchResult) pipeline.Result {
	return pipeline.Result{Site: pipeline.Site{Rank: 1, Domain: "a.example"}, Outcome: o, Fetches: fetches}
}

func fetched(path string, o pipeline.Outcome, reason string, status int) pipeline.FetchResult {
	return pipeline.FetchResult{Path: path, Outcome: o, Reason: reason, HTTPStatus: status, Answered: status != 0, Target: "https://a.example" + path}
}

func TestStatusOfAPublisher(t *testing.T) {
	const p0, p1, p2 = pipeline.RobotsPath, pipeline.CardPath, pipeline.LegacyCardPath
	open := fetched(p0, pipeline.OutcomeNoRules, "status_404", 404)
	one := func(o pipeline.Outcome, reason string, status int) pipeline.Result {
		return site(o, open, fetched(p1, o, reason, status))
	}
	two := func(o pipeline.Outcome, first, second pipeline.FetchResult) pipeline.Result {
		return site(o, open, first, second)
	}
	// want is status, code, the path that speaks, and the error.
	type want struct {
		status string
		code   int32
		path   string
		err    string
	}
	tests := map[string]struct {
		r    pipeline.Result
		want want
	}{
		"a card":                  {one(pipeline.OutcomeCard, "R1", 200), want{"up", 200, p1, ""}},
		"a card with 203":         {one(pipeline.OutcomeCard, "R1", 203), want{"up", 203, p1, ""}},
		"401":                     {one(pipeline.OutcomeAuthRequired, "", 401), want{"up", 401, p1, "auth_required"}},
		"402":                     {one(pipeline.OutcomePaymentRequired, "", 402), want{"up", 402, p1, "payment_required"}},
		"403":                     {one(pipeline.OutcomeAuthRequired, "", 403), want{"up", 403, p1, "auth_required"}},
		"200 without a card":      {one(pipeline.OutcomeSoft404, "html", 200), want{"up", 200, p1, "soft_404"}},
		"a challenge with 403":    {one(pipeline.OutcomeChallenged, "cloudflare", 403), want{"up", 403, p1, "challenged"}},
		"a challenge with 503":    {one(pipeline.OutcomeChallenged, "cloudflare", 503), want{"up", 503, p1, "challenged"}},
		"a challenge with 429":    {one(pipeline.OutcomeChallenged, "vercel", 429), want{"up", 429, p1, "challenged"}},
		"404":                     {one(pipeline.OutcomeNotFound, "", 404), want{"down", 404, p1, "not_found"}},
		"204":                     {one(pipeline.OutcomeSoft404, "status_204", 204), want{"down", 204, p1, "soft_404"}},
		"400":                     {one(pipeline.OutcomeVersionRejected, "", 400), want{"down", 400, p1, "version_rejected"}},
		"500":                     {one(pipeline.OutcomeServerError, "", 500), want{"down", 500, p1, "server_error"}},
		"429":                     {one(pipeline.OutcomeRateLimited, "", 429), want{"unknown", 429, p1, "rate_limited"}},
		"redirect off the site":   {one(pipeline.OutcomeRedirectRefused, "off_site", 302), want{"down", 302, p1, "redirect_refused"}},
		"redirect to a ruled-out": {one(pipeline.OutcomeRedirectRefused, "robots_disallowed", 301), want{"skipped", 301, p1, "redirect_refused"}},
		"refused":                 {one(pipeline.OutcomeConnectRefused, "refused", 0), want{"down", 0, p1, "connect_refused"}},
		"certificate":             {one(pipeline.OutcomeTLSCertificate, "expired", 0), want{"down", 0, p1, "tls_certificate"}},
		"handshake":               {one(pipeline.OutcomeTLSHandshake, "alert", 0), want{"unknown", 0, p1, "tls_handshake"}},
		"timeout":                 {one(pipeline.OutcomeTimeout, "headers", 0), want{"unknown", 0, p1, "timeout"}},
		"timeout within a body":   {one(pipeline.OutcomeTimeout, "body", 200), want{"unknown", 0, p1, "timeout"}},
		"lost":                    {one(pipeline.OutcomeConnectionLost, "reset", 0), want{"unknown", 0, p1, "connection_lost"}},
		"no HTTP":                 {one(pipeline.OutcomeProtocolError, "malformed", 0), want{"unknown", 0, p1, "protocol_error"}},
		"a private address":       {site(pipeline.OutcomePrivateAddress), want{"unknown", 0, "", "private_address"}},
		"no address":              {site(pipeline.OutcomeDNSNoAddress), want{"unknown", 0, "", "dns_no_address"}},
		"no name server":          {site(pipeline.OutcomeDNSError), want{"unknown", 0, "", "dns_error"}},
		"robots.txt refused": {site(pipeline.OutcomeConnectRefused, fetched(p0, pipeline.OutcomeConnectRefused, "refused", 0)),
			want{"down", 0, p0, "connect_refused"}},
		"robots.txt fails": {site(pipeline.OutcomeRobotsUnreachable, fetched(p0, pipeline.OutcomeRobotsUnreachable, "status_503", 503)),
			want{"skipped", 503, p0, "robots_unreachable"}},
		"robots.txt behind a wall": {site(pipeline.OutcomeRobotsUnreadable, fetched(p0, pipeline.OutcomeRobotsUnreadable, "challenge_cloudflare", 403)),
			want{"skipped", 403, p0, "robots_unreadable"}},
		"robots.txt rules out both": {site(pipeline.OutcomeRobotsDisallowed, fetched(p0, pipeline.OutcomeRules, "disallowed_by_star_group", 200),
			pipeline.FetchResult{Path: p1, Outcome: pipeline.OutcomeRobotsDisallowed}, pipeline.FetchResult{Path: p2, Outcome: pipeline.OutcomeRobotsDisallowed}),
			want{"skipped", 200, p0, "robots_disallowed"}},
		"the first of two that are up": {two(pipeline.OutcomeSoft404, fetched(p1, pipeline.OutcomeAuthRequired, "", 403), fetched(p2, pipeline.OutcomeSoft404, "html", 200)),
			want{"up", 403, p1, "auth_required"}},
		"the second alone is up": {two(pipeline.OutcomeCard, fetched(p1, pipeline.OutcomeNotFound, "", 404), fetched(p2, pipeline.OutcomeCard, "R1", 200)),
			want{"up", 200, p2, ""}},
		"neither is up": {two(pipeline.OutcomeServerError, fetched(p1, pipeline.OutcomeServerError, "", 500), fetched(p2, pipeline.OutcomeNotFound, "", 404)),
			want{"down", 404, p2, "not_found"}},
		"the last tells nothing": {two(pipeline.OutcomeNotFound, fetched(p1, pipeline.OutcomeNotFound, "", 404), fetched(p2, pipeline.OutcomeTimeout, "headers", 0)),
			want{"unknown", 0, p2, "timeout"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			row := new(checker).check(t.Context(), 7, test.r, nil)
			got := want{status: row.Status, err: text(row.Error)}
			if row.HTTPCode != nil {
				got.code = *row.HTTPCode
			}
			if row.Target != nil {
				got.path = (*row.Target)[len("https://a.example"):]
			}
			if got != test.want || row.Rank != 7 || row.Site != "a.example" {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
	t.Run("opted out has no row", func(t *testing.T) {
		if row := new(checker).check(t.Context(), 7, site(pipeline.OutcomeOptedOut), nil); row != nil {
			t.Errorf("got %+v", row)
		}
	})
}

// A name that does not exist is down only when two resolvers say so and none
// says otherwise.
func TestResolversMustAgree(t *testing.T) {
	tests := map[string]struct {
		agree, asked int
		err          error
		want, reason string
	}{
		"two agree":                   {2, 2, nil, "down", "resolvers_agree"},
		"three agree":                 {3, 3, nil, "down", "resolvers_agree"},
		"there is but one":            {1, 1, nil, "unknown", "not_confirmed"},
		"two disagree":                {1, 2, nil, "unknown", "resolvers_disagree"},
		"two agree, a third does not": {2, 3, nil, "unknown", "resolvers_disagree"},
		"it is there by now":          {0, 2, nil, "unknown", "resolvers_disagree"},
		"none can say":                {0, 0, errors.New("no resolver answers"), "unknown", "not_confirmed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var host string
			c := &checker{confirm: func(_ context.Context, h string) (int, int, error) {
				host = h
				return test.agree, test.asked, test.err
			}}
			row := c.check(t.Context(), 1, site(pipeline.OutcomeDNSNotFound), nil)
			if row.Status != test.want || host != "a.example" || !slices.Contains(row.Reasons, test.reason) {
				t.Errorf("%s of %s, want %s (%s): %+v", row.Status, host, test.want, test.reason, row)
			}
			moved := fetched(pipeline.CardPath, pipeline.OutcomeDNSNotFound, "not_found", 0)
			moved.Target = "https://www.a.example/.well-known/agent-card.json"
			row = c.check(t.Context(), 1, site(pipeline.OutcomeDNSNotFound, moved), nil)
			if row.Status != test.want || host != "www.a.example" {
				t.Errorf("%s of %s, want %s", row.Status, host, test.want)
			}
		})
	}
}

// What changed is stated only where answers decided: NULL says that nobody
// knows.
func TestChangesAreStatedOnlyWhereAnAnswerDecided(t *testing.T) {
	before := &facts{bodySHA256: "aa", canonSHA256: "aa", a2aVersion: "0.3", skills: []string{"old"}}
	now := &sink.Card{BodySHA256: "bb", CanonSHA256: "bb", A2AVersion: "1.0", Skills: []sink.Skill{{ID: new("new")}}}
	past := &pastCrawl{File: sink.File{Kind: "weekly", Crawl: "2026-11-24"}}
	asked := func(outcomes ...pipeline.Outcome) pipeline.Result {
		r := site(outcomes[0], fetched(pipeline.RobotsPath, pipeline.OutcomeNoRules, "empty", 200))
		for i, o := range outcomes {
			r.Fetches = append(r.Fetches, fetched([]string{pipeline.CardPath, pipeline.LegacyCardPath}[i], o, "", 0))
		}
		return r
	}
	gone, appeared, neither := []*bool{new(false), new(true)}, []*bool{new(true), new(false)}, []*bool{new(false), new(false)}
	tests := map[string]struct {
		before *facts
		r      pipeline.Result
		card   *sink.Card
		want   []*bool // appeared, gone; nil: not stated
	}{
		"card and card":             {before, asked(pipeline.OutcomeCard), now, neither},
		"card and 404":              {before, asked(pipeline.OutcomeNotFound, pipeline.OutcomeNotFound), nil, gone},
		"card and a web page":       {before, asked(pipeline.OutcomeSoft404, pipeline.OutcomeNotFound), nil, gone},
		"none and card":             {nil, asked(pipeline.OutcomeCard), now, appeared},
		"none and none":             {nil, asked(pipeline.OutcomeNotFound, pipeline.OutcomeNotFound), nil, neither},
		"card and a server's fault": {before, asked(pipeline.OutcomeServerError, pipeline.OutcomeServerError), nil, nil},
		"card and one fault":        {before, asked(pipeline.OutcomeServerError, pipeline.OutcomeNotFound), nil, nil},
		"card and 403":              {before, asked(pipeline.OutcomeAuthRequired, pipeline.OutcomeAuthRequired), nil, nil},
		"card and a bot wall":       {before, asked(pipeline.OutcomeChallenged, pipeline.OutcomeChallenged), nil, nil},
		"card and 429":              {before, asked(pipeline.OutcomeRateLimited), nil, nil},
		"card and no answer":        {before, asked(pipeline.OutcomeTimeout), nil, nil},
		"card and one no answer":    {before, asked(pipeline.OutcomeNotFound, pipeline.OutcomeTimeout), nil, nil},
		"card and robots.txt":       {before, site(pipeline.OutcomeRobotsUnreachable, fetched(pipeline.RobotsPath, pipeline.OutcomeRobotsUnreachable, "status_500", 500)), nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &checker{before: history{"a.example": {past, test.before}}}
			row := c.check(t.Context(), 1, test.r, test.card)
			var got []*bool
			if row.CardGone != nil {
				got = []*bool{row.CardAppeared, row.CardGone}
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("appeared, gone (-want +got):\n%s", diff)
			}
			if stated := row.PreviousKind != nil; stated != (test.want != nil) {
				t.Errorf("the crawl compared with is named: %t", stated)
			}
			if test.before != nil && test.card != nil {
				if !*row.BodyChanged || !*row.A2AVersionChanged || !cmp.Equal(row.SkillsAdded, []string{"new"}) || !cmp.Equal(row.SkillsRemoved, []string{"old"}) {
					t.Errorf("%+v", row)
				}
			}
		})
	}
	t.Run("never seen before", func(t *testing.T) {
		row := new(checker).check(t.Context(), 1, asked(pipeline.OutcomeCard), now)
		if row.CardAppeared != nil || row.PreviousKind != nil {
			t.Errorf("%+v", row)
		}
	})
}
