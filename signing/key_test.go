package signing

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestAKeyIsWrittenOnceAndReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.pem")
	key := must[Key](t)(GenerateKey(rand.Reader))
	if err := WriteKey(path, key); err != nil {
		t.Fatal(err)
	}
	if mode := must[os.FileInfo](t)(os.Stat(path)).Mode(); mode != 0o600 {
		t.Errorf("mode %v, want 0600", mode)
	}
	before := must[[]byte](t)(os.ReadFile(path))
	wantFault(t, WriteKey(path, testKey(t, 1)), FaultExists)
	if after := must[[]byte](t)(os.ReadFile(path)); !bytes.Equal(before, after) {
		t.Error("the existing key file was changed")
	}
	got := must[Key](t)(LoadKey(path))
	if got.ID != key.ID || !got.private.key.Equal(key.private.key) {
		t.Errorf("read back %v, want %v", got, key)
	}
}

func TestTwoGeneratedKeysDiffer(t *testing.T) {
	a, b := must[Key](t)(GenerateKey(rand.Reader)), must[Key](t)(GenerateKey(rand.Reader))
	if a.ID == b.ID {
		t.Errorf("both are %s", a.ID)
	}
	broken := errors.New("no entropy")
	if _, err := GenerateKey(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v, want the reader's", err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	pkcs8 := func(key any) []byte { return must[[]byte](t)(x509.MarshalPKCS8PrivateKey(key)) }
	block := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	good := block(pemType, pkcs8(testKey(t, 1).private.key))
	elliptic := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))

	for name, tc := range map[string]struct {
		data  []byte
		mode  os.FileMode
		fault KeyFault
		says  string
	}{
		"readable by the group":   {good, 0o640, FaultMode, "chmod 600"},
		"readable by the world":   {good, 0o604, FaultMode, "chmod 600"},
		"writable by the world":   {good, 0o602, FaultMode, "chmod 600"},
		"the published test key":  {block(pemType, pkcs8(publishedKey(t).private.key)), 0o600, FaultTestKey, "keys new"},
		"an elliptic curve key":   {block(pemType, pkcs8(elliptic)), 0o600, FaultNotEd25519, "Ed25519"},
		"two blocks":              {append(bytes.Clone(good), good...), 0o600, FaultFormat, "2 PEM blocks"},
		"a broken block before":   {append([]byte("-----BEGIN PRIVATE KEY-----\n!\n"), good...), 0o600, FaultFormat, "2 PEM blocks"},
		"text after the block":    {append(bytes.Clone(good), "more"...), 0o600, FaultFormat, "keys new"},
		"half a block":            {good[:len(good)/2], 0o600, FaultFormat, "keys new"},
		"an empty file":           {nil, 0o600, FaultFormat, "0 PEM blocks"},
		"a key in another format": {block("OPENSSH PRIVATE KEY", []byte{1}), 0o600, FaultFormat, "PKCS#8"},
		"a public key":            {block("PUBLIC KEY", []byte{1}), 0o600, FaultFormat, "PKCS#8"},
		"an encrypted key":        {block("ENCRYPTED PRIVATE KEY", []byte{1}), 0o600, FaultEncrypted, "openssl"},
		"a block that is no key":  {block(pemType, []byte{1}), 0o600, FaultFormat, "keys new"},
		"a file without end":      {bytes.Repeat([]byte("x"), maxKeyFile+1), 0o600, FaultFormat, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bot.pem")
			if err := os.WriteFile(path, tc.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tc.mode); err != nil {
				t.Fatal(err)
			}
			_, err := LoadKey(path)
			wantFault(t, err, tc.fault)
			if text := err.Error(); !strings.Contains(text, tc.says) || !strings.Contains(text, path) {
				t.Errorf("message %q, want the path and %q", text, tc.says)
			}
		})
	}
	if _, err := LoadKey(t.TempDir()); err == nil {
		t.Error("a folder was read as a key")
	}
	if _, err := LoadKey(filepath.Join(t.TempDir(), "none.pem")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestAPrivateKeyIsNotPrinted(t *testing.T) {
	key := testKey(t, 7)
	text := fmt.Sprintf("%v %+v %#v %s %v %#v %+v", key, key, key, key, keySet(t, key), []Key{key}, newSigner(t, "", key))
	for _, secret := range []string{"7 7 7", "0x7, 0x7", "\x07\x07\x07"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q shows the seed", text)
		}
	}
	if public := string(must[[]byte](t)(json.Marshal(key.JWK()))); strings.Contains(public, `"d"`) || strings.Contains(public, `"alg"`) {
		t.Errorf("the public JWK is %s", public)
	}
}

func TestThumbprints(t *testing.T) {
	for name, tc := range map[string]struct{ x, want string }{
		"RFC 8037 A.3":   {"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"},
		"RFC 9421 B.1.4": {"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs", testKeyID},
	} {
		t.Run(name, func(t *testing.T) {
			x := must[[]byte](t)(base64.RawURLEncoding.DecodeString(tc.x))
			if got := Thumbprint(x); got != tc.want {
				t.Errorf("thumbprint %s, want %s", got, tc.want)
			}
		})
	}
}

func TestTheNewestValidKeySigns(t *testing.T) {
	day := 24 * time.Hour
	old, current, next := testKey(t, 1), testKey(t, 2), testKey(t, 3)
	old.Expires = noon.Add(30 * day)
	current.NotBefore, current.Expires = noon, noon.Add(60*day)
	next.NotBefore, next.Expires = noon.Add(20*day), noon.Add(80*day)
	set := keySet(t, next, old, current)
	twin := current
	twin.PublicKey = testKey(t, 4).PublicKey
	twin.NotBefore, twin.private = current.NotBefore, testKey(t, 4).private

	for name, tc := range map[string]struct {
		set  KeySet
		when time.Time
		want string
	}{
		"before the second begins":  {set, noon.Add(-1), old.ID},
		"the instant it begins":     {set, noon, current.ID},
		"a later begin wins":        {set, noon.Add(20 * day), next.ID},
		"the last one left":         {set, noon.Add(70 * day), next.ID},
		"of equals the last listed": {keySet(t, current, twin), noon, twin.ID},
	} {
		t.Run(name, func(t *testing.T) {
			if got := must[Key](t)(tc.set.Current(tc.when)); got.ID != tc.want {
				t.Errorf("%s signs, want %s", got.ID, tc.want)
			}
		})
	}
	t.Run("none after the last expiry", func(t *testing.T) {
		_, err := set.Current(noon.Add(80 * day))
		wantFault(t, err, FaultExpired)
		if !strings.Contains(err.Error(), "add a new key") {
			t.Errorf("message %q does not say what to do", err)
		}
	})
	t.Run("none before the first begin", func(t *testing.T) {
		_, err := keySet(t, next).Current(noon)
		wantFault(t, err, FaultNotBegun)
	})
	t.Run("none in no set", func(t *testing.T) {
		_, err := KeySet{}.Current(noon)
		wantFault(t, err, FaultNone)
	})
}

func TestKeySetsThatAreRefused(t *testing.T) {
	backwards := testKey(t, 1)
	backwards.NotBefore, backwards.Expires = noon, noon
	for name, tc := range map[string]struct {
		keys  []Key
		fault KeyFault
	}{
		"no key":                   {nil, FaultNone},
		"the published test key":   {[]Key{testKey(t, 1), publishedKey(t)}, FaultTestKey},
		"a key twice":              {[]Key{testKey(t, 1), testKey(t, 1)}, FaultDuplicate},
		"an expiry at its begin":   {[]Key{backwards}, FaultWindow},
		"a key that is but public": {[]Key{{PublicKey: testKey(t, 1).PublicKey}}, FaultNoPrivate},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewKeySet(tc.keys...)
			wantFault(t, err, tc.fault)
		})
	}
}

func TestAConfigurationsKeysKeepTheirWindows(t *testing.T) {
	folder := t.TempDir()
	var files []KeyFile
	for i := range byte(2) {
		path := filepath.Join(folder, fmt.Sprintf("%d.pem", i))
		if err := WriteKey(path, testKey(t, i)); err != nil {
			t.Fatal(err)
		}
		files = append(files, KeyFile{Path: path, NotBefore: noon, Expires: noon.Add(time.Duration(i+1) * time.Hour)})
	}
	keys := must[KeySet](t)(LoadKeySet(files)).Keys()
	for i, k := range keys {
		if k.ID != testKey(t, byte(i)).ID || !k.NotBefore.Equal(files[i].NotBefore) || !k.Expires.Equal(files[i].Expires) {
			t.Errorf("key %d is %v from %v to %v", i, k, k.NotBefore, k.Expires)
		}
	}
	if _, err := LoadKeySet(append(files, KeyFile{Path: filepath.Join(folder, "none.pem")})); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func wantFault(t *testing.T, err error, want KeyFault) {
	t.Helper()
	fault, ok := errors.AsType[*KeyError](err)
	if !ok || fault.Fault != want {
		t.Fatalf("error %v, want fault %q", err, want)
	}
}

func TestThePublishedKeyIsRecognised(t *testing.T) {
	if !publishedKey(t).Published() {
		t.Error("the key of RFC 9421 B.1.4 is not recognised")
	}
	if testKey(t, 1).Published() {
		t.Error("a key of one's own is taken for the published one")
	}
}
