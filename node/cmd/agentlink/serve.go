package main

import (
	"errors"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
	"agentlink/node/app"
)

func (c *cli) serve() *cobra.Command {
	var verbose bool
	command := &cobra.Command{
		Use: "serve", Short: "Run the node", Args: args(),
		Long: `Run the node until it is told to stop (SIGINT, SIGTERM). It prints one line when
it is ready, and logs to standard error.

In a new data folder it makes a node, and prints a link at which you set it up:
once, within a day. Keep a copy of its master key elsewhere.

It does not start with settings that are not safe: that ends with one sentence
and exit code 2.

` + settingsHelp,
		Example: `  agentlink serve
  agentlink serve --public-listen :7411 --public-url https://node.example \
      --tls-cert cert.pem --tls-key key.pem
  AGENTLINK_DATABASE_URL=postgres://agentlink@db/agentlink agentlink serve`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			settings, err := c.config(cmd.Flags())
			if err != nil {
				return err
			}
			node, err := app.New(ctx, settings, app.Options{
				Log: c.logger(verbose), Version: thisBuild().Version, Passphrase: c.passphrase, SetUp: c.setUp,
			})
			if err != nil {
				return startProblem(err)
			}
			return node.Serve(ctx, c.ready)
		},
	}
	addSettings(command)
	command.Flags().BoolVarP(&verbose, "verbose", "v", false, "log more")
	return command
}

// ready prints the one line that tells that the node can be used.
func (c *cli) ready(info socket.Info) {
	if c.json {
		_ = c.line(info) // whoever started the node does not read it
		return
	}
	c.say("agentlink ready: agents %s, peers %s, data %s", info.AgentsURL, info.PeersURL, info.DataDir)
}

// setUp prints the link of a node that has no owner yet.
func (c *cli) setUp(link string) {
	if c.json {
		_ = c.line(struct {
			SetUpURL string `json:"setUpUrl"`
		}{link})
		return
	}
	c.say("Set the node up at this link; it works once, until tomorrow:\n  %s", link)
}

func (c *cli) logger(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: level}))
}

// passphrase asks for the passphrase of the master key.
func (c *cli) passphrase() ([]byte, error) {
	text, err := c.readSecret("Passphrase of the master key: ", "There is no terminal to ask for the passphrase of the master key on: use --master-key-passphrase-file.")
	return []byte(text), err
}

// startProblem turns what keeps a node from starting into a sentence and exit
// code 2; anything else stays what it is.
func startProblem(err error) error {
	var start *app.StartError
	if errors.As(err, &start) {
		return unsafe("%s", sentenceOf(start))
	}
	return err
}

func sentenceOf(err error) string {
	return strings.TrimRight(upperFirst(err.Error()), ".") + "."
}

func upperFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
