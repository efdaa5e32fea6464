package main

import (
	"cmp"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agentlink/node"
	"agentlink/node/config"
	"agentlink/node/hookup"
	"agentlink/policy"
)

// hookupFlags are what hookup wants to know.
type hookupFlags struct {
	url, name, keyFile, file, folder string
	http, write, remove, skill       bool
}

const hookupHelp = `Print what a client of the Model Context Protocol needs in order to work with the
node as AGENT, or with --write put it into the client's settings. Run it as the user
that the client runs as; it needs no running node and not its owner.

The client starts "agentlink mcp" and reads the agent's key from a file that only
its user may read. --write asks for the key on the terminal, or takes it from
--key-file, and keeps it in the user's settings folder; never in the client's
settings, nor on a command line. With --http the client is given the node's address
alone, and signs in through the browser: nothing secret stands anywhere.

AGENT is a handle or a whole address. --write keeps a copy of the file next to it,
leaves everything else in it as it is, and does nothing where all is right already.
A file with comments, or one that cannot be read, is left as it is: the lines to add
by hand are printed instead. --remove takes the server out again.`

func (c *cli) hookup() *cobra.Command {
	var flags hookupFlags
	command := &cobra.Command{
		Use: "hookup CLIENT AGENT", Short: "Hook a client up to the node: Claude Code, Codex, VS Code and others",
		Args: args("CLIENT", "AGENT"), Long: hookupHelp + "\n\nCLIENT is one of:\n" + clientList(), ValidArgs: hookup.Names(),
		Example: `  agentlink hookup claude-code scout
  agentlink hookup claude-code scout@node.example --url https://node.example --http --write --skill
  agentlink hookup codex scout --write --key-file scout.key
  agentlink hookup codex scout --remove`,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := c.hookupJob(cmd, flags, args[0], args[1])
			if err != nil {
				return err
			}
			return j.run()
		},
	}
	command.Flags().StringVar(&flags.url, "url", "", "address of the node (default $"+nodeURLName+", else http://"+config.DefaultListen+")")
	command.Flags().StringVar(&flags.name, "name", hookup.DefaultName, "what the client calls the node; needs another one for a second agent")
	command.Flags().StringVar(&flags.keyFile, "key-file", "", `take the agent's key from this file, which only you may read ("-": standard input)`)
	command.Flags().StringVar(&flags.file, "file", "", "the client's file of settings, where it is not the usual one")
	command.Flags().StringVar(&flags.folder, "config-dir", "", "folder of the client's file of settings, where it is not the usual one")
	command.Flags().BoolVar(&flags.http, "http", false, "give the client the address alone; it signs in through the browser")
	command.Flags().BoolVar(&flags.write, "write", false, "write it into the client's settings")
	command.Flags().BoolVar(&flags.remove, "remove", false, "take it out of the client's settings")
	command.Flags().BoolVar(&flags.skill, "skill", false, "with --write: install the skill too, where the client has a place for skills")
	return command
}

func clientList() string {
	var lines []string
	for _, client := range hookup.Clients() {
		lines = append(lines, "  "+client.Name+strings.Repeat(" ", 16-len(client.Name))+client.Title)
	}
	return strings.Join(lines, "\n")
}

// hookupJob is one run of hookup.
type hookupJob struct {
	*cli
	flags   hookupFlags
	client  hookup.Client
	machine hookup.Machine
	address string // of the agent
	server  hookup.Server
	file    string // the client's; "" where it has no usual place
}

func (c *cli) hookupJob(cmd *cobra.Command, flags hookupFlags, name, agent string) (*hookupJob, error) {
	j := &hookupJob{cli: c, flags: flags}
	var known bool
	if j.client, known = hookup.Find(name); !known {
		return nil, usage(cmd, "there is no client %q; there are %s", name, strings.Join(hookup.Names(), ", "))
	}
	if err := flags.fit(cmd); err != nil {
		return nil, err
	}
	where, host, err := nodeAddress(c.nodeURL(flags.url))
	if err != nil {
		return nil, err
	}
	if j.address = agent; !strings.Contains(agent, "@") {
		j.address = agent + "@" + host
	}
	if _, err := node.ParseAddress(j.address); err != nil {
		return nil, usage(cmd, "%q is no agent: give a handle, or handle@host", agent)
	}
	if j.machine, err = hookup.ThisMachine(); err != nil {
		return nil, unsafe("Your home folder is not known: %v", err)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, unsafe("This program's own place is not known: %v", err)
	}
	j.server = hookup.Server{
		Name: flags.name, URL: where, HTTP: flags.http, Command: program, KeyFile: hookup.KeyFile(j.machine, j.address),
	}
	return j, j.place()
}

// fit says which flags do not go together.
func (f hookupFlags) fit(cmd *cobra.Command) error {
	switch {
	case f.write && f.remove:
		return usage(cmd, "--write and --remove do not go together")
	case f.file != "" && f.folder != "":
		return usage(cmd, "--file and --config-dir do not go together")
	case f.http && f.keyFile != "":
		return usage(cmd, "--http needs no key: --key-file does not go with it")
	case f.skill && !f.write:
		return usage(cmd, "--skill goes with --write")
	case !hookup.ValidName(f.name):
		return usage(cmd, "--name takes letters, digits, - and _")
	}
	return nil
}

// nodeAddress reads a node's address, without a path.
func nodeAddress(text string) (where, host string, err error) {
	parsed, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.User != nil ||
		strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return "", "", unsafe("--url takes the node's address without a path, such as https://node.example or http://%s.", config.DefaultListen)
	}
	return parsed.Scheme + "://" + parsed.Host, strings.ToLower(parsed.Host), nil
}

// place finds the client's file of settings.
func (j *hookupJob) place() error {
	j.file = j.client.File(j.machine)
	switch {
	case j.flags.file != "":
		j.file = j.flags.file
	case j.flags.folder != "":
		j.file = j.client.FileIn(j.flags.folder)
	}
	if j.file == "" && (j.flags.write || j.flags.remove) {
		return unsafe("%s has no usual place for its settings: name the file with --file.", j.client.Title)
	}
	if j.file == "" {
		return nil
	}
	absolute, err := filepath.Abs(j.file)
	if err != nil {
		return unsafe("The file of settings cannot be found: %v", err)
	}
	j.file = absolute
	return nil
}

func (j *hookupJob) run() error {
	switch {
	case j.flags.remove:
		return j.removed()
	case j.flags.write:
		return j.written()
	}
	return j.told()
}

// hookupAnswer is what hookup tells programs.
type hookupAnswer struct {
	Client  string          `json:"client"`
	Agent   string          `json:"agent"`
	File    string          `json:"file,omitempty"`
	Change  hookup.Change   `json:"change,omitempty"`
	Backup  string          `json:"backup,omitempty"`
	KeyFile string          `json:"keyFile,omitempty"`
	Key     hookup.Change   `json:"key,omitempty"`
	Skill   *hookup.Written `json:"skill,omitempty"`
	Steps   []hookup.Step   `json:"steps,omitempty"`
}

func (j *hookupJob) answer() hookupAnswer {
	return hookupAnswer{Client: j.client.Name, Agent: j.address, File: j.file}
}

// told prints what a person has to do.
func (j *hookupJob) told() error {
	answer := j.answer()
	answer.Steps = j.client.Steps(j.server, cmp.Or(j.file, j.client.Where))
	if !j.flags.http {
		answer.KeyFile = j.server.KeyFile
	}
	return j.print(answer, func() {
		j.say("%s, as %s", j.client.Title, j.address)
		for _, step := range answer.Steps {
			j.say("\n%s", step.Text)
			if step.Lines != "" {
				j.say("\n  %s", strings.ReplaceAll(step.Lines, "\n", "\n  "))
			}
		}
		if !j.flags.http {
			j.say("\nThe agent's key belongs into %s, with mode 0600.\n--write puts it there, and the lines into their place.", j.server.KeyFile)
		}
	})
}

// written hooks the client up. The settings come first: where they are left as
// they are, no key is kept.
func (j *hookupJob) written() error {
	if !j.client.Takes(j.server) {
		step := j.client.Steps(j.server, "")[0]
		return unsafe("%s takes no address from its file of settings. %s\n\n  %s", j.client.Title, step.Text, step.Lines)
	}
	key, err := j.key()
	if err != nil {
		return err
	}
	answer := j.answer()
	done, err := j.client.Add(j.file, j.server, j.clock.Now())
	if err != nil {
		return settingsProblem(err)
	}
	answer.Change, answer.Backup = done.Change, done.Backup
	if !j.flags.http {
		answer.KeyFile, answer.Key = j.server.KeyFile, hookup.Unchanged
	}
	if key != "" {
		if answer.Key, err = hookup.StoreKey(j.server.KeyFile, key); err != nil {
			return settingsProblem(err)
		}
	}
	if j.flags.skill {
		if answer.Skill, err = j.installSkill(); err != nil {
			return err
		}
	}
	return j.print(answer, func() { j.showWritten(answer) })
}

func settingsProblem(err error) error {
	var left *hookup.ByHand
	if errors.As(err, &left) {
		return unsafe("%s", left.Error())
	}
	return unsafe("%v", err)
}

// key asks for the agent's key. It is "" where none is needed, or where it is kept
// already.
func (j *hookupJob) key() (key string, err error) {
	if j.flags.http {
		return "", nil
	}
	switch _, gone := os.Stat(j.server.KeyFile); {
	case j.flags.keyFile != "":
		key, err = j.secretFrom(j.flags.keyFile)
	case gone == nil:
		key, err = j.secretFrom(j.server.KeyFile)
	default:
		key, err = j.readSecret("Key of "+j.address+" (it is not shown): ", "There is no terminal to ask for the agent's key on: use --key-file, or --http.")
	}
	if err == nil && !policy.IsKey(strings.TrimSpace(key)) {
		return "", unsafe("This is not an agent's key: one begins with alk_. A new one: agentlink agent key HANDLE")
	}
	return strings.TrimSpace(key), err
}

func (j *hookupJob) installSkill() (*hookup.Written, error) {
	file := j.client.SkillFile(j.machine)
	if file == "" {
		return nil, nil //nolint:nilnil // there is no skill and nothing wrong
	}
	done, err := hookup.AddSkill(file, j.clock.Now())
	if err != nil {
		return nil, settingsProblem(err)
	}
	return &done, nil
}

func (j *hookupJob) showWritten(answer hookupAnswer) {
	what := map[hookup.Change]string{
		hookup.Added: "now works", hookup.Replaced: "now works", hookup.Unchanged: "works already",
	}
	j.say("%s %s with the node as %s.", j.client.Title, what[answer.Change], answer.Agent)
	facts := []string{"Settings", answer.File + " (" + string(answer.Change) + ")", "Copy of before", answer.Backup}
	if answer.KeyFile != "" {
		facts = append(facts, "Key", answer.KeyFile+" ("+string(answer.Key)+")")
	}
	if answer.Skill != nil {
		facts = append(facts, "Skill", answer.Skill.File+" ("+string(answer.Skill.Change)+")", "Copy of before", answer.Skill.Backup)
	}
	j.facts(facts...)
	if j.flags.skill && answer.Skill == nil {
		j.say("It has no place for skills: agentlink skill prints the text.")
	}
	if after := j.client.After(j.server); after != "" {
		j.say("%s", after)
	}
}

func (j *hookupJob) removed() error {
	answer := j.answer()
	done, err := j.client.Remove(j.file, j.flags.name, j.clock.Now())
	if err != nil {
		return settingsProblem(err)
	}
	answer.Change, answer.Backup = done.Change, done.Backup
	if _, err := os.Stat(j.server.KeyFile); err == nil {
		answer.KeyFile, answer.Key = j.server.KeyFile, hookup.Unchanged
	}
	return j.print(answer, func() {
		if answer.Change == hookup.Unchanged {
			j.say("There is no server %s in %s.", j.flags.name, j.file)
		} else {
			j.say("%s no longer works with the node.", j.client.Title)
			j.facts("Settings", j.file+" (removed)", "Copy of before", answer.Backup)
		}
		if answer.KeyFile != "" {
			j.say("The key is kept for other clients in %s: delete it if there is none.", answer.KeyFile)
		}
	})
}

func (c *cli) skill() *cobra.Command {
	return &cobra.Command{
		Use: "skill", Short: "Print a text that tells an agent how to behave with AgentLink", Args: args(),
		Long: `Print a skill: a short text for a model, with the front matter that Claude Code,
Codex, OpenClaw and others read. It goes into a folder of its own, as SKILL.md, where
the client looks for skills; "agentlink hookup CLIENT AGENT --write --skill" puts it there.`,
		Example: "  agentlink skill > SKILL.md",
		RunE: func(_ *cobra.Command, _ []string) error {
			return c.print(map[string]string{"name": hookup.DefaultName, "text": hookup.Skill}, func() {
				c.say("%s", strings.TrimSuffix(hookup.Skill, "\n"))
			})
		},
	}
}
