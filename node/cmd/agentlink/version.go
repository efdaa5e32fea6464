package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"agentlink/coordination/wire"
)

// build is what is known of this program.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Protocol int    `json:"protocol"` // the version that it speaks to peers
}

func thisBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Protocol: wire.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			b.Commit = setting.Value
		}
	}
	return b
}

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(),
		Example: "  agentlink version --json",
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			return c.print(b, func() {
				c.say("agentlink %s, protocol %d, %s", b.Version, b.Protocol, b.Go)
			})
		},
	}
}
