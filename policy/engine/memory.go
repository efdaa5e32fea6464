package engine

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"agentlink/policy"
)

// What is remembered at most. A grant takes about 2 KiB.
const (
	maxGrants  = 10_000 // in all rule sets together
	maxAnswers = 4_096
	// maxOverlays is how many compiled texts of the owner's are kept.
	maxOverlays = 8
)

// memory keeps rules and answers that were used lately. Nothing in it goes
// stale: each key names the revision of the rules.
type memory struct {
	sets    *recent[revision, *ruleSet]
	decided *recent[answerKey, []policy.Answer]
	// narrowed are the words of the owner's own rules.
	narrowed *recent[answerKey, []policy.Outcome]
}

// revision names one state of an agent's rules. The stamp tells apart two changes
// that took the same number, of which one was rolled back.
type revision struct {
	agentID string
	rev     int64
	stamp   string
	overlay string
}

func newMemory() *memory {
	return &memory{sets: newRecent[revision, *ruleSet](maxGrants), decided: newRecent[answerKey, []policy.Answer](maxAnswers), narrowed: newRecent[answerKey, []policy.Outcome](maxAnswers)}
}

func revisionOf(s policy.Standing) revision {
	return revision{s.AgentID, s.RulesRev, s.RulesStamp, s.Overlay}
}

func (m *memory) rules(standing policy.Standing, now time.Time) (*ruleSet, bool) {
	set, found := m.sets.get(revisionOf(standing))
	return set, found && set.covers(now)
}

func (m *memory) keepRules(set *ruleSet) {
	m.sets.put(revisionOf(set.standing), set, 1+len(set.live))
}

// answers gives a copy, which its caller may change.
func (m *memory) answers(key answerKey) ([]policy.Answer, bool) {
	answers, found := m.decided.get(key)
	return slices.Clone(answers), found
}

func (m *memory) keepAnswers(key answerKey, answers []policy.Answer) {
	m.decided.put(key, slices.Clone(answers), 1)
}

// recent holds values up to a total cost and forgets those that were not used
// for longest. The latest stays whatever it costs.
type recent[K comparable, V any] struct {
	mu      sync.Mutex
	limit   int
	cost    int
	entries map[K]*list.Element
	order   *list.List // the latest in front
}

type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int
}

func newRecent[K comparable, V any](limit int) *recent[K, V] {
	return &recent[K, V]{limit: limit, entries: map[K]*list.Element{}, order: list.New()}
}

func (r *recent[K, V]) get(key K) (value V, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	element, found := r.entries[key]
	if !found {
		return value, false
	}
	r.order.MoveToFront(element)
	return element.Value.(*entry[K, V]).value, true
}

func (r *recent[K, V]) put(key K, value V, cost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if element, found := r.entries[key]; found {
		r.drop(element)
	}
	r.entries[key] = r.order.PushFront(&entry[K, V]{key, value, cost})
	r.cost += cost
	for r.cost > r.limit && r.order.Len() > 1 {
		r.drop(r.order.Back())
	}
}

func (r *recent[K, V]) drop(element *list.Element) {
	e := r.order.Remove(element).(*entry[K, V])
	delete(r.entries, e.key)
	r.cost -= e.cost
}
