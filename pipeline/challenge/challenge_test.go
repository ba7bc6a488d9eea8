package challenge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agentcensus/pipeline/challenge"
)

// page is an HTML page with a title and a body.
func page(title, body string) string {
	return fmt.Sprintf("<!DOCTYPE html>\n<html><head><title>%s</title></head><body>%s</body></html>", title, body)
}

// long makes a page too long for a challenge that is nothing but its script.
func long(body string) string {
	return page("Shop", strings.Repeat("<p>All our goods</p>\n", 400)+body)
}

func TestRecognise(t *testing.T) {
	tests := []struct {
		name   string
		vendor string // "" for no challenge
		status int
		header string // "Name: value"
		body   string
	}{
		{"header with any status", "cloudflare", 403, "Cf-Mitigated: challenge", ""},
		{"header without HTML", "cloudflare", 200, "Cf-Mitigated: challenge", `{"name":"card"}`},
		{"header in another case", "cloudflare", 503, "cf-mitigated: Challenge", ""},
		{"header with another value", "", 200, "Cf-Mitigated: no", ""},
		{"Cloudflare's options", "cloudflare", 403, "", page("Wait", "<script>window._cf_chl_opt={}</script>")},
		{"Cloudflare's script", "cloudflare", 403, "", page("Wait", `<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1">`)},
		{"Cloudflare's script on good pages", "", 200, "", page("Shop", `<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js">`)},
		{"Cloudflare's title", "cloudflare", 200, "", page("Just a moment...", "")},
		{"Cloudflare's block", "cloudflare", 403, "", page("Attention Required! | Cloudflare", "")},
		{"Cloudflare's refusal", "cloudflare", 403, "", page("Error", `<div id="cf-error-details">`)},
		{"Cloudflare says that the origin is down", "", 522, "", page("site.example | 522", `<div id="cf-error-details">`)},
		{"Cloudflare's server and ray", "", 200, "Cf-Ray: 0123456789abcdef-AMS", page("Shop", "")},
		{"Turnstile in a form", "", 200, "", page("Contact", `<div class="cf-turnstile">`)},
		{"Vercel, challenge", "vercel", 429, "X-Vercel-Mitigated: challenge", ""},
		{"Vercel, deny", "vercel", 403, "X-Vercel-Mitigated: deny", ""},
		{"Vercel's title", "vercel", 429, "", page("Vercel Security Checkpoint", "")},
		{"AWS WAF, challenge", "aws_waf", 202, "X-Amzn-Waf-Action: challenge", ""},
		{"AWS WAF, captcha", "aws_waf", 405, "X-Amzn-Waf-Action: captcha", ""},
		{"AWS WAF's page", "aws_waf", 202, "", page("", "<script>window.gokuProps={}</script>")},
		{"AWS WAF's script on good pages", "", 200, "", page("Shop", `<script src="https://x.edge.sdk.awswaf.com/x/challenge.js">`)},
		{"CloudFront's block", "cloudfront", 403, "", page("ERROR", "<h2>The request could not be satisfied.</h2>")},
		{"CloudFront says that the origin is down", "", 502, "", page("ERROR", "<h2>The request could not be satisfied.</h2>")},
		{"a bucket's 403 behind CloudFront", "", 403, "X-Cache: Error from cloudfront", "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>"},
		{"DataDome, blocked", "datadome", 403, "X-Dd-B: 1", ""},
		{"DataDome, not protected", "datadome", 403, "X-Datadome: blocked", ""},
		{"DataDome, protected", "", 200, "X-Datadome: protected", page("Shop", "")},
		{"DataDome, number", "datadome", 403, "X-Datadome-Cid: abc", ""},
		{"DataDome's page", "datadome", 200, "", page("site.example", `<script src="https://ct.captcha-delivery.com/c.js">`)},
		{"DataDome's cookie", "", 200, "Set-Cookie: datadome=abc", page("Shop", "")},
		{"PerimeterX's header", "perimeterx", 403, "X-Px-Authorization: 3", ""},
		{"PerimeterX's page", "perimeterx", 403, "", page("x", `<div id="px-captcha"></div><script>window._pxAppId='PX'</script>`)},
		{"PerimeterX's script", "perimeterx", 403, "", page("x", `<script>window._pxAppId='PX';s='/px/captcha/captcha.js'</script>`)},
		{"PerimeterX's title", "perimeterx", 403, "", page("Robot or human?", `<script>window._pxAppId='PX'</script>`)},
		{"PerimeterX's tag on good pages", "", 200, "", page("Shop", `<script>window._pxAppId='PX'</script>`)},
		{"PerimeterX's why", "perimeterx", 403, "", page("x", `<a href="https://site.example/whywasiblocked">`)},
		{"Imperva's script alone", "imperva", 200, "", `<html><head><META NAME="robots"><script src="/_Incapsula_Resource?x=1"></script><body></body></html>`},
		{"Imperva's script on good pages", "", 200, "", long(`<script src="/_Incapsula_Resource?x=1"></script>`)},
		{"Imperva's block", "imperva", 403, "", long("Request unsuccessful. Incapsula incident ID: 1-2")},
		{"Imperva's path in a robots.txt", "", 200, "", "User-agent: *\nDisallow: /_Incapsula_Resource?\n"},
		{"Akamai's denial", "akamai", 403, "", "<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>Reference&#32;&#35;18&#46;x</BODY></HTML>"},
		{"Akamai's denial, by its address", "akamai", 403, "", page("Access Denied", "https://errors.edgesuite.net/18.x")},
		{"Akamai's waiting room", "akamai", 428, "", page("x", `<div id="sec-if-cpt-container">`)},
		{"Akamai's error", "akamai", 403, "Akamai-Cache-Status: Error from child", ""},
		{"Akamai's error of a missing file", "", 404, "Akamai-Cache-Status: Error from child", ""},
		{"another's denial", "", 403, "", page("Access Denied", "")},
		{"Kasada's header", "kasada", 429, "X-Kpsdk-Ct: abc", ""},
		{"Kasada's other header", "kasada", 429, "X-Kasada-Whatever: abc", ""},
		{"Kasada's page", "kasada", 429, "", "<html><script>window.KPSDK={}</script></html>"},
		{"Kasada's tag on good pages", "", 200, "", long("<script>window.KPSDK={}</script>")},
		{"Sucuri's block", "sucuri", 403, "X-Sucuri-Block: geo", ""},
		{"Sucuri's number", "", 200, "X-Sucuri-Id: 1", page("Shop", "")},
		{"Sucuri's page", "sucuri", 403, "", page("Sucuri WebSite Firewall - Access Denied", "")},
		{"SiteGround's header", "siteground", 202, "Sg-Captcha: challenge", ""},
		{"SiteGround's refresh", "siteground", 202, "", `<html><head><meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F"></head></html>`},
		{"SiteGround's title", "siteground", 202, "", page("Robot Challenge Screen", "/.well-known/captcha/")},
		{"DDoS-Guard's title", "ddos_guard", 403, "", page("DDoS-Guard", "")},
		{"DDoS-Guard's script", "ddos_guard", 403, "", page("x", `<script src="https://check.ddos-guard.net/check.js">`)},
		{"Anubis's files", "anubis", 200, "", page("Wait", `<img src="/.within.website/x/cmd/anubis/static/img/x.webp">`)},
		{"Anubis's script", "anubis", 200, "", page("Wait", `<script id="anubis_challenge" type="application/json">`)},
		{"Radware", "radware", 200, "", page("x", `<a href="https://validate.perfdrive.com/x">`)},
		{"F5", "f5", 200, "", "<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with your administrator.</body></html>"},
		{"Imunify360", "imunify360", 415, "", page("One moment", "Access denied by Imunify360 bot-protection")},
		{"StackPath", "stackpath", 403, "", page("StackPath", "You performed an action that triggered the service and blocked your request")},
		{"Hostinger", "hostinger", 200, "", page("x", `<script src="/hcdn-cgi/jschallenge">`)},
		{"Aliyun", "aliyun", 200, "", "<html><script>var arg1='x';document.cookie='acw_sc__v2='+x</script></html>"},
		{"Fullstory", "fullstory", 200, "", page("Client Challenge", "")},
		{"Reblaze", "reblaze", 200, "", "<html><script>document.cookie='rbzid='+x</script></html>"},
		{"Wordfence", "wordfence", 503, "", page("x", "Your access to this site has been limited by the site owner. Generated by Wordfence")},
		{"CHEQ", "cheq", 403, "", page("Access Denied", "<script>CheqSdk.init()</script>")},
		{"hCaptcha", "hcaptcha", 200, "", page("Verify you are human", `<div class="h-captcha">`)},
		{"hCaptcha in a form of the site", "", 200, "", page("Contact", `<div class="h-captcha">`)},
		{"reCAPTCHA", "recaptcha", 200, "", page("site.example", `<form id="captcha-form"><div class="g-recaptcha">`)},
		{"Arkose", "arkose", 403, "", page("Verify you are human", `<script src="https://client-api.arkoselabs.com/x">`)},
		{"Tencent", "tencent", 403, "", page("Verify you are human", "<script>new TencentCaptcha()</script>")},
		{"a mark beyond what is searched", "", 200, "", page("Shop", strings.Repeat(" ", 64<<10)+"captcha-delivery.com")},
		{"a title that never ends", "", 200, "", "<html><title"},
		{"nothing", "", 200, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			if name, value, found := strings.Cut(tt.header, ": "); found {
				h.Set(name, value)
			}
			vendor, ok := challenge.Recognise(tt.status, h, []byte(tt.body))
			if vendor != tt.vendor || ok != (tt.vendor != "") {
				t.Errorf("got %q, %v, want %q", vendor, ok, tt.vendor)
			}
		})
	}
}

func TestIsHTML(t *testing.T) {
	const html, plain = "text/html; charset=utf-8", "text/plain"
	tests := []struct {
		name, kind, body string
		want             bool
	}{
		{"doctype", plain, "<!doctype HTML><p>x", true},
		{"element after blanks and a mark", plain, "\uFEFF\r\n\t <HTML lang=en>", true},
		{"only an element's name", plain, "<html", true},
		{"comments first", plain, "<!-- a --> <!-- b --><script>", true},
		{"XML declaration first", plain, "<?xml version=\"1.0\"?>\n<html>", true},
		{"other XML", plain, "<?xml version=\"1.0\"?>\n<Error>", false},
		{"comment without an end", plain, "<!-- <html>", false},
		{"longer name", plain, "<header>", false},
		{"other element, not declared", plain, "<h1>Not found</h1>", false},
		{"other element, declared", html, "<h1>Not found</h1>", true},
		{"rules declared as HTML", html, "# <b>\nUser-Agent : *\nDisallow: /", false},
		{"rules declared as HTML, CR only", html, "# <b>\rUser-agent: *\rDisallow: /", false},
		{"words declared as HTML", html, "not found", false},
		{"JSON declared as HTML", html, ` {"description": "<b>agent</b>"}`, false},
		{"list declared as HTML", html, `["<b>"]`, false},
		{"nothing declared as HTML", html, "", false},
		{"rules", plain, "User-agent: *\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := challenge.IsHTML(http.Header{"Content-Type": {tt.kind}}, []byte(tt.body)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// FuzzChallenge: nothing breaks it, a vendor comes with ok, and only HTML is judged by its body.
func FuzzChallenge(f *testing.F) {
	f.Add(403, "Cf-Mitigated", "challenge", []byte("<html><title>Just a moment...</title>"))
	f.Add(200, "Content-Type", "text/html", []byte("<!-- --><?xml ?><title"))
	f.Add(200, "X-Kasada", "", []byte("<title x>"))
	f.Add(429, "X-Datadome", "protected", []byte("\xEF\xBB\xBF<"))
	f.Fuzz(func(t *testing.T, status int, name, value string, body []byte) {
		h := http.Header{name: {value}}
		vendor, ok := challenge.Recognise(status, h, body)
		if ok != (vendor != "") {
			t.Errorf("%q, %v", vendor, ok)
		}
		_, byHeader := challenge.Recognise(status, h, nil)
		if ok && !byHeader && !challenge.IsHTML(h, body) {
			t.Errorf("%s by the body of what is no HTML", vendor)
		}
	})
}
