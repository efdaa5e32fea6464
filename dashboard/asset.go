package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"agentlink/dashboard/view"
)

func isAsset(path string) bool { return strings.HasPrefix(path, "/assets/") }

// serveAsset serves a file whose address changes with its content.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	asset, ok := view.Assets[r.URL.Path]
	if !ok || (r.Method != http.MethodGet && r.Method != http.MethodHead) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", asset.Type)
	w.Header().Set("Content-Length", strconv.Itoa(len(asset.Data)))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	if r.Method == http.MethodGet {
		_, _ = w.Write(asset.Data)
	}
}
