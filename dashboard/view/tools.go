package view

// ToolsForm chooses which groups of tools an agent sees over MCP.
type ToolsForm struct {
	URL, CSRF string
	Groups    []ToolGroup
}

// ToolGroup is one of them.
type ToolGroup struct {
	Value, Name string
	Means       string // what its tools do
	Chosen      bool
}
