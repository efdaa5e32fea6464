package mcp

import (
	"log/slog"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewWith is New with what a test adds to the server's options and to the server.
func NewWith(config Config, change func(*sdk.ServerOptions), add func(*sdk.Server)) http.Handler {
	config.Log = slog.New(slog.DiscardHandler)
	d := &door{Config: config}
	options := d.options()
	change(options)
	server := d.newServer(options)
	add(server)
	return d.serve(server)
}
