package view

// Option is one entry of a choice. Its text may be an agent's or a peer's: an
// option holds no markup, so that it is escaped, and said to be mixed in words.
type Option struct {
	Value, Text string
	Group       string // "" outside of groups; entries of a group stand together
}

func (o Option) text() string {
	if mixedScripts(o.Text) {
		return shown(o.Text) + " (mixed scripts)"
	}
	return shown(o.Text)
}

// optionGroup is options that stand together.
type optionGroup struct {
	Name    string
	Options []Option
}

func pickGroups(options []Option) []optionGroup {
	var groups []optionGroup
	for _, o := range options {
		if len(groups) == 0 || groups[len(groups)-1].Name != o.Group {
			groups = append(groups, optionGroup{Name: o.Group})
		}
		last := &groups[len(groups)-1]
		last.Options = append(last.Options, o)
	}
	return groups
}
