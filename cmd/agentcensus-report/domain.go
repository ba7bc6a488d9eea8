package main

import (
	"database/sql/driver"
	"net/netip"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
	"golang.org/x/net/publicsuffix"
)

// registrableDomain returns the name that somebody registered behind a
// host[:port]: for a tenant of a platform the platform's name (run.app), since
// the question is who hosts. An address, and a name of one label, is itself.
func registrableDomain(host string) string {
	host = strings.ToLower(host)
	if name, ok := strings.CutPrefix(host, "["); ok { // [IPv6]:port
		address, _, _ := strings.Cut(name, "]")
		return address
	}
	if name, _, ok := strings.Cut(host, ":"); ok && strings.Count(host, ":") == 1 {
		host = name
	}
	host = strings.TrimSuffix(host, ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	// Walk up to the first parent that is a suffix of the ICANN section of the
	// Public Suffix List, or a top-level name that the list does not know.
	for name := host; ; {
		_, parent, ok := strings.Cut(name, ".")
		if !ok {
			return name
		}
		suffix, icann := publicsuffix.PublicSuffix(parent)
		if suffix == parent && (icann || !strings.Contains(parent, ".")) {
			return name
		}
		name = parent
	}
}

// registrableDomainFunc is registrable_domain(host) in SQL.
type registrableDomainFunc struct{}

func (registrableDomainFunc) Config() duckdb.ScalarFuncConfig {
	text, err := duckdb.NewTypeInfo(duckdb.TYPE_VARCHAR)
	if err != nil {
		return duckdb.ScalarFuncConfig{} // the registration refuses it
	}
	return duckdb.ScalarFuncConfig{InputTypeInfos: []duckdb.TypeInfo{text}, ResultTypeInfo: text}
}

func (registrableDomainFunc) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowExecutor: func(values []driver.Value) (any, error) {
		host, ok := values[0].(string)
		if !ok {
			return nil, nil
		}
		return registrableDomain(host), nil
	}}
}
