package oauth_test

import "time"

// noon is when every node of these tests begins.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
