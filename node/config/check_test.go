package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate writes a certificate and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), DNSNames: []string{"node.example.org"}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})), 0o644)
	return cert, file(t, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})), 0o600)
}

func file(t *testing.T, content string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func folder(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckTakes(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	for name, settings := range map[string]map[string]string{
		"loopback":                 {},
		"public on loopback":       {PublicListenName: "localhost:7411"},
		"public with TLS":          {PublicListenName: "0.0.0.0:7411", PublicURLName: "https://node.example.org:7411", TLSCertName: cert, TLSKeyName: key},
		"behind a proxy":           {PublicListenName: "localhost:7411", PublicURLName: "https://node.example.org"},
		"in clear, as it was told": {ListenName: "0.0.0.0:7410", PublicURLName: "http://node.example.org", AllowPlainHTTPName: "true"},
		"LAN address with TLS":     {ListenName: "192.168.1.7:7410", TLSCertName: cert, TLSKeyName: key},
		"free ports":               {ListenName: "localhost:0", PublicListenName: "localhost:0"},
		"private folder":           {DataDirName: folder(t, 0o700)},
		"database here":            {DatabaseURLName: "postgres://ada@[::1]:5432/link"},
		"database by its socket":   {DatabaseURLName: "postgres://ada@/link?host=/run/postgresql"},
		"database with TLS":        {DatabaseURLName: "postgres://ada@db.example:5432/link?sslmode=verify-full"},
		"database behind a tunnel": {DatabaseURLName: "postgres://ada@db:5432/link?sslmode=disable", AllowPlainHTTPName: "true"},
		"private key":              {MasterKeyFileName: file(t, "x", 0o400), MasterPassphraseFileName: file(t, "x", 0o600)},
	} {
		if err := mustLoad(t, settings).Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	otherCert, _ := certificate(t)
	_, openKey := certificate(t)
	if err := os.Chmod(openKey, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		settings map[string]string
		names    []string
	}{
		"public without TLS":       {map[string]string{PublicListenName: "0.0.0.0:7411", PublicURLName: "https://node.example.org"}, []string{PublicListenName, TLSCertName, TLSKeyName, AllowPlainHTTPName}},
		"public, no host":          {map[string]string{PublicListenName: ":7411", PublicURLName: "https://node.example.org"}, []string{PublicListenName}},
		"LAN without TLS":          {map[string]string{ListenName: "192.168.1.7:7410"}, []string{ListenName, TLSCertName, AllowPlainHTTPName}},
		"everywhere without TLS":   {map[string]string{ListenName: "[::]:7410", PublicURLName: "https://node.example.org"}, []string{ListenName}},
		"a name without TLS":       {map[string]string{ListenName: "localhost.example.org:7410"}, []string{ListenName}},
		"twice the same":           {map[string]string{ListenName: "localhost:7410", PublicListenName: "localhost:7410"}, []string{PublicListenName, ListenName}},
		"certificate without key":  {map[string]string{TLSCertName: cert}, []string{TLSCertName, TLSKeyName}},
		"key without certificate":  {map[string]string{TLSKeyName: key}, []string{TLSCertName, TLSKeyName}},
		"another's key":            {map[string]string{TLSCertName: otherCert, TLSKeyName: key}, []string{TLSCertName, TLSKeyName}},
		"no certificate there":     {map[string]string{TLSCertName: cert + ".none", TLSKeyName: key}, []string{TLSCertName, TLSKeyName}},
		"key that others read":     {map[string]string{TLSCertName: cert, TLSKeyName: openKey}, []string{openKey, "chmod 600"}},
		"no name for peers":        {map[string]string{PublicListenName: "0.0.0.0:7411", TLSCertName: cert, TLSKeyName: key}, []string{PublicURLName}},
		"no name for anybody":      {map[string]string{ListenName: ":7410", AllowPlainHTTPName: "true"}, []string{PublicURLName}},
		"http for the world":       {map[string]string{PublicURLName: "http://node.example.org"}, []string{PublicURLName, AllowPlainHTTPName}},
		"dashboard in clear":       {map[string]string{DashboardURLName: "http://192.168.1.7:7410"}, []string{DashboardURLName, AllowPlainHTTPName}},
		"http on a LAN":            {map[string]string{PublicURLName: "http://192.168.1.7:7410"}, []string{PublicURLName}},
		"database in clear":        {map[string]string{DatabaseURLName: "postgres://ada:hunter2@db.example/link"}, []string{DatabaseURLName, AllowPlainHTTPName, "verify-full"}},
		"database of anybody":      {map[string]string{DatabaseURLName: "postgres://ada@db.example/link?sslmode=require"}, []string{DatabaseURLName}},
		"database that falls back": {map[string]string{DatabaseURLName: "postgres://ada@localhost/link?host=db.example&sslmode=prefer"}, []string{DatabaseURLName}},
		"folder that others read":  {map[string]string{DataDirName: folder(t, 0o755)}, []string{DataDirName, "chmod 700"}},
		"folder of a group":        {map[string]string{DataDirName: folder(t, 0o750)}, []string{DataDirName}},
		"folder that others enter": {map[string]string{DataDirName: folder(t, 0o711)}, []string{DataDirName}},
		"file for a folder":        {map[string]string{DataDirName: file(t, "x", 0o600)}, []string{DataDirName}},
		"folder in a file":         {map[string]string{DataDirName: file(t, "x", 0o600) + "/data"}, []string{DataDirName}},
		"folder too deep":          {map[string]string{DataDirName: "/srv/" + strings.Repeat("a", 100)}, []string{DataDirName}},
		"master key, others read":  {map[string]string{MasterKeyFileName: file(t, "x", 0o644)}, []string{MasterKeyFileName, "chmod 600"}},
		"master key of a group":    {map[string]string{MasterKeyFileName: file(t, "x", 0o640)}, []string{MasterKeyFileName}},
		"passphrase, others read":  {map[string]string{MasterPassphraseFileName: file(t, "x", 0o604)}, []string{MasterPassphraseFileName}},
	} {
		err := mustLoad(t, test.settings).Check()
		if err == nil {
			t.Errorf("%s is taken", name)
			continue
		}
		checkSentence(t, err, test.names...)
	}
}

func TestMakeDataDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b", "data")
	c := mustLoad(t, map[string]string{DataDirName: dir})
	for range 2 {
		if err := c.MakeDataDir(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.MakeDataDir(); err == nil {
		t.Error("a folder that others read")
	}
	inFile := mustLoad(t, map[string]string{DataDirName: file(t, "x", 0o600) + "/data"})
	if err := inFile.MakeDataDir(); err == nil {
		t.Error("a folder in a file")
	} else {
		checkSentence(t, err, DataDirName)
	}
}
