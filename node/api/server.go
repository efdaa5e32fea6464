package api

import (
	"net/http"
	"time"
)

// The time-outs of a server of agents.
const (
	HeaderTimeout = 5 * time.Second
	ReadTimeout   = 15 * time.Second
	WriteTimeout  = 30 * time.Second
	IdleTimeout   = 2 * time.Minute
	// OpTimeout ends what fiber serves: behind its adaptor nobody sees a client leave.
	OpTimeout = 20 * time.Second
)

// NewServer makes a server with every time-out set.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: HeaderTimeout, ReadTimeout: ReadTimeout,
		WriteTimeout: WriteTimeout, IdleTimeout: IdleTimeout, MaxHeaderBytes: 32 << 10,
	}
}
