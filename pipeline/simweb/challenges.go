package simweb

// challenges are imitations, made for this package, of the pages that bot
// defences serve. Their vendor is known by a header or by markers in HTML.
func challenges() []*behaviour {
	page := func(head, body string) string {
		return "<!DOCTYPE html>\n<html><head>" + head + "</head><body>" + body + "</body></html>\n"
	}
	return []*behaviour{
		challengeBy("cloudflare", 403, "cf-mitigated: challenge\r\n",
			page("<title>Just a moment...</title>", "<script>window._cf_chl_opt={sim:1};</script>")),
		challengeBy("vercel", 429, "x-vercel-mitigated: challenge\r\n",
			page("<title>Vercel Security Checkpoint</title>", "<p>We are looking at your browser.</p>")),
		challengeBy("aws_waf", 202, "x-amzn-waf-action: challenge\r\n",
			page("<title></title>", "<script>window.gokuProps={sim:1};</script>")),
		challengeBy("datadome", 403, "x-dd-b: 1\r\n",
			page("<title>lamps.example</title>", `<script src="https://ct.captcha-delivery.com/sim.js"></script>`)),
		challengeBy("siteground", 202, "sg-captcha: challenge\r\n",
			page(`<meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=sim">`, "")),
		challengeBy("imperva", 200, "",
			page(`<meta name="robots" content="noindex">`, `<iframe src="/_Incapsula_Resource?SIM=1">Incapsula incident ID: 1-2</iframe>`)),
		challengeBy("anubis", 200, "",
			page("<title>Making sure you are not a bot</title>", `<script id="anubis_challenge" type="application/json">{}</script><img src="/.within.website/x/cmd/anubis/sim.webp">`)),
	}
}

func challengeBy(vendor string, status int, header, page string) *behaviour {
	return &behaviour{
		name: "challenge_" + vendor, status: status, header: header + htmlType, body: text(page),
		robots: effect{"robots_unreadable", "challenge_" + vendor, status},
		card:   effect{"challenged", vendor, status},
	}
}
