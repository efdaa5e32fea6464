package node

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of JSON from outside.
const (
	MaxJSONBytes = 64 << 10
	MaxJSONDepth = 16
	MaxSafeInt   = 1<<53 - 1
)

// Decode reads one JSON value from outside into a struct, strictly: names in
// exact case, no duplicate and no unknown member, valid UTF-8, at most
// MaxJSONDepth levels, only numbers that SafeNumber takes, nothing after the
// value. All of that but the unknown members holds inside of raw members too. A
// member that is null counts as absent; null in place of the struct is refused.
//
// Code: bad_request, naming the field where one is known; too_large over
// MaxJSONBytes. Neither message nor cause quotes a value of the caller's.
func Decode(data []byte, into any) error {
	if len(data) > MaxJSONBytes {
		return Errorf(TooLarge, "The request is larger than 64 KiB.")
	}
	if err := checkJSON(data, isStruct(into)); err != nil {
		return err
	}
	err := json.Unmarshal(data, into, json.RejectUnknownMembers(true), json.MatchCaseInsensitiveNames(false))
	if err == nil {
		return nil
	}
	return decodeProblem(err)
}

func isStruct(into any) bool {
	kind := reflect.TypeOf(into)
	return kind.Kind() == reflect.Pointer && kind.Elem().Kind() == reflect.Struct
}

// decodeProblem drops err: its text can quote what the caller sent.
func decodeProblem(err error) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return Errorf(BadRequest, "The request is not valid JSON.")
	}
	problem := "has the wrong type"
	if errors.Is(err, json.ErrUnknownName) {
		problem = "is not known here"
	}
	return badField(semantic.JSONPointer, problem)
}

func badField(pointer jsontext.Pointer, problem string) error {
	return BadFields(Field{Field: fieldName(pointer), Problem: problem})
}

// plainName is a name that can be shown in a message whoever chose it.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// fieldName turns a JSON pointer into the dotted form that errors use.
func fieldName(pointer jsontext.Pointer) string {
	var names []string
	for name := range pointer.Tokens() {
		if !plainName.MatchString(name) {
			name = "(unusual name)"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "(body)"
	}
	return strings.Join(names, ".")
}

// checkJSON walks the tokens once, before anything is built from them.
func checkJSON(data []byte, object bool) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return tokenProblem(decoder, err)
		}
		if object && token.Kind() == 'n' && decoder.StackDepth() == 0 {
			return badField("", "must be an object")
		}
		if decoder.StackDepth() > MaxJSONDepth {
			return Errorf(BadRequest, "The request is nested deeper than %d levels.", MaxJSONDepth)
		}
		if token.Kind() == '0' && !SafeNumber(token.String()) {
			return badField(decoder.StackPointer(), "is a number too large or too long to be kept exactly")
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
		return badField(decoder.StackPointer(), "appears twice")
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Errorf(BadRequest, "The request ends before its JSON value does.")
	}
	return Errorf(BadRequest, "The request is not valid JSON after byte %d.", decoder.InputOffset())
}
