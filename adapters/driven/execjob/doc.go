// Package execjob is the built-in kind "exec": one command a job.
//
// Args are a JSON object: command, and if wanted args, dir, env, stdin and
// timeout. There is no shell between. The command leads a process group of its
// own, which is killed whole when the attempt ends early. It sees only the
// environment in env and what a program needs to find its way (PATH, HOME,
// locale, zone), not that of the runner, which may hold secrets.
//
// Whoever can enqueue can run anything with it, so a runner has this kind only
// where its operator says so. It may import domain and ports/driven and must
// not know who stores or runs the job. Its errors hold the exit code and the
// end of the output, and nothing of the args.
package execjob
