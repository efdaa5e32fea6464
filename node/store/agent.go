package store

import (
	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/policy"
)

var _ policy.Store = (*Store)(nil)

const agentColumns = `id, owner_id, handle, name, mode, status, key_hash, key_generation, rules_rev, rules_stamp, tools, created_at`

func agentPlace(a policy.Agent) seal.Place {
	return seal.Place{Table: "agents", Column: "name", Row: a.ID, Owner: a.OwnerID}
}

// InsertAgent implements policy.Store.
func (s *Store) InsertAgent(tx node.Tx, a policy.Agent) (fresh bool, err error) {
	name := s.seal(agentPlace(a), []byte(a.Name))
	rows, err := s.exec(tx, `INSERT INTO agents (`+agentColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (handle) DO NOTHING`,
		a.ID, a.OwnerID, a.Handle, name, a.Mode, a.Status, a.KeyHash, a.KeyGeneration, a.RulesRev, a.RulesStamp, policy.JoinTools(a.Tools), micros(a.CreatedAt))
	return rows == 1, err
}

// AgentByID implements policy.Store.
func (s *Store) AgentByID(tx node.Tx, id string) (policy.Agent, error) {
	return first(s.agents(tx, `SELECT `+agentColumns+` FROM agents WHERE id = $1`, id))
}

// AgentByHandle implements policy.Store.
func (s *Store) AgentByHandle(tx node.Tx, handle string) (policy.Agent, error) {
	return first(s.agents(tx, `SELECT `+agentColumns+` FROM agents WHERE handle = $1`, handle))
}

// AgentByClient implements policy.Store.
func (s *Store) AgentByClient(tx node.Tx, client string) (policy.Agent, error) {
	return first(s.agents(tx, `SELECT `+agentColumns+` FROM agents WHERE id = $1
		UNION ALL SELECT `+agentColumns+` FROM agents WHERE handle = $2`, client, client))
}

// AgentByKeyHash implements policy.Store.
func (s *Store) AgentByKeyHash(tx node.Tx, keyHash string) (policy.Agent, error) {
	return first(s.agents(tx, `SELECT `+agentColumns+` FROM agents WHERE key_hash = $1`, keyHash))
}

// Agents implements policy.Store.
func (s *Store) Agents(tx node.Tx) ([]policy.Agent, error) {
	return s.agents(tx, `SELECT `+agentColumns+` FROM agents ORDER BY handle`)
}

// RaiseRules implements policy.Store.
func (s *Store) RaiseRules(tx node.Tx, agentID, stamp string) (policy.Agent, error) {
	return first(s.agents(tx, `UPDATE agents SET rules_rev = rules_rev + 1, rules_stamp = $1 WHERE id = $2
		RETURNING `+agentColumns, stamp, agentID))
}

// SaveAgent implements policy.Store.
func (s *Store) SaveAgent(tx node.Tx, a policy.Agent) error {
	return changed(s.exec(tx, `UPDATE agents SET mode = $1, status = $2, tools = $3 WHERE id = $4`, a.Mode, a.Status, policy.JoinTools(a.Tools), a.ID))
}

// ReplaceAgentKey implements policy.Store.
func (s *Store) ReplaceAgentKey(tx node.Tx, agentID, keyHash string) (policy.Agent, error) {
	return first(s.agents(tx, `UPDATE agents SET key_hash = $1, key_generation = key_generation + 1 WHERE id = $2
		RETURNING `+agentColumns, keyHash, agentID))
}

func (s *Store) agents(tx node.Tx, query string, args ...any) ([]policy.Agent, error) {
	var list []policy.Agent
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		var a policy.Agent
		var name []byte
		var tools string
		var created int64
		err := scan(&a.ID, &a.OwnerID, &a.Handle, &name, &a.Mode, &a.Status, &a.KeyHash, &a.KeyGeneration, &a.RulesRev, &a.RulesStamp, &tools, &created)
		if err != nil {
			return err
		}
		a.Tools, a.CreatedAt = policy.SplitTools(tools), timeOf(created)
		plain, err := s.open(agentPlace(a), name)
		a.Name = string(plain)
		list = append(list, a)
		return err
	})
	return list, err
}
