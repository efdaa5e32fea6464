package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"
)

// Limits of JSON from outside.
const (
	MaxJSONBytes = 64 << 10
	MaxJSONDepth = 16
	MaxSafeInt   = 1<<53 - 1
)

// Decode reads one JSON value from outside into a struct, strictly: names in
// exact case, no duplicate and no unknown member, valid UTF-8, at most
// MaxJSONDepth levels, no number beyond ±(2^53 − 1), nothing after the value.
// Code: bad_request, naming the field where one is known; too_large over
// MaxJSONBytes.
func Decode(data []byte, into any) error {
	if len(data) > MaxJSONBytes {
		return Errorf(TooLarge, "The request is larger than 64 KiB.")
	}
	if err := checkJSON(data); err != nil {
		return err
	}
	err := json.Unmarshal(data, into, json.RejectUnknownMembers(true), json.MatchCaseInsensitiveNames(false))
	if err == nil {
		return nil
	}
	return decodeProblem(err)
}

func decodeProblem(err error) error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		problem := "has the wrong type"
		if errors.Is(err, json.ErrUnknownName) {
			problem = "is not known here"
		}
		return BadFields(Field{Field: fieldName(string(semantic.JSONPointer)), Problem: problem})
	}
	return &Error{Code: BadRequest, Message: "The request is not valid JSON.", Err: err}
}

// fieldName turns a JSON pointer into the dotted form that errors use.
func fieldName(pointer string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
	if name == "" {
		return "(body)"
	}
	return name
}

// checkJSON walks the tokens once, before anything is built from them.
func checkJSON(data []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return tokenProblem(decoder, err)
		}
		if decoder.StackDepth() > MaxJSONDepth {
			return Errorf(BadRequest, "The request is nested deeper than %d levels.", MaxJSONDepth)
		}
		if token.Kind() == '0' && !SafeNumber(token.String()) {
			return BadFields(Field{Field: fieldName(string(decoder.StackPointer())), Problem: "is a number that is too large"})
		}
		if decoder.StackDepth() == 0 {
			return onlySpaceLeft(data[decoder.InputOffset():])
		}
	}
}

func onlySpaceLeft(rest []byte) error {
	if len(bytes.Trim(rest, " \t\r\n")) > 0 {
		return Errorf(BadRequest, "There is something after the JSON value.")
	}
	return nil
}

func tokenProblem(decoder *jsontext.Decoder, err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return BadFields(Field{Field: fieldName(string(decoder.StackPointer())), Problem: "appears twice"})
	}
	return &Error{Code: BadRequest, Message: "The request is not valid JSON.", Err: err}
}

// SafeNumber says whether a JSON number is finite and within ±(2^53 − 1).
// Beyond that two different numbers could share one canonical form, and so one
// approval hash.
func SafeNumber(text string) bool {
	value, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsInf(value, 0) && math.Abs(value) <= MaxSafeInt
}

// Canonical is the canonical JSON (RFC 8785) of a value.
func Canonical(value any) ([]byte, error) {
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("marshal: %w", err)
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("canonicalise: %w", err)
	}
	return canonical, nil
}

// MustCanonical is Canonical for values that the node built itself.
func MustCanonical(value any) []byte {
	canonical, err := Canonical(value)
	if err != nil {
		panic(err)
	}
	return canonical
}
