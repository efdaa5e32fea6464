package hookup

// Client is one row of the table of clients.
type Client struct {
	// Name is what the command line calls it, Title what people call it.
	Name, Title string
	// Where names the file of its settings for people who sit at another machine.
	Where string

	place  place
	format format
	// table is the way to the servers in the file.
	table []string
	// stdio and http are what stands there for a server; nil where the file takes none.
	stdio, http shape
	// addStdio and addHTTP are the client's own commands; "" where it has none.
	addStdio, addHTTP string
	// urlText says where the address goes that the file does not take.
	urlText string
	// afterStdio and afterHTTP are what is left to do.
	afterStdio, afterHTTP string
	// skills is the folder of skills; nothing where there is none.
	skills place
}

// format is how a file of settings is written.
type format int

const (
	// asJSON is JSON; where a client allows comments, a file with comments is left to
	// people.
	asJSON format = iota
	asTOML
)

const (
	signIn    = "your browser opens this node's dashboard, and you approve the client there."
	noAddress = "Enter this address:"
)

var (
	plainStdio = shape{{"command", theCommand}, {"args", theArgs}}
	typedStdio = shape{{"type", "stdio"}, {"command", theCommand}, {"args", theArgs}}
	typedHTTP  = shape{{"type", "http"}, {"url", theURL}}
)

// clients is the table. Each row names where its facts come from.
var clients = []Client{
	{
		// code.claude.com/docs/en/mcp: scope user stands in ~/.claude.json under
		// mcpServers; claude mcp add [--scope user] [--transport http] NAME …; /mcp signs in.
		// code.claude.com/docs/en/settings: CLAUDE_CONFIG_DIR moves it.
		// code.claude.com/docs/en/skills: ~/.claude/skills/NAME/SKILL.md. Tried with 2.1.197.
		Name: "claude-code", Title: "Claude Code", Where: "~/.claude.json",
		place: place{env: "CLAUDE_CONFIG_DIR", file: ".claude.json"}, table: []string{"mcpServers"},
		stdio: typedStdio, http: typedHTTP,
		addStdio:   "claude mcp add --scope user {name} -- {command}",
		addHTTP:    "claude mcp add --scope user --transport http {name} {url}",
		afterStdio: "Sessions of Claude Code that are open see it after a restart.",
		afterHTTP:  "Then type /mcp in Claude Code and choose the server: " + signIn,
		skills:     place{env: "CLAUDE_CONFIG_DIR", home: ".claude", file: "skills"},
	},
	{
		// modelcontextprotocol.io/docs/develop/connect-local-servers: the file, on macOS
		// and Windows. On Linux the builds that exist follow the same rule.
		// support.claude.com/en/articles/11503834: remote servers are added under
		// Customize > Connectors and not in the file; Claude's cloud calls them. Not tried:
		// it runs on no machine of ours.
		Name: "claude-desktop", Title: "Claude Desktop", Where: "claude_desktop_config.json (Settings, Developer, Edit Config)",
		place: place{config: "Claude", file: "claude_desktop_config.json"}, table: []string{"mcpServers"},
		stdio:      plainStdio,
		afterStdio: "Quit Claude Desktop and open it again.",
		urlText:    "In Claude choose Customize, Connectors, Add custom connector, and enter this address. It is called from the cloud and not by Claude Desktop, so it has to be reachable from the internet with HTTPS:",
		afterHTTP:  "Then press Connect: " + signIn,
	},
	{
		// developers.openai.com/codex/mcp: [mcp_servers.NAME] in ~/.codex/config.toml with
		// command and args or url; codex mcp add, codex mcp login; tool_timeout_sec is 60
		// by default, which is how long wait_for_events may take.
		// developers.openai.com/codex/skills: $HOME/.agents/skills. Tried with 0.171.0.
		Name: "codex", Title: "Codex", Where: "~/.codex/config.toml",
		place: place{env: "CODEX_HOME", home: ".codex", file: "config.toml"}, format: asTOML, table: []string{"mcp_servers"},
		stdio:     shape{{"command", theCommand}, {"args", theArgs}, {"tool_timeout_sec", 90}},
		http:      shape{{"url", theURL}, {"tool_timeout_sec", 90}},
		addStdio:  "codex mcp add {name} -- {command}",
		addHTTP:   "codex mcp add {name} --url {url}",
		afterHTTP: "codex mcp add signs in at once; otherwise run codex mcp login with the server's name: " + signIn,
		skills:    place{home: ".agents", file: "skills"},
	},
	{
		// docs.openclaw.ai/cli/mcp/transports: mcp.servers in ~/.openclaw/openclaw.json
		// (JSON5); transport streamable-http, auth oauth; openclaw mcp set, openclaw mcp
		// login. docs.openclaw.ai/tools/skills: ~/.openclaw/skills. Tried with 2026.9.6.
		Name: "openclaw", Title: "OpenClaw", Where: "~/.openclaw/openclaw.json",
		place: place{home: ".openclaw", file: "openclaw.json"}, table: []string{"mcp", "servers"},
		stdio:      plainStdio,
		http:       shape{{"url", theURL}, {"transport", "streamable-http"}, {"auth", "oauth"}},
		addStdio:   "openclaw mcp set {name} {json}",
		addHTTP:    "openclaw mcp set {name} {json}",
		afterStdio: "Whether it works: openclaw mcp doctor --probe.",
		afterHTTP:  "Then run openclaw mcp login with the server's name: " + signIn,
		skills:     place{home: ".openclaw", file: "skills"},
	},
	{
		// code.visualstudio.com/docs/copilot/reference/mcp-configuration: servers in the
		// profile's mcp.json, type stdio or http; code --add-mcp. The folder of the
		// profile: code.visualstudio.com/docs/configure/settings. Not tried: as above.
		Name: "vscode", Title: "VS Code", Where: "mcp.json of your profile (command: MCP: Open User Configuration)",
		place: place{config: "Code/User", file: "mcp.json"}, table: []string{"servers"},
		stdio: typedStdio, http: typedHTTP,
		addStdio:   "code --add-mcp {named}",
		addHTTP:    "code --add-mcp {named}",
		afterStdio: "Start the server above its entry in mcp.json, or with the command MCP: List Servers.",
		afterHTTP:  "Start the server above its entry in mcp.json: " + signIn,
	},
	{
		// The form that most clients took over from Claude Desktop.
		Name: "generic", Title: "Another client", Where: "the client's list of MCP servers",
		table: []string{"mcpServers"}, stdio: plainStdio,
		urlText: noAddress, afterHTTP: "A client that knows OAuth does the rest: " + signIn + " One that does not needs the agent's key as a bearer.",
	},
}
