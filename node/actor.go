package node

// ActorKind says who caused a change.
type ActorKind string

// The kinds of actor.
const (
	ActorAgent ActorKind = "agent" // one of the owner's agents, by its token
	ActorOwner ActorKind = "owner" // the owner, by password, session or socket
	ActorPeer  ActorKind = "peer"  // another node, by its signature
	ActorNode  ActorKind = "node"  // the node itself: expiry, delivery, recovery
)

// Actor is who causes a change; it stands in the audit log.
type Actor struct {
	Kind    ActorKind
	OwnerID string
	// AgentID is the agent that acts, or for the owner the agent acted upon.
	AgentID string
	// Via tells how an owner came: "uid=1000 pid=4711" for the socket.
	Via string
}
