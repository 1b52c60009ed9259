package main

func Example() {
	main()
	// Output:
	// enqueue: inserted
	// enqueue: existing
	// user 42: the mail server is busy
	// user 42: welcome! (attempt 2)
	// user 42: how was it?
	// 2 jobs done
}
