package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"agentcensus/pipeline/agentcard"
	"agentcensus/pipeline/challenge"
	"agentcensus/pipeline/fetch"
)

// versionNotSupported is the JSON-RPC code with which A2A servers refuse the
// A2A-Version a request names (A2A specification, section 3.6.2).
const versionNotSupported = float64(-32009)

// judged is what an answer to a card path means.
type judged struct {
	outcome Outcome
	reason  string
	card    *agentcard.Card // set when outcome is OutcomeCard, by the rule in reason
}

// judge reads an answer to a card path. A card counts whatever stands in
// front of the site; of everything else a bot challenge is recognised first,
// for a challenge is not "no card".
func judge(a fetch.Answer) judged {
	if a.Err != nil {
		return judged{outcome: Outcome(a.Err.Kind), reason: a.Err.Reason}
	}
	full := a.Status == http.StatusOK || a.Status == http.StatusNonAuthoritativeInfo
	var verdict agentcard.Verdict
	if full && !a.Cut {
		var card agentcard.Card
		if verdict, card = agentcard.Read(a.Body); verdict.Kind == agentcard.Is {
			return judged{outcome: OutcomeCard, reason: verdict.Reason, card: &card}
		}
	}
	if vendor, ok := challenge.Recognise(a.Status, a.Header, a.Body); ok {
		return judged{outcome: OutcomeChallenged, reason: vendor}
	}
	switch {
	case full && a.Cut:
		return judged{outcome: OutcomeTooLarge}
	case full:
		return judgeBody(verdict)
	case a.Status/100 == 2:
		// A card is the body of a 200 or 203; any other success holds none.
		return judged{outcome: OutcomeSoft404, reason: statusReason(a.Status)}
	}
	return judgeStatus(a)
}

// judgeBody gives the outcome of a complete body that is no card.
func judgeBody(v agentcard.Verdict) judged {
	switch {
	case v.Kind == agentcard.Near:
		return judged{outcome: OutcomeNearCard, reason: v.Reason}
	case v.Reason == agentcard.ReasonEmpty || v.Reason == agentcard.ReasonHTML || v.Reason == agentcard.ReasonNotJSON:
		return judged{outcome: OutcomeSoft404, reason: v.Reason}
	case v.Reason == agentcard.ReasonInvalidJSON:
		return judged{outcome: OutcomeInvalidJSON, reason: v.Detail}
	}
	return judged{outcome: OutcomeNotACard, reason: v.Reason}
}

// judgeStatus gives the outcome of an answer whose status alone decides.
func judgeStatus(a fetch.Answer) judged {
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return judged{outcome: OutcomeAuthRequired}
	case http.StatusPaymentRequired:
		return judged{outcome: OutcomePaymentRequired}
	case http.StatusTooManyRequests:
		return judged{outcome: OutcomeRateLimited}
	case http.StatusNotFound, http.StatusGone:
		return judged{outcome: OutcomeNotFound}
	}
	switch {
	case a.Status == http.StatusBadRequest && refusesVersion(a.Body):
		return judged{outcome: OutcomeVersionRejected}
	case a.Status >= 500:
		return judged{outcome: OutcomeServerError}
	case a.Status >= 400:
		return judged{outcome: OutcomeClientError}
	}
	// 300, 304 and the like: a redirect that names no target to follow.
	return judged{outcome: OutcomeRedirectRefused, reason: statusReason(a.Status)}
}

// refusesVersion reads the error object of a 400, at the top level or in a
// JSON-RPC envelope.
func refusesVersion(body []byte) bool {
	var e map[string]any
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&e); err != nil {
		return false
	}
	inner, _ := e["error"].(map[string]any) // a text in some servers' errors
	return e["code"] == versionNotSupported || inner["code"] == versionNotSupported
}

func statusReason(status int) string { return fmt.Sprintf("status_%d", status) }
