package oauth

// What the tests of the package's users need of its inside.
var (
	ReadMetadata     = readMetadata
	ReadDocument     = readDocument
	CheckDocumentURL = checkDocumentURL
)

// Matches is matches.
func (c Client) Matches(redirect string) bool { return c.matches(redirect) }
