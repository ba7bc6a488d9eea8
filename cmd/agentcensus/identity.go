package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"agentcensus/pipeline/simweb"
	"agentcensus/signing"
)

// identity is who asks: the name in the User-Agent field and the signer of
// every request.
type identity struct {
	userAgent string
	tokens    []string
	signer    *signing.Signer
	keyID     string
	keys      signing.KeySet
}

// identify makes the operator's identity from the configuration.
func identify(c *config) (*identity, error) {
	keys, err := c.keySet()
	if err != nil {
		return nil, err
	}
	return newIdentity(c, keys)
}

// simulatedIdentity is for a web that is made up: what the configuration does
// not name is made up too, and the key is as short-lived as the process.
func simulatedIdentity(c *config) (*identity, error) {
	k, err := signing.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for the simulation: %w", err)
	}
	keys, err := signing.NewKeySet(k)
	if err != nil {
		return nil, fmt.Errorf("make a key for the simulation: %w", err)
	}
	made := *c
	if made.Bot.Name == "" {
		made.Bot.Name = "agentcensus"
	}
	if made.Bot.InfoURL == "" {
		made.Bot.InfoURL = "https://census.example/bot"
	}
	if len(made.Bot.Tokens) == 0 {
		made.Bot.Tokens = []string{made.Bot.Name}
	}
	made.Signing.Agent = originOf(made.Bot.InfoURL)
	return newIdentity(&made, keys)
}

func newIdentity(c *config, keys signing.KeySet) (*identity, error) {
	s, err := signing.NewSigner(signing.Options{
		Keys: keys, Agent: c.Signing.Agent, Form: signing.Form(c.Signing.Form), Now: time.Now, Rand: rand.Reader,
	})
	if err != nil {
		return nil, usagef("%w", err)
	}
	id, err := s.KeyID()
	if err != nil {
		return nil, usagef("%w", err)
	}
	return &identity{userAgent: c.userAgent(), tokens: c.Bot.Tokens, signer: s, keyID: id, keys: keys}, nil
}

// nonceMemory is how many nonces the simulated web remembers.
const nonceMemory = 1 << 16

// verify judges the requests that the simulated web receives, as a strict
// site owner would.
func (id *identity) verify() simweb.VerifyFunc {
	v := signing.NewVerifier(signing.VerifierConfig{
		Keys: id.keys.Public(), Agent: id.signer.Agent().URL(), Nonces: signing.NewNonceMemory(nonceMemory),
		Strict: id.signer.Agent().Form() == signing.FormDictionary,
	})
	return func(method, authority, path string, h http.Header, received time.Time) string {
		verdict := v.Verify(signing.Request{Method: method, Scheme: "https", Authority: authority, Path: path, Header: h}, received)
		if verdict.OK() {
			return "ok"
		}
		return string(verdict.Reason)
	}
}
