package main

import (
	"io"
	"testing"

	"go.uber.org/fx"
)

func Example() {
	main()
	// Output:
	// first sign-up: a user needs a name
	// mail to ann: welcome
	// mail to ann: farewell
	// 1 user, 2 jobs
}

func TestTheAppIsWiredRight(t *testing.T) {
	if err := fx.ValidateApp(app("app.db", io.Discard), fx.Invoke(func(*Signup) {})); err != nil {
		t.Error(err)
	}
}
