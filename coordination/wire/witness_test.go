package wire_test

import (
	"strings"
	"testing"

	"agentlink/coordination/wire"
)

func TestHeadValid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		head wire.Head
		want bool
	}{
		{wire.Head{N: 1, Seal: "x"}, true},
		{wire.Head{N: 1 << 52, Seal: strings.Repeat("x", 512)}, true},
		{wire.Head{N: 0, Seal: "x"}, false},
		{wire.Head{N: -1, Seal: "x"}, false},
		{wire.Head{N: 1}, false},
		{wire.Head{N: 1, Seal: strings.Repeat("x", 513)}, false},
	} {
		if got := tt.head.Valid(); got != tt.want {
			t.Errorf("%+v: %v", tt.head, got)
		}
	}
}

func TestWitnessRequestValid(t *testing.T) {
	t.Parallel()
	good := wire.WitnessRequest{V: 1, Iss: "ben@peer.example", Aud: "ana@home.example", JTI: jti, Iat: 10, Exp: 20}
	if !good.Valid() {
		t.Fatalf("%+v", good)
	}
	for name, change := range map[string]func(*wire.WitnessRequest){
		"version":            func(r *wire.WitnessRequest) { r.V = 0 },
		"no sender":          func(r *wire.WitnessRequest) { r.Iss = "" },
		"sender in capitals": func(r *wire.WitnessRequest) { r.Iss = "Ben@peer.example" },
		"no recipient":       func(r *wire.WitnessRequest) { r.Aud = "home.example" },
		"to itself":          func(r *wire.WitnessRequest) { r.Aud = r.Iss },
		"no id":              func(r *wire.WitnessRequest) { r.JTI = "" },
		"no time":            func(r *wire.WitnessRequest) { r.Iat = 0 },
		"ends as it begins":  func(r *wire.WitnessRequest) { r.Exp = r.Iat },
	} {
		r := good
		if change(&r); r.Valid() {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
