package pipeline

// Outcome is what a site, or one of its fetches, came to: a word of the
// census's vocabulary, as it stands in the tables.
type Outcome string

// The outcomes of a site, by group, highest first.
const (
	OutcomeCard Outcome = "card"

	OutcomeNearCard        Outcome = "near_card"
	OutcomeNotACard        Outcome = "not_a_card"
	OutcomeInvalidJSON     Outcome = "invalid_json"
	OutcomeTooLarge        Outcome = "too_large"
	OutcomeSoft404         Outcome = "soft_404"
	OutcomeAuthRequired    Outcome = "auth_required"
	OutcomePaymentRequired Outcome = "payment_required"
	OutcomeVersionRejected Outcome = "version_rejected"
	OutcomeChallenged      Outcome = "challenged"
	OutcomeRateLimited     Outcome = "rate_limited"
	OutcomeServerError     Outcome = "server_error"
	OutcomeClientError     Outcome = "client_error"
	OutcomeRedirectRefused Outcome = "redirect_refused"
	OutcomeNotFound        Outcome = "not_found"

	OutcomeRobotsDisallowed  Outcome = "robots_disallowed"
	OutcomeRobotsUnreachable Outcome = "robots_unreachable"
	OutcomeRobotsUnreadable  Outcome = "robots_unreadable"
	OutcomeOptedOut          Outcome = "opted_out"

	OutcomeDNSNotFound    Outcome = "dns_not_found"
	OutcomeDNSNoAddress   Outcome = "dns_no_address"
	OutcomeDNSError       Outcome = "dns_error"
	OutcomePrivateAddress Outcome = "private_address"
	OutcomeConnectRefused Outcome = "connect_refused"
	OutcomeTimeout        Outcome = "timeout"
	OutcomeConnectionLost Outcome = "connection_lost"
	OutcomeTLSCertificate Outcome = "tls_certificate"
	OutcomeTLSHandshake   Outcome = "tls_handshake"
	OutcomeProtocolError  Outcome = "protocol_error"

	OutcomeInvalidName Outcome = "invalid_name"
	OutcomeDuplicate   Outcome = "duplicate"
	OutcomeInterrupted Outcome = "interrupted"
)

// The outcomes of a robots.txt fetch that leaves the site open.
const (
	OutcomeRules   Outcome = "rules"
	OutcomeNoRules Outcome = "no_rules"
)

// Outcomes lists the outcomes of a site from the highest to the lowest: where
// a site's fetches disagree, the one that stands first speaks for the site.
var Outcomes = []Outcome{
	OutcomeCard,
	OutcomeNearCard, OutcomeNotACard, OutcomeInvalidJSON, OutcomeTooLarge, OutcomeSoft404,
	OutcomeAuthRequired, OutcomePaymentRequired, OutcomeVersionRejected, OutcomeChallenged,
	OutcomeRateLimited, OutcomeServerError, OutcomeClientError, OutcomeRedirectRefused, OutcomeNotFound,
	OutcomeRobotsDisallowed, OutcomeRobotsUnreachable, OutcomeRobotsUnreadable, OutcomeOptedOut,
	OutcomeDNSNotFound, OutcomeDNSNoAddress, OutcomeDNSError, OutcomePrivateAddress, OutcomeConnectRefused,
	OutcomeTimeout, OutcomeConnectionLost, OutcomeTLSCertificate, OutcomeTLSHandshake, OutcomeProtocolError,
	OutcomeInvalidName, OutcomeDuplicate, OutcomeInterrupted,
}

// outranks says whether a stands before b in Outcomes.
func outranks(a, b Outcome) bool {
	for _, o := range Outcomes {
		switch o {
		case b:
			return false
		case a:
			return true
		}
	}
	return false
}

// NoAnswer says whether o means that the site never answered by HTTP: the
// outcomes that may be the crawler's own outage instead.
func (o Outcome) NoAnswer() bool {
	switch o {
	case OutcomeDNSNotFound, OutcomeDNSNoAddress, OutcomeDNSError, OutcomePrivateAddress,
		OutcomeConnectRefused, OutcomeTimeout, OutcomeConnectionLost,
		OutcomeTLSCertificate, OutcomeTLSHandshake, OutcomeProtocolError:
		return true
	}
	return false
}

// Ours says whether o was decided without asking the site anything.
func (o Outcome) Ours() bool {
	switch o {
	case OutcomeInvalidName, OutcomeDuplicate, OutcomeInterrupted, OutcomeOptedOut:
		return true
	}
	return false
}
