package memstore

import (
	"iter"
	"math/rand/v2"
)

// index keeps rows in an order: a treap, a search tree that random ranks keep
// balanced. What the order looks at must not change while a row is in it, and
// nothing may be added or removed while it is walked.
type index struct {
	order func(a, b *row) int
	root  *node
	size  int
}

type node struct {
	row         *row
	rank        uint64 // no node below has a greater one
	left, right *node
}

// add puts in a row that is not there.
func (x *index) add(r *row) {
	left, right := x.split(x.root, r)
	x.root = merge(merge(left, &node{row: r, rank: rand.Uint64()}), right)
	x.size++
}

// remove takes out a row that is there.
func (x *index) remove(r *row) {
	at := &x.root
	for *at != nil {
		switch c := x.order(r, (*at).row); {
		case c < 0:
			at = &(*at).left
		case c > 0:
			at = &(*at).right
		default:
			*at = merge((*at).left, (*at).right)
			x.size--
			return
		}
	}
}

// first is the least row, nil where there is none.
func (x *index) first() *row {
	if x == nil || x.root == nil {
		return nil
	}
	n := x.root
	for n.left != nil {
		n = n.left
	}
	return n.row
}

// up walks from the least row on.
func (x *index) up() iter.Seq[*row] {
	return func(yield func(*row) bool) { x.root.up(yield) }
}

// down walks from the greatest row on, or from the greatest below the limit if one is given.
func (x *index) down(limit *row) iter.Seq[*row] {
	return func(yield func(*row) bool) { x.walkDown(x.root, limit, yield) }
}

func (n *node) up(yield func(*row) bool) bool {
	return n == nil || n.left.up(yield) && yield(n.row) && n.right.up(yield)
}

func (x *index) walkDown(n *node, limit *row, yield func(*row) bool) bool {
	switch {
	case n == nil:
		return true
	case limit != nil && x.order(n.row, limit) >= 0:
		return x.walkDown(n.left, limit, yield)
	}
	return x.walkDown(n.right, limit, yield) && yield(n.row) && x.walkDown(n.left, nil, yield)
}

// split parts a tree into what is before the row and what is after it.
func (x *index) split(n *node, r *row) (left, right *node) {
	if n == nil {
		return nil, nil
	}
	if x.order(n.row, r) < 0 {
		n.right, right = x.split(n.right, r)
		return n, right
	}
	left, n.left = x.split(n.left, r)
	return left, n
}

// merge joins two trees, all of the first being before all of the second.
func merge(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.rank > b.rank:
		a.right = merge(a.right, b)
		return a
	}
	b.left = merge(a, b.left)
	return b
}
