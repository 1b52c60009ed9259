package architecture

import (
	"os"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

// theTree and theGraph are read once: a second run over them changes nothing.
var (
	theTree  = sync.OnceValues(func() (*Tree, error) { return Load(os.DirFS(root)) })
	theGraph = sync.OnceValues(func() (Graph, error) { return LoadGraph(root) })
)

func loaded(t *testing.T) (*Tree, Graph) {
	t.Helper()
	tree, err := theTree()
	if err != nil {
		t.Fatal(err)
	}
	graph, err := theGraph()
	if err != nil {
		t.Fatal(err)
	}
	return tree, graph
}

func TestTheHouse(t *testing.T) {
	tree, graph := loaded(t)
	for _, v := range Check(tree, graph, TheHouse()) {
		t.Error(v)
	}
	if n := len(tree.Files); n < 50 || !strings.HasSuffix(tree.Module, "/rowlock") {
		t.Errorf("only %d files of %s were judged", n, tree.Module)
	}
}
