package simweb

import (
	"strconv"
	"strings"
)

// redirects are answers with a Location, by what a careful client makes of it.
func redirects() []*behaviour {
	return []*behaviour{
		refusedRedirect("redirect_off_site", "https://elsewhere.example/agent.json", "off_site"),
		refusedRedirect("redirect_subdomain", "https://cdn.HOST/agent.json", "off_site"),
		refusedRedirect("redirect_http", "http://HOST/agent.json", "not_https"),
		refusedRedirect("redirect_ftp", "ftp://HOST/agent.json", "not_https"),
		refusedRedirect("redirect_port", "https://HOST:8443/agent.json", "port"),
		refusedRedirect("redirect_user_info", "https://user:secret@HOST/agent.json", "user_info"),
		refusedRedirect("redirect_ip", "https://169.254.169.254/latest/meta-data", "off_site"),
		refusedRedirect("redirect_ipv6", "https://[::1]/agent.json", "off_site"),
		refusedRedirect("redirect_idn", "https://l\u00e4mpchen.example/agent.json", "off_site"),
		refusedRedirect("redirect_bad", "https://HOST:port/%zz", "bad_location"),
		refusedRedirect("redirect_long", "/"+strings.Repeat("a", 8192), "location_too_long"),
		refusedRedirect("redirect_empty", "", "no_location"),
		{
			name: "redirect_missing", status: 302,
			robots: effect{"robots_unreadable", "no_location", 302},
			card:   effect{"redirect_refused", "no_location", 302},
		},
		refusedRedirect("redirect_self", "SELF", "loop"),
		hopping("redirect_loop", hopTwo, "loop", func(x *exchange) string {
			if x.query != "" {
				return x.path
			}
			return x.path + "?again"
		}),
		// A maze that never ends: every URL of the site redirects to a new one.
		hopping("redirect_maze", hopMaze, "too_many", func(x *exchange) string {
			n, err := strconv.Atoi(x.query)
			if err != nil {
				n = 0
			}
			return x.path + "?" + strconv.Itoa(n+1)
		}),
		homeward("redirect_home", "/"),
		homeward("redirect_home_absolute", "https://HOST/"),
		homeward("redirect_home_upper", "HTTPS://UPPERHOST/"),
		homeward("redirect_home_port", "https://HOST:443/"),
		homeward("redirect_home_dots", "/a/../b/./../"),
		homeward("redirect_home_fragment", "/#start"),
		homeward("redirect_home_relative", "../"),
		homeward("redirect_home_schemeless", "//HOST/"),
	}
}

// locate fills the host and the path asked into a Location.
func (x *exchange) locate(location string) string {
	location = strings.ReplaceAll(location, "UPPERHOST", strings.ToUpper(x.host))
	location = strings.ReplaceAll(location, "HOST", x.host)
	return strings.ReplaceAll(location, "SELF", x.target)
}

func (x *exchange) redirect(location string) bool {
	x.location = x.locate(location)
	return x.reply(302, "Location: "+x.location+"\r\n", nil)
}

func refusedRedirect(name, location, reason string) *behaviour {
	return &behaviour{
		name: name, play: func(x *exchange) bool { return x.redirect(location) },
		robots: effect{"robots_unreadable", reason, 302},
		card:   effect{"redirect_refused", reason, 302},
	}
}

func hopping(name string, h hops, reason string, next func(*exchange) string) *behaviour {
	return &behaviour{
		name: name, hops: h, play: func(x *exchange) bool { return x.redirect(next(x)) },
		robots: effect{"robots_unreadable", reason, 302},
		card:   effect{"redirect_refused", reason, 302},
	}
}

// homeward redirects to the home page, which is HTML. The second path that does
// so needs no request for it.
func homeward(name, location string) *behaviour {
	return &behaviour{
		name: name, hops: hopHome, play: func(x *exchange) bool { return x.redirect(location) },
		robots: effect{"no_rules", "html", 200},
		card:   effect{"soft_404", "html", 200},
	}
}
