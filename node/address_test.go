package node_test

import (
	"net/url"
	"strings"
	"testing"

	"agentlink/node"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]node.Address{
		"ada@example.org":              {Handle: "ada", Host: "example.org"},
		"a@b":                          {Handle: "a", Host: "b"},
		"a.b-c_9@node.example.org":     {Handle: "a.b-c_9", Host: "node.example.org"},
		"ada@localhost:7410":           {Handle: "ada", Host: "localhost:7410"},
		"ada@example.org:1":            {Handle: "ada", Host: "example.org:1"},
		"ada@example.org:65535":        {Handle: "ada", Host: "example.org:65535"},
		"ada@192.168.1.7":              {Handle: "ada", Host: "192.168.1.7"},
		"ada@192.168.1.7:7411":         {Handle: "ada", Host: "192.168.1.7:7411"},
		"ada@[::1]":                    {Handle: "ada", Host: "[::1]"},
		"ada@[2001:db8::7]:7411":       {Handle: "ada", Host: "[2001:db8::7]:7411"},
		"ada@xn--bcher-kva.example":    {Handle: "ada", Host: "xn--bcher-kva.example"},
		"ada@3com.example":             {Handle: "ada", Host: "3com.example"},
		"ada@example.0xyz":             {Handle: "ada", Host: "example.0xyz"},
		strings.Repeat("a", 64) + "@b": {Handle: strings.Repeat("a", 64), Host: "b"},
	} {
		got, err := node.ParseAddress(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if got.String() != text {
			t.Errorf("%q comes back as %q", text, got)
		}
	}
}

func TestParseAddressRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	for name, text := range map[string]string{
		"nothing": "", "no at": "ada", "no handle": "@example.org", "no host": "ada@", "two ats": "ada@b@c",
		"upper-case handle": "Ada@example.org", "upper-case host": "ada@Example.org",
		"dot first": ".ada@b", "dot last": "ada.@b", "hyphen first": "-ada@b", "long handle": long + "aa@b", "space": "a da@b", "plus": "a+b@c",
		"Cyrillic а": "\u0430da@b", "fullwidth": "ａda@b", "zero width": "a\u200bda@b", "line break": "ada@b\n", "NUL": "ada@b\x00",
		"umlaut in host": "ada@bücher.example", "underscore in host": "ada@a_b", "label too long": "ada@" + long + "a.b",
		"host too long": "ada@" + strings.Repeat(long+".", 4) + "example", "dot at the end": "ada@example.org.", "empty label": "ada@a..b",
		"hyphen at a label's end": "ada@a-.b", "scheme": "https://ada@b", "path": "ada@b/c", "query": "ada@b?c", "fragment": "ada@b#c", "user": "ada:x@b",
		"empty port": "ada@b:", "port 0": "ada@b:0", "port too large": "ada@b:65536", "port with zero": "ada@b:080", "signed port": "ada@b:+80", "named port": "ada@b:http", "two ports": "ada@b:1:2",
		"bare IPv6": "ada@::1", "IPv6 and port without brackets": "ada@2001:db8::7:7411", "open bracket": "ada@[::1", "only brackets": "ada@[]", "name in brackets": "ada@[localhost]", "IPv4 in brackets": "ada@[127.0.0.1]",
		"IPv6 not shortest": "ada@[0:0:0:0:0:0:0:1]", "IPv6 upper case": "ada@[2001:DB8::7]", "zone": "ada@[fe80::1%eth0]", "mapped": "ada@[::ffff:127.0.0.1]", "text after bracket": "ada@[::1]x",
		"octal": "ada@0177.0.0.1", "decimal": "ada@2130706433", "hexadecimal": "ada@0x7f000001", "hexadecimal last part": "ada@127.0.0.0x1", "short": "ada@127.1", "number at the end": "ada@example.1", "0x alone": "ada@a.0x",
		"four numbers too large": "ada@256.1.1.1", "leading zero": "ada@192.168.01.1",
	} {
		got, err := node.ParseAddress(text)
		if node.CodeOf(err) != node.BadRequest || err == nil || got != (node.Address{}) {
			t.Errorf("%s: %q gives %+v, %v", name, text, got, err)
		}
		if err != nil && len(text) > 3 && strings.Contains(err.Error(), text) {
			t.Errorf("%s: the error quotes the address", name)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "localhost:7410": true, "a.localhost:1": true, "127.0.0.1": true, "127.0.0.1:80": true, "127.255.0.3": true,
		"::1": true, "[::1]": true, "[::1]:80": true, "::ffff:127.0.0.1": true,
		"": false, ":80": false, "0.0.0.0": false, "[::]:80": false, "example.org": false, "localhost.example.org": false, "notlocalhost": false,
		"192.168.1.1:80": false, "128.0.0.1": false, "127.1": false, "2130706433": false,
	} {
		if got := node.IsLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{"ada@example.org", "ada@localhost:7410", "ada@[::1]:80", "ada@192.168.1.7", "a@0x7f.1", "a@b:0", "@", "a@[fe80::1%25lo]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		address, err := node.ParseAddress(text)
		if err != nil {
			if node.CodeOf(err) != node.BadRequest {
				t.Fatal(err)
			}
			return
		}
		if address.String() != text || text != strings.ToLower(text) || !node.ValidHandle(address.Handle) {
			t.Fatalf("%q became %q", text, address)
		}
		// A URL with this host has this host and nothing else.
		parsed, err := url.Parse("https://" + address.Host + "/x")
		if err != nil || parsed.Host != address.Host || parsed.User != nil || parsed.Path != "/x" {
			t.Fatalf("%q in a URL: %+v, %v", address.Host, parsed, err)
		}
	})
}
