package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"agentlink/node/config"
)

// setting is a flag that stands before a variable of the environment.
type setting struct {
	flag, name, help string
}

// settings are the flags of the commands that open the data folder themselves.
var settings = []setting{
	{"database-url", config.DatabaseURLName, "postgres://… or sqlite:PATH; a password belongs into the environment, not here (default: node.db in the data folder)"},
	{"listen", config.ListenName, "host:port of the owner's and agents' side (default " + config.DefaultListen + ")"},
	{"public-listen", config.PublicListenName, "host:port of the peers' side (default: off, peers use --listen)"},
	{"public-url", config.PublicURLName, "how peers reach the node, such as https://node.example"},
	{"dashboard-url", config.DashboardURLName, "how you reach the dashboard from another device, such as https://desk.example"},
	{"tls-cert", config.TLSCertName, "PEM file of the certificate"},
	{"tls-key", config.TLSKeyName, "PEM file of its key"},
	{"master-key-file", config.MasterKeyFileName, "file of the master key (default: master.key in the data folder)"},
	{"master-key-passphrase-file", config.MasterPassphraseFileName, "file of its passphrase, if it has one (default: ask on the terminal)"},
	{"approval-ttl-hours", config.ApprovalTTLName, "how long an approval waits for you (default 24)"},
	{"allow-plain-http", config.AllowPlainHTTPName, "true accepts http beyond this machine, where something else encrypts"},
	{"allow-peer-networks", config.AllowPeerNetworksName, "private networks that peers may be in, with commas between them"},
	{"trusted-proxies", config.TrustedProxiesName, "addresses of proxies whose X-Forwarded-For is believed, with commas between them"},
}

const settingsHelp = `Each setting can be given as a flag or in the environment: --public-url is
AGENTLINK_PUBLIC_URL, and so on. The flag wins.`

func addSettings(command *cobra.Command) {
	for _, s := range settings {
		command.Flags().String(s.flag, "", s.help)
	}
}

// addDataSettings adds those that say where a node's data and its key are.
func addDataSettings(command *cobra.Command) {
	for _, s := range settings {
		switch s.name {
		case config.DatabaseURLName, config.MasterKeyFileName, config.MasterPassphraseFileName:
			command.Flags().String(s.flag, "", s.help)
		}
	}
}

// config reads the settings: flags before the environment.
func (c *cli) config(flags *pflag.FlagSet) (config.Config, error) {
	given := map[string]string{}
	if c.data != "" {
		given[config.DataDirName] = c.data
	}
	for _, s := range settings {
		if flag := flags.Lookup(s.flag); flag != nil && flag.Changed {
			given[s.name] = flag.Value.String()
		}
	}
	loaded, err := config.Load(config.Override(c.getenv, given))
	if err != nil {
		return config.Config{}, unsafe("%s", upperFirst(err.Error())+".")
	}
	return loaded, nil
}

// socketPath finds the owner's socket from --data or the environment alone.
func (c *cli) socketPath() (string, error) {
	settings, err := c.config(pflag.NewFlagSet("", pflag.ContinueOnError))
	if err != nil {
		return "", err
	}
	return settings.SocketPath(), nil
}
