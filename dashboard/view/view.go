// Package view holds the owner's pages: templates, the language of their looks,
// and what they are made of. A template takes a view model and never sees a
// store. Every text from an agent or a peer goes through Foreign.
package view

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.1118 generate -path . -include-version=false

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
	"strings"
	"time"
)

//go:embed static/*
var files embed.FS

// Asset is a file that the pages load.
type Asset struct {
	Type string // media type
	Data []byte
}

// types are the media types of the assets, by their endings.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".woff2": "font/woff2", ".svg": "image/svg+xml",
}

// Assets are all files by their addresses. Those of code and style change with
// their content, so that a browser may keep all of them for ever.
var Assets, addresses = load()

func load() (map[string]Asset, map[string]string) {
	assets, names := map[string]Asset{}, map[string]string{}
	entries, err := files.ReadDir("static")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		data, err := files.ReadFile("static/" + name)
		if err != nil {
			panic(err)
		}
		address := "/assets/" + name
		if ending := path.Ext(name); ending != ".woff2" { // fonts never change, and style.css names them
			sum := sha256.Sum256(data)
			address = "/assets/" + strings.TrimSuffix(name, ending) + "-" + hex.EncodeToString(sum[:6]) + ending
		}
		assets[address] = Asset{Type: types[path.Ext(name)], Data: data}
		names[name] = address
	}
	return assets, names
}

// AssetURL is the address of a file in static/.
func AssetURL(name string) string { return addresses[name] }

// Frame is what every page has around its content.
type Frame struct {
	Title   string // of the page
	Here    string // path of the entry of the navigation that is current
	Owner   string // the owner's name
	Host    string // host[:port] of the agents' addresses
	Waiting int    // approvals and requests that wait
	CSRF    string // token that every form carries
	Now     time.Time
	Notice  string // what just happened, "" for nothing
	Problem string // what went wrong, "" for nothing
	Seen    int64  // position of the audit log that the page shows
}

// Entry is one entry of the navigation.
type entry struct {
	Path, Name string
	Wide       bool // not among the five of a phone
}

var entries = []entry{
	{"/", "Home", false}, {"/approvals", "Approvals", false}, {"/tasks", "Tasks", false}, {"/messages", "Messages", true},
	{"/contacts", "Contacts", false}, {"/knows", "Who knows what", true}, {"/agents", "Agents", true},
	{"/activity", "Activity", true}, {"/settings", "Settings", true},
}

// Meaning is what a colour says; no other colour means anything.
type Meaning string

// The meanings.
const (
	Waits   Meaning = "waits"
	OK      Meaning = "ok"
	No      Meaning = "no"
	Ended   Meaning = "ended"
	Neutral Meaning = "neutral"
)
