// Package hookup knows how each client of the Model Context Protocol is told of
// a node: where its settings are, and what has to stand there. It reads and
// writes these files, needs no node for it, and never puts a key into them.
package hookup

import (
	"slices"
	"strings"
)

// Server is the node as one agent's client is to see it.
type Server struct {
	// Name is what the client calls it: letters, digits, - and _.
	Name string
	// URL is the node's, without a path.
	URL string
	// HTTP lets the client speak to URL itself and sign in by OAuth, so that nothing
	// secret stands anywhere. Else it starts Command as its child.
	HTTP bool
	// Command is the agentlink program.
	Command string
	// KeyFile holds the agent's key, for Command.
	KeyFile string
}

// DefaultName is what clients call the node where nobody says otherwise.
const DefaultName = "agentlink"

// ValidName says whether a client can call the node so: 1 to 64 letters, digits,
// hyphens and underscores, which need no quotes in any format.
func ValidName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	})
}

// mcpURL is the address that a client calls.
func (s Server) mcpURL() string { return strings.TrimSuffix(s.URL, "/") + "/mcp" }

// args are the arguments of Command.
func (s Server) args() []string {
	return []string{"mcp", "--url", s.URL, "--key-file", s.KeyFile}
}

// Clients lists the clients, as they are shown.
func Clients() []Client { return slices.Clone(clients) }

// Names lists what Find takes.
func Names() []string {
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = c.Name
	}
	return names
}

// Find finds a client by its name.
func Find(name string) (Client, bool) {
	at := slices.IndexFunc(clients, func(c Client) bool { return c.Name == name })
	if at < 0 {
		return Client{}, false
	}
	return clients[at], true
}

// Step is something to do, with lines to copy; Lines is "" where there are none.
type Step struct {
	Text  string `json:"text"`
	Lines string `json:"lines,omitempty"`
}

// Steps are the ways to tell a client of a server by hand. where names the file
// of its settings in the reader's words.
func (c Client) Steps(s Server, where string) []Step {
	command, shape, after := c.addStdio, c.stdio, c.afterStdio
	if s.HTTP {
		command, shape, after = c.addHTTP, c.http, c.afterHTTP
	}
	var steps []Step
	if command != "" {
		steps = append(steps, Step{"Let " + c.Title + " add it:", c.fill(command, s)})
	}
	switch {
	case shape == nil:
		steps = append(steps, Step{c.urlText, s.mcpURL()})
	case command != "":
		steps = append(steps, Step{"Or put this into " + where + ":", c.Lines(s)})
	default:
		steps = append(steps, Step{"Put this into " + where + ":", c.Lines(s)})
	}
	if after != "" {
		steps = append(steps, Step{Text: after})
	}
	return steps
}

// fill puts a server into a command line.
func (c Client) fill(command string, s Server) string {
	members := c.entry(s)
	return strings.NewReplacer(
		"{name}", s.Name, "{url}", shellWord(s.mcpURL()), "{command}", shellLine(append([]string{s.Command}, s.args()...)),
		"{json}", shellWord(members.line()), "{named}", shellWord(append(entry{{"name", s.Name}}, members...).line()),
	).Replace(command)
}

func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
	}
	return strings.Join(quoted, " ")
}

// shellWord quotes a word where a shell would read something into it.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Takes says whether the client's file takes a server in this form.
func (c Client) Takes(s Server) bool { return !s.HTTP || c.http != nil }

// After is what is left to do once the file is written; "" for nothing.
func (c Client) After(s Server) string {
	if s.HTTP {
		return c.afterHTTP
	}
	return c.afterStdio
}
