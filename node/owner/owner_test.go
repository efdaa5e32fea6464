package owner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	b, service := setup(t)
	owner, err := service.Owner(nil)
	if err != nil || owner.Name != "Ada" || !node.ValidID(owner.ID) || owner.CreatedAt != b.clock.Now() {
		t.Fatalf("%+v, %v", owner, err)
	}
	row := b.state.rows[0]
	if row.Type != audit.OwnerCreated || row.OwnerID != owner.ID || row.Via != actor.Via || row.Subject != owner.ID || strings.Contains(string(row.Data), "Ada") {
		t.Errorf("audit row %+v", row)
	}
	before := b.state.clone()
	err = b.InTx(t.Context(), func(tx node.Tx) error {
		_, err := service.Create(tx, actor, "Eve", hashed("another password", cheap))
		return err
	})
	if node.CodeOf(err) != node.Conflict {
		t.Errorf("a second owner: %v", err)
	}
	if diff := cmp.Diff(before.owner, b.state.owner); diff != "" || before.hash != b.state.hash || len(b.state.rows) != 1 {
		t.Errorf("the second changed something: %s", diff)
	}
}

func TestCreateRefusesNames(t *testing.T) {
	t.Parallel()
	b, service := empty()
	for _, name := range []string{"", "  \t", strings.Repeat("a", MaxNameChars+1), "\xff"} {
		err := b.InTx(t.Context(), func(tx node.Tx) error {
			_, err := service.Create(tx, actor, name, Password{phc: "x"})
			return err
		})
		if node.CodeOf(err) != node.BadRequest {
			t.Errorf("%q: %v", name, err)
		}
	}
	if b.state.owner != nil || len(b.state.rows) != 0 {
		t.Error("something was stored")
	}
	if _, err := service.Owner(nil); node.CodeOf(err) != node.NotFound {
		t.Errorf("no owner: %v", err)
	}
}

func TestSetPassword(t *testing.T) {
	t.Parallel()
	b, service := setup(t)
	password := hashed("a new password, longer", cheap)
	if err := b.InTx(t.Context(), func(tx node.Tx) error { return service.SetPassword(tx, actor, password) }); err != nil {
		t.Fatal(err)
	}
	if err := service.CheckPassword(t.Context(), actor, "a new password, longer"); err != nil {
		t.Errorf("the new one: %v", err)
	}
	if err := service.CheckPassword(t.Context(), actor, rightPassword); node.CodeOf(err) != node.Unauthorized {
		t.Errorf("the old one: %v", err)
	}
	if diff := cmp.Diff([]audit.Type{audit.OwnerCreated, audit.OwnerPasswordSet, audit.OwnerAuthFailed}, b.types()); diff != "" {
		t.Error(diff)
	}
	none, without := empty()
	if err := none.InTx(t.Context(), func(tx node.Tx) error { return without.SetPassword(tx, actor, password) }); node.CodeOf(err) != node.NotFound {
		t.Errorf("without an owner: %v", err)
	}
}

// A change without its audit row does not happen.
func TestOwnerChangesNeedTheirAuditRow(t *testing.T) {
	t.Parallel()
	b, service := setup(t)
	before := b.state.clone()
	b.fails = "AppendAudit"
	err := b.InTx(t.Context(), func(tx node.Tx) error { return service.SetPassword(tx, actor, Password{phc: "x"}) })
	if node.CodeOf(err) != node.Unavailable || b.state.hash != before.hash {
		t.Errorf("the password was set: %v", err)
	}
	none, without := empty()
	none.fails = "AppendAudit"
	err = none.InTx(t.Context(), func(tx node.Tx) error {
		_, err := without.Create(tx, actor, "Ada", Password{phc: "x"})
		return err
	})
	if node.CodeOf(err) != node.Unavailable || none.state.owner != nil {
		t.Errorf("an owner was made: %v", err)
	}
}
