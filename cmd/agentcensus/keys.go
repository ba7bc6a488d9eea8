package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentcensus/signing"
)

// newKeysCommand is `agentcensus keys`.
func newKeysCommand(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Make, show and publish the keys that sign requests",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(newKeysNew(s), newKeysShow(s), newKeysDirectory(s))
	return c
}

func newKeysNew(s streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "new --out FILE",
		Short: "Make an Ed25519 key in a new file that only you can read",
		Long: `new makes an Ed25519 key and writes it to FILE as PKCS#8 in PEM, mode 0600. A
file that is there is never overwritten.

Exit statuses: 0 made, 1 failed, 2 wrong usage or the file is there.`,
		Example: "  agentcensus keys new --out key.pem",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				return usagef("name the file to write with --out")
			}
			k, err := signing.GenerateKey(rand.Reader)
			if err != nil {
				return err
			}
			if err := signing.WriteKey(out, k); err != nil {
				return keyError(err)
			}
			fmt.Fprintf(s.out, "wrote %s\nthumbprint %s\nlist the file under signing.keys of the configuration, and publish the key before it signs\n", out, k.ID)
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "the `file` to write")
	return c
}

func newKeysShow(s streams) *cobra.Command {
	var (
		file   string
		asJSON bool
	)
	c := &cobra.Command{
		Use:   "show --key FILE",
		Short: "Print a key's thumbprint and its public half",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			k, err := loadKeyFlag(file)
			if err != nil {
				return err
			}
			jwk := k.JWK()
			if asJSON {
				return encodeLine(s.out, struct {
					Thumbprint string      `json:"thumbprint"`
					JWK        signing.JWK `json:"jwk"`
				}{k.ID, jwk})
			}
			text, err := json.Marshal(jwk)
			if err != nil {
				return fmt.Errorf("write the key: %w", err)
			}
			fmt.Fprintf(s.out, "thumbprint %s\njwk        %s\n", k.ID, text)
			return nil
		},
	}
	c.Flags().StringVar(&file, "key", "", "the key `file`")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object: {\"thumbprint\",\"jwk\"}")
	return c
}

// directoryFlags are the flags of `agentcensus keys directory`.
type directoryFlags struct {
	origin, config, out string
	keys                []string
}

func newKeysDirectory(s streams) *cobra.Command {
	var f directoryFlags
	c := &cobra.Command{
		Use:   "directory [--origin URL] [--key FILE]... [--config FILE] [--out DIR]",
		Short: "Write the key directory: the JWK Set and its response headers",
		Long: `directory writes what must be answered to a GET of
` + signing.DirectoryPath + ` at the origin, for a web server
that serves files: 'agentcensus serve' answers it by itself.

Without --key the keys are those of the configuration, with their dates. The
signatures in the headers hold for seven days: write them again before, and
serve body and headers as they are, uncompressed.

Without --out headers, an empty line and the body go to standard output.`,
		Example: `  agentcensus keys directory --origin https://bot.example --key key.pem
  agentcensus keys directory --out /var/www/bot/.well-known`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return writeDirectory(s, f, time.Now()) },
	}
	c.Flags().StringVar(&f.origin, "origin", "", "the https origin `URL` of the directory (default: signing.agent of the configuration)")
	c.Flags().StringArrayVar(&f.keys, "key", nil, "a key `file` to publish; may be repeated (default: signing.keys of the configuration)")
	c.Flags().StringVar(&f.out, "out", "", "write the files "+path.Base(signing.DirectoryPath)+" and, beside it, .headers into `DIR`")
	addConfigFlag(c, &f.config)
	return c
}

func writeDirectory(s streams, f directoryFlags, now time.Time) error {
	c := &config{}
	if f.config != "" || f.origin == "" || len(f.keys) == 0 {
		var err error
		if c, err = loadConfig(f.config); err != nil {
			return err
		}
	}
	if f.origin != "" {
		c.Signing.Agent = f.origin
	}
	if len(f.keys) > 0 {
		c.Signing.Keys = nil
		for _, file := range f.keys {
			c.Signing.Keys = append(c.Signing.Keys, keyConfig{File: file})
		}
	}
	if c.Signing.Agent == "" {
		return usagef("name the origin with --origin, or write signing.agent into the configuration")
	}
	authority, err := directoryAuthority(c.Signing.Agent)
	if err != nil {
		return usage(err)
	}
	keys, err := c.keySet()
	if err != nil {
		return err
	}
	body, header, err := signing.Directory(keys, authority, now)
	if err != nil {
		return keyError(err)
	}
	lines := headerLines(header)
	if f.out == "" {
		if _, err := s.out.Write(slices.Concat(lines, []byte("\n"), body)); err != nil {
			return fmt.Errorf("write the key directory: %w", err)
		}
		return nil
	}
	name := filepath.Join(f.out, path.Base(signing.DirectoryPath))
	err = replaceFile(name, body)
	if err == nil {
		err = replaceFile(name+".headers", lines)
	}
	if err != nil {
		return usagef("write the key directory: %w; name another directory with --out", err)
	}
	fmt.Fprintf(s.out, "wrote %s and %[1]s.headers; write them again before %s\n",
		name, now.Add(signing.DirectoryLifetime-signing.DirectoryMaxAge).UTC().Format(time.RFC3339))
	return nil
}

// headerLines are the fields in alphabetical order, one a line.
func headerLines(h http.Header) []byte {
	var b bytes.Buffer
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(h[name], ", "))
	}
	return b.Bytes()
}

// directoryAuthority is the authority whose key directory a Signature-Agent
// value means: an origin, or its directory's whole URL (draft -01).
func directoryAuthority(agent string) (string, error) {
	if _, err := signing.NewAgent(agent, signing.FormDictionary); err != nil {
		return "", err
	}
	u, err := url.Parse(agent)
	if err != nil {
		return "", err
	}
	if u.Path != "" && u.Path != signing.DirectoryPath {
		return "", fmt.Errorf("signature agent %q: the keys are published under %s of an origin: write the origin, or that URL", agent, signing.DirectoryPath)
	}
	return u.Host, nil
}

// keySet loads the keys of the configuration.
func (c *config) keySet() (signing.KeySet, error) {
	files := make([]signing.KeyFile, len(c.Signing.Keys))
	for i, k := range c.Signing.Keys {
		files[i] = signing.KeyFile{Path: k.File, NotBefore: k.NotBefore.Time, Expires: k.Expires.Time}
	}
	keys, err := signing.LoadKeySet(files)
	return keys, keyError(err)
}

// loadKeyFlag loads the key that --key names.
func loadKeyFlag(file string) (signing.Key, error) {
	if file == "" {
		return signing.Key{}, usagef("name the key file with --key; 'agentcensus keys new --out FILE' makes one")
	}
	k, err := signing.LoadKey(file)
	return k, keyError(err)
}

// keyError marks an error over a key as the caller's: the key or its file has
// to be mended.
func keyError(err error) error { return usage(err) }
