package view

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MessagesPage lists threads, or with a Status the messages that did not arrive.
type MessagesPage struct {
	Frame   Frame
	Status  string // "" for threads
	Threads []ThreadRow
	Unsent  []UnsentRow
	Older   string
}

// ThreadRow is a contact's thread in a list, with its latest message.
type ThreadRow struct {
	URL, Contact, Agent string
	From                string // "you", or whoever wrote it
	Text                string
	Meaning             Meaning
	Word                string // "" where nothing has to be said
	At                  time.Time
}

// UnsentRow is a message of ours that waits, was rejected or failed.
type UnsentRow struct {
	URL  string
	What Sentence
	Why  string
	At   time.Time
}

// ThreadPage is everything that was said over a connection, the latest last.
type ThreadPage struct {
	Frame              Frame
	ID, Contact, Agent string
	ContactURL         string
	Meaning            Meaning
	Word               string
	Items              []ThreadItem
	Older              string
	Open               bool   // the owner can write
	Text               string // that was typed and did not do
	Earlier            []ContactRow
}

// ThreadItem is one message: what somebody wrote (Text), or what happened (What).
type ThreadItem struct {
	Ours    bool
	From    string
	ByOwner bool
	Text    string
	What    Sentence
	Quote   string // free text that came with what happened
	URL     string // of the task or approval that it belongs to
	URLName string
	Meaning Meaning
	Word    string
	Why     string
	At      time.Time
}

// messageStatuses are the lists of messages, with their names.
var messageStatuses = []struct{ Status, Name string }{
	{"", "Threads"}, {"pending_approval", "Waiting for you"}, {"failed", "Failed"}, {"rejected", "Rejected"},
}

func messagesURL(status string) string {
	if status == "" {
		return "/messages"
	}
	return "/messages?status=" + status
}

// excerptLength is how many characters of a message a list shows.
const excerptLength = 140

// excerpt is the beginning of a text, and how many characters follow.
func excerpt(text string) (start string, more int) {
	length := utf8.RuneCountInString(text)
	if length <= excerptLength {
		return text, 0
	}
	return string([]rune(text)[:excerptLength]), length - excerptLength
}

// line is a line of a text, or a run of empty ones.
type line struct {
	text  string
	empty int
}

// maxEmpty is how many empty lines in a row are shown as they are.
const maxEmpty = 2

// textLines parts a text into its lines. Empty lines beyond a few are counted
// instead, so that a text cannot push what follows it out of sight.
func textLines(text string) []line {
	var lines []line
	empty := 0
	flush := func() {
		for ; empty > 0 && empty <= maxEmpty; empty-- {
			lines = append(lines, line{})
		}
		if empty > 0 {
			lines = append(lines, line{empty: empty})
		}
		empty = 0
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if strings.TrimSpace(part) == "" {
			empty++
			continue
		}
		flush()
		lines = append(lines, line{text: part})
	}
	flush()
	return lines
}

func emptyLines(count int) string { return "(" + strconv.Itoa(count) + " empty lines)" }

func moreCharacters(count int) string { return "… " + strconv.Itoa(count) + " more characters" }
