// Package demo plays a whole dinner between two people's nodes in one terminal:
// two real nodes on loopback with databases of their own, two agents that use
// nothing but the REST API, and two owners who decide.
package demo

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"agentlink/node/api/socket"
)

// Config says how the demo plays.
type Config struct {
	Out io.Writer
	// In is where the owners' decisions are read, unless they decide by click; nil
	// decides for both of them.
	In io.Reader
	// Keep leaves the nodes running until the context ends.
	Keep bool
	// Width is the terminal's, in columns.
	Width int
}

// patience is how long anything may take to arrive on the other side.
const patience = 15 * time.Second

// play is a running demo.
type play struct {
	Config
	*screen
	typed    <-chan string // lines of In; nil decides for both owners
	ada, ben *house
	folder   string
}

// errStopped ends the story where an owner said no.
var errStopped = errors.New("an owner said no")

// Run plays the demo. It fails when anything does not come out as it should.
func Run(ctx context.Context, config Config) (err error) {
	folder, err := os.MkdirTemp("", "agentlink-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	p := &play{Config: config, folder: folder, screen: newScreen(config.Out, config.Width)}
	if config.In != nil {
		p.typed = lines(ctx, config.In)
	}
	defer func() { err = errors.Join(err, p.clear()) }()
	if err := p.open(ctx); err != nil {
		return err
	}
	for _, scene := range scenes {
		p.title(scene.title)
		err := scene.play(p, ctx)
		if errors.Is(err, errStopped) {
			p.say("The story ends here, since an owner said no. Nothing more is sent.")
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", scene.title, err)
		}
	}
	if err := p.verify(ctx); err != nil {
		return err
	}
	return p.keep(ctx)
}

// open makes and starts both nodes.
func (p *play) open(ctx context.Context) (err error) {
	p.say("Two nodes, each in a folder of its own under %s.", p.folder)
	if p.ada, err = p.house(ctx, left, "Ada", "scout", "assisted"); err != nil {
		return err
	}
	if p.ben, err = p.house(ctx, right, "Ben", "juno", "manual"); err != nil {
		return err
	}
	p.head(p.ada.heading(), p.ben.heading())
	if p.typed == nil {
		return nil
	}
	p.say("\nDecide here, or by click. Each link opens a dashboard, signed in, and works once:")
	return p.links(ctx)
}

// links prints a one-time link to each dashboard.
func (p *play) links(ctx context.Context) error {
	for _, h := range []*house{p.ada, p.ben} {
		link, err := tell[socket.SignInLink](ctx, h, socket.OwnerLink, nil)
		if err != nil {
			return err
		}
		p.say("  %-4s %s", h.owner, link.URL)
	}
	return nil
}

// lines reads what is typed, until it or ctx ends.
func lines(ctx context.Context, in io.Reader) <-chan string {
	typed := make(chan string)
	go func() {
		defer close(typed)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case typed <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return typed
}

func (p *play) house(ctx context.Context, side side, owner, handle, mode string) (*house, error) {
	folder := filepath.Join(p.folder, handle)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of %s's node: %w", owner, err)
	}
	return startHouse(ctx, side, owner, handle, mode, folder)
}

// clear stops the nodes, and takes their folders away unless they are kept.
func (p *play) clear() error {
	var err error
	for _, h := range []*house{p.ada, p.ben} {
		if h != nil {
			err = errors.Join(err, h.stop())
		}
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}

// keep leaves the nodes running and tells how to reach them.
func (p *play) keep(ctx context.Context) error {
	if !p.Keep {
		return nil
	}
	p.say("\nBoth nodes stay up until you press Ctrl-C; then their folders are removed. Their dashboards, each link once:")
	if err := p.links(ctx); err != nil {
		return err
	}
	for _, h := range []*house{p.ada, p.ben} {
		p.say("\n%s's node", h.owner)
		p.say("  agents      %s/v1/agent (OpenAPI: %s/openapi.json)", h.info.AgentsURL, h.info.AgentsURL)
		p.say("  the owner   agentlink approvals list --data %s", h.data())
		p.say("  password    in %s, for --password-file", h.passwordFile())
		p.say("  agent %s  id and key in %s", h.agent.handle, h.keyFile())
	}
	<-ctx.Done()
	return nil
}

// randomPassword makes an owner's password.
func randomPassword() string {
	random := make([]byte, 18)
	rand.Read(random)
	return base64.RawURLEncoding.EncodeToString(random)
}
