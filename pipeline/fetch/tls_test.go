package fetch_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"agentcensus/pipeline/fetch"
)

func TestCertificates(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		config       func(t *testing.T, w *world) tls.Certificate
	}{
		{"expired", "expired", func(t *testing.T, w *world) tls.Certificate {
			return w.ca.leaf(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, "site.test")
		}},
		{"not yet valid", "not_yet_valid", func(t *testing.T, w *world) tls.Certificate {
			return w.ca.leaf(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, "site.test")
		}},
		{"wrong name", "wrong_name", func(t *testing.T, w *world) tls.Certificate { return w.ca.leaf(t, nil, "hoster.test") }},
		{"only www", "wrong_name", func(t *testing.T, w *world) tls.Certificate { return w.ca.leaf(t, nil, "www.site.test") }},
		{"unknown authority", "unknown_authority", func(t *testing.T, _ *world) tls.Certificate {
			return newAuthority(t).leaf(t, nil, "site.test")
		}},
		{"self-signed", "self_signed", func(t *testing.T, _ *world) tls.Certificate {
			k := newKey(t)
			tpl := template("self", "site.test")
			return tls.Certificate{Certificate: [][]byte{sign(t, tpl, tpl, &k.PublicKey, k)}, PrivateKey: k}
		}},
		{"for clients only", "other", func(t *testing.T, w *world) tls.Certificate {
			return w.ca.leaf(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, "site.test")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, patient, nil)
			s := w.serveTLS(&tls.Config{Certificates: []tls.Certificate{c.config(t, w)}}, pages(map[string]string{"/": ok("x")}), "site.test")
			a := get(t, w.visit(), "site.test/")
			wantError(t, a, fetch.TLSCertificate, c.reason)
			if _, requests := s.log(); len(requests) != 0 || a.Requests != 0 {
				t.Errorf("requests %v, %d counted", requests, a.Requests)
			}
		})
	}
}

func TestHandshakes(t *testing.T) {
	rsaCert := func(t *testing.T, w *world) tls.Certificate {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.CreateCertificate(rand.Reader, template("rsa", "site.test"), w.ca.cert, &k.PublicKey, w.ca.key)
		if err != nil {
			t.Fatal(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: k}
	}
	for _, c := range []struct {
		name, reason string
		change       func(t *testing.T, w *world, c *tls.Config)
	}{
		{"TLS 1.0 only", "version", func(_ *testing.T, _ *world, c *tls.Config) {
			c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
		}},
		{"RSA key exchange only", "cipher", func(t *testing.T, w *world, c *tls.Config) {
			c.MaxVersion = tls.VersionTLS12
			c.CipherSuites = []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}
			c.Certificates = []tls.Certificate{rsaCert(t, w)}
		}},
		{"no certificate for the name", "alert", func(_ *testing.T, _ *world, c *tls.Config) { c.Certificates = nil }},
		{"client certificate, TLS 1.2", "cipher" /* handshake_failure says no more */, func(_ *testing.T, _ *world, c *tls.Config) {
			c.MaxVersion, c.ClientAuth = tls.VersionTLS12, tls.RequireAnyClientCert
		}},
		{"client certificate, TLS 1.3", "alert", func(_ *testing.T, _ *world, c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }},
		{"no ALPN in common", "alert", func(_ *testing.T, _ *world, c *tls.Config) { c.NextProtos = []string{"other"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, patient, nil)
			conf := &tls.Config{Certificates: []tls.Certificate{w.ca.leaf(t, nil, "site.test")}}
			c.change(t, w, conf)
			w.serveTLS(conf, pages(map[string]string{"/": ok("x")}), "site.test")
			a := get(t, w.visit(), "site.test/")
			wantError(t, a, fetch.TLSHandshake, c.reason)
		})
	}
	for _, c := range []struct {
		name, reason string
		handle       func(c *net.TCPConn)
	}{
		{"closed at once", "eof", func(*net.TCPConn) {}},
		{"reset", "eof", func(c *net.TCPConn) {
			// After the hello: before it the connect itself may fail.
			var hello [1]byte
			if _, err := c.Read(hello[:]); err == nil {
				(&peer{raw: c}).reset()
			}
		}},
		{"closed in the hello", "eof", func(c *net.TCPConn) { answerHello(c, []byte{22, 3, 3, 0, 99, 2}) }},
		{"plain HTTP", "other", func(c *net.TCPConn) { answerHello(c, []byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }},
		{"fatal alert", "alert", func(c *net.TCPConn) { answerHello(c, []byte{21, 3, 3, 0, 2, 2, 112}) }},
		{"handshake failure", "cipher", func(c *net.TCPConn) { answerHello(c, []byte{21, 3, 3, 0, 2, 2, 40}) }},
		{"hello of TLS 1.0", "version", func(c *net.TCPConn) {
			hello := append([]byte{22, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1}, make([]byte, 32)...)
			answerHello(c, append(hello, 0, 0, 47, 0))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, patient, nil)
			w.serveTCP(func(_ *server, raw *net.TCPConn) { c.handle(raw) }, "site.test")
			a := get(t, w.visit(), "site.test/")
			wantError(t, a, fetch.TLSHandshake, c.reason)
			if a.Requests != 0 {
				t.Errorf("%d requests counted", a.Requests)
			}
		})
	}
}

// answerHello reads a ClientHello, writes b and ends.
func answerHello(c *net.TCPConn, b []byte) {
	var buf [4096]byte
	if _, err := c.Read(buf[:]); err != nil {
		return
	}
	if _, err := c.Write(b); err != nil {
		return
	}
	_ = c.CloseWrite()
	(&peer{raw: c}).wait()
}

func TestBrokenRecordsAfterTheHandshake(t *testing.T) {
	w := newWorld(t, patient, nil)
	w.serve(func(p *peer) {
		p.next()
		if _, err := p.raw.Write(append([]byte{23, 3, 3, 0, 40}, make([]byte, 40)...)); err == nil {
			p.wait()
		}
	}, "site.test")
	wantError(t, get(t, w.visit(), "site.test/"), fetch.ProtocolError, "malformed")
}

// A session ticket that comes after the answer, and half a record, must not
// be taken for a closed connection, nor a close_notify for a living one.
func TestProbeSeesThroughTLS(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, c := range []struct {
			name  string
			after func(p *peer)
			conns int
		}{
			{"quiet", func(*peer) {}, 1},
			{"close_notify, TCP open", func(p *peer) { _ = p.CloseWrite() }, 2},
			{"FIN", func(p *peer) { _ = p.raw.CloseWrite() }, 2},
			{"unasked bytes", func(p *peer) { p.say("HTTP/1.1 408 Request Timeout\r\n\r\n") }, 2},
			{"half a record", func(p *peer) { _, _ = p.raw.Write([]byte{23, 3}) }, 1},
		} {
			t.Run(tls.VersionName(version)+" "+c.name, func(t *testing.T) {
				w := newWorld(t, impatient, nil)
				done := make(chan struct{}, 2)
				conf := &tls.Config{Certificates: []tls.Certificate{w.ca.leaf(t, nil, "site.test")}, MinVersion: version, MaxVersion: version}
				s := w.serveTLS(conf, func(p *peer) {
					for {
						r, more := p.next()
						if !more || !p.say(ok("x")) {
							return
						}
						if r.URL.Path == "/1" {
							c.after(p)
						}
						done <- struct{}{}
					}
				}, "site.test")
				v := w.visit()
				wantBody(t, get(t, v, "site.test/1"), 200, "x")
				<-done
				a := get(t, v, "site.test/2")
				if c.name == "half a record" {
					// Alive as far as can be known: it is asked, and the
					// record never becomes whole.
					if _, requests := s.log(); a.Err == nil || len(requests) > 2 {
						t.Errorf("error %v, requests %v", a.Err, requests)
					}
				} else {
					wantBody(t, a, 200, "x")
				}
				if conns, _ := s.log(); conns != c.conns {
					t.Errorf("%d connections, want %d", conns, c.conns)
				}
			})
		}
	}
}

func TestTLS12AndTLS13(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		w := newWorld(t, patient, nil)
		conf := &tls.Config{Certificates: []tls.Certificate{w.ca.leaf(t, nil, "site.test")}, MinVersion: version, MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}}
		w.serveTLS(conf, func(p *peer) {
			state := p.ConnectionState()
			p.next()
			p.say(ok(state.NegotiatedProtocol + " " + state.ServerName))
		}, "site.test")
		wantBody(t, get(t, w.visit(), "site.test/"), 200, "http/1.1 site.test")
	}
}
