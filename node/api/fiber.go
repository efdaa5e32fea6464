package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

	"agentlink/node"
)

// NewFiber makes the fiber app that serves operations behind net/http. Immutable
// keeps strings of a request what they are; the time-outs count only where
// somebody lets it listen by itself.
func NewFiber(fail func(*Call, error) Answer) *fiber.App {
	return fiber.New(fiber.Config{
		Immutable: true, CaseSensitive: true, StrictRouting: true,
		ReadTimeout: ReadTimeout, WriteTimeout: WriteTimeout, IdleTimeout: IdleTimeout,
		BodyLimit: node.MaxJSONBytes, DisableStartupMessage: true, DisableDefaultDate: true,
		ErrorHandler: func(c *fiber.Ctx, err error) error {
			call := &Call{Route: c.Method() + " " + c.Path(), RequestID: c.Get(requestIDHeader)}
			return fail(call, routeProblem(c, err)).write(c)
		},
	})
}

// routeProblem reads what fiber's router says of itself: 404, and 405 with the
// methods that the path takes.
func routeProblem(c *fiber.Ctx, err error) error {
	var routed *fiber.Error
	switch {
	case !errors.As(err, &routed):
		return err
	case routed.Code == http.StatusNotFound:
		return ErrNoRoute()
	case routed.Code == http.StatusMethodNotAllowed:
		return node.Errorf(node.NotFound, "This address takes other methods: %s.", c.GetRespHeader(fiber.HeaderAllow))
	}
	return err
}

// Fiber mounts an operation on fiber.
func Fiber(op Op) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := context.WithTimeout(context.Background(), OpTimeout)
		defer cancel()
		return op(ctx, fiberCall(c)).write(c)
	}
}

var fiberName = regexp.MustCompile(`:([A-Za-z]+)`)

func fiberCall(c *fiber.Ctx) *Call {
	query, _ := url.ParseQuery(string(c.Request().URI().QueryString())) // Front has parsed it before
	return &Call{
		Route: c.Method() + " " + fiberName.ReplaceAllString(c.Route().Path, "{$1}"),
		Path:  c.Path(), Params: c.AllParams(), Query: query, Body: bytes.Clone(c.BodyRaw()),
		Remote: c.IP(), RequestID: c.Get(requestIDHeader),
		Header: Header{
			Authorization: c.Get(fiber.HeaderAuthorization), ContentType: c.Get(fiber.HeaderContentType),
			IdempotencyKey: c.Get("Idempotency-Key"), IfNoneMatch: c.Get(fiber.HeaderIfNoneMatch),
			LastEventID: c.Get("Last-Event-ID"),
		},
	}
}

// FiberPath writes a pattern of net/http the way fiber does.
func FiberPath(pattern string) string { return patternName.ReplaceAllString(pattern, ":$1") }

func (a Answer) write(c *fiber.Ctx) error {
	for name, value := range a.Header {
		c.Set(name, value)
	}
	c.Status(a.Status)
	if len(a.Body) == 0 {
		return nil
	}
	c.Set(fiber.HeaderContentType, jsonType)
	return c.Send(a.Body)
}

// BehindHTTP serves a fiber app on net/http, behind Front.
func BehindHTTP(app *fiber.App) http.Handler { return adaptor.FiberApp(app) }
