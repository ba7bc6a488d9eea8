package pipeline_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// peerFaults are faults that other crawlers and HTTP clients paid for, by the
// issue that tells of them, and the tests that show that this crawler has not
// got them: package directory and name, or scenario file and site.
var peerFaults = []struct {
	issue, fault string
	tests        []string
}{
	{"golang/go#69205", "idle HTTP/2 connections are never closed",
		[]string{"pipeline/fetch TestRequestCarriesOnlyTheseFields", "pipeline TestScenarios"}}, // http/1.1 alone, and no goroutine is left
	{"golang/go#56385", "a hostile peer blocks a shared connection pool", []string{"pipeline/fetch TestConnectionsNotFitForReuse"}},
	{"golang/go#23559", "a write that blocks ignores the deadline", []string{"pipeline/fetch TestABlockedWriteEndsInTime"}},
	{"golang/go#12852", "the time limit does not cover the body", []string{"pipeline/fetch TestAllPhasesShareOneTime", "hostile.yaml slow-body.example", "hostile.yaml slow-chunks.example"}},
	{"golang/go#77370", "closing reads the rest of a body", []string{"pipeline/fetch TestBombsCostNoMemory", "sites.yaml big-body.example"}},
	{"golang/go#48438", "a GET is sent again on a dropped connection", []string{"pipeline/fetch TestDyingKeepAlive", "hostile.yaml close-before.example"}},
	{"golang/go#4800", "header fields are copied to a redirect's target", []string{"pipeline/fetch TestRequestCarriesOnlyTheseFields", "pipeline TestPromisesHoldOnAnyWeb"}},
	{"golang/go#22233", "the Host field of the first request stays on redirects", []string{"pipeline/simweb TestCheckFindsPlantedViolations", "pipeline TestCrawlTellsTheTruth"}},
	{"golang/go#18588", "no file descriptors is taken for no such host", []string{"pipeline/fetch TestLookupErrors", "pipeline/fetch TestDialErrors", "pipeline TestLocalFaultStops"}},
	{"golang/go#23866", "a socket for every DNS query", []string{"pipeline/resolve TestSocketsAreUsedAgainAndRotated", "pipeline/resolve TestLookupsInFlightAreBounded"}},
	{"golang/go#21597", "dials go on after their request", []string{"pipeline/fetch TestALateConnectionIsClosed", "pipeline/fetch TestEveryPhaseEndsInTime"}},
	{"projectdiscovery/httpx#134", "stuck at the end of the list", []string{"pipeline TestEveryEntryHasOneResult", "pipeline TestStopDrains"}},
	{"projectdiscovery/httpx#2032", "hours before the first request of a big list", []string{"pipeline TestTheFirstRequestDoesNotWaitForTheListsEnd"}},
	{"projectdiscovery/httpx#1983", "out of memory on big lists", []string{"pipeline TestACrawlStaysSmall"}},
	{"projectdiscovery/httpx#2345", "resuming counts what was sent, not what was done", []string{"pipeline TestPromisesHoldOnAnyWeb", "sink TestResume"}},
	{"projectdiscovery/httpx#1841", "progress that ends at 50 % or 800 %", []string{"cmd/agentcensus TestStatusOfARunningAndAKilledCrawl"}},
	{"projectdiscovery/httpx#696", "the old host's server name after a redirect", []string{"pipeline/simweb TestCheckFindsPlantedViolations", "pipeline TestPromisesHoldOnAnyWeb"}},
	{"zmap/zgrab2#163", "endless data that is no HTTP; a stuck handshake", []string{"hostile.yaml noise.example", "hostile.yaml tls-stall.example", "hostile.yaml tls-drip.example"}},
	{"zmap/zgrab2#221", "look-ups for redirects that are not followed", []string{"pipeline/fetch TestPermitIsAskedBeforeEveryRequest", "pipeline/resolve TestLookupsInFlightAreBounded"}},
	{"zmap/zgrab2#560", "responses lost where redirects are followed", []string{"pipeline/fetch TestRedirectIsFollowedInsideTheSite", "pipeline/fetch TestRefusedRedirectKeepsItsAnswer"}},
	{"zmap/zgrab#187", "idle connections are never let go", []string{"pipeline/fetch TestOneConnectionCarriesAllRequests", "pipeline TestCrawlTellsTheTruth"}},
	{"gocolly/colly#923", "bombs under a limit of compressed bytes", []string{"pipeline/fetch TestBombsCostNoMemory", "hostile.yaml gzip-bomb-twice.example", "hostile.yaml zstd-bomb.example"}},
	{"gocolly/colly#648", "a goroutine a URL", []string{"pipeline TestACrawlStaysSmall"}},
	{"gocolly/colly#43", "what was visited is kept for ever", []string{"pipeline TestACrawlStaysSmall"}},
	{"gocolly/colly#405", "a redirect's target is asked twice", []string{"sites.yaml same-target.example", "pipeline/fetch TestKnownAnswersAreUsedAgain", "hostile.yaml redirect-self.example"}},
	{"vmfunc/sif#333", "a redirect reaches the metadata service", []string{"hostile.yaml redirect-ip.example", "pipeline/fetch TestGuardAtTheSocket", "hostile.yaml dns-metadata.example"}},
	{"apache/stormcrawler#2077", "a robots.txt that leads off the site allows everything", []string{"hostile.yaml rules-redirect-off-site.example"}},
	{"temoto/robotstxt#6", "groups merged or ended wrongly", []string{"pipeline/robots TestGroups", "pipeline/robots FuzzMatch"}},
	{"internetarchive/Zeno#495", "does not stop when it is done", []string{"pipeline TestStopDrains", "pipeline TestSinkFailureEnds"}},
	{"curl/curl#429", "work for each site grows with the list", []string{"pipeline TestTheWorkForASiteDoesNotGrowWithTheList"}},
	{"apache/arrow#42729", "no readable table after a crash", []string{"sink TestNothingIsPublishedWhen", "sink TestManyBigCardsFitInLittleMemory", "pipeline TestPromisesHoldOnAnyWeb"}},
	{"prometheus/blackbox_exporter#896", "facts of the wrong hop", []string{"pipeline/fetch TestTimesInAnAnswer", "sites.yaml legacy-is-card.example"}},
}

// Every test that is said to cover a fault is there.
func TestPeerFaultsAreCovered(t *testing.T) {
	there := map[string]bool{}
	function, site := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`), regexp.MustCompile(`(?m)^  - name: (\S+)$`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		test, scenario := strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, ".yaml")
		if err != nil || d.IsDir() || !test && !scenario {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		if test {
			for _, m := range function.FindAllSubmatch(text, -1) {
				there[dir+" "+string(m[1])] = true
			}
			return nil
		}
		for _, m := range site.FindAllSubmatch(text, -1) {
			there[filepath.Base(path)+" "+string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range peerFaults {
		for _, name := range f.tests {
			if !there[name] {
				t.Errorf("%s (%s): there is no %s", f.issue, f.fault, name)
			}
		}
	}
}
