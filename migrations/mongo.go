package migrations

import (
	"embed"
	"io/fs"
)

//go:embed mongo/*.json
var mongoFiles embed.FS

// Mongo are the steps for MongoDB: the same numbers, each file a JSON array of
// database commands (NNNN_name.up.json, NNNN_name.down.json).
func Mongo() fs.FS { return sub(mongoFiles, "mongo") }
