package bunstore

type scheduleTexts struct {
	guard, owned, lock, add, set, remove, // declarations
	first, later, due, // what is due
	move, fire, breaks, // ticks
	pause, one Stmt
	list [2]Stmt // of one tenant; of those behind it
}

const scheduleColumns = "j.tenant, j.name, j.namespace, j.kind, j.cron, j.zone, j.every, j.missed, j.most, j.job, j.paused, j.broken, " +
	"j.next_at, j.last_at, j.last_job, j.skipped, j.rev, j.created_at, j.updated_at"

var (
	schedKeyCols = []Col{{"tenant", ColText}, {"name", ColText}}
	schedCols    = append(schedKeyCols[:2:2], []Col{
		{"namespace", ColText}, {"kind", ColText}, {"cron", ColText}, {"zone", ColText}, {"every", ColInt},
		{"missed", ColInt}, {"most", ColInt}, {"job", ColText}, {"paused", ColInt}, {"afresh", ColInt},
	}...)
	tickCols  = append(schedKeyCols[:2:2], Col{"next_at", ColInt}, Col{"skipped", ColInt}, Col{"last_at", ColInt}, Col{"last_job", ColID})
	breakCols = append(schedKeyCols[:2:2], Col{"broken", ColText})
	pauseCols = append(schedKeyCols[:2:2], Col{"paused", ColInt})
)

const schedMatch = "j.tenant = o.tenant AND j.name = o.name"

func newScheduleTexts(d *Dialect) scheduleTexts {
	c, table, now := d.Marks.Compile, d.Table("schedules"), d.Words.Now
	update := func(cols []Col, set ...Assign) Stmt {
		return c(d.Forms.Update(Update{Table: table, From: d.Words.Rows("$2", cols), Where: schedMatch, Set: set}))
	}
	keyed := func(columns string, lock Lock) Stmt {
		return c(d.Forms.Select(Select{Columns: columns, From: table, Join: d.Words.Rows("$2", schedKeyCols), Where: schedMatch, Lock: lock}))
	}
	changed := []Assign{{"rev", "j.rev + 1"}, {"updated_at", now}}
	return scheduleTexts{
		guard: keyed("j.name", Wait),
		owned: c(d.Forms.Select(Select{Columns: "j.tenant, j.name", From: table, Where: "j.namespace = $2 AND j.name <> " + d.Words.empty(), Index: "owner"})),
		lock:  c(LockSchedulesText(d)),
		one:   keyed(scheduleColumns, NoLock),
		add: c("INSERT INTO " + table + " (tenant, name, namespace, kind, cron, zone, every, missed, most, job, paused, idle, created_at, updated_at)" +
			" SELECT o.tenant, o.name, o.namespace, o.kind, o.cron, o.zone, o.every, o.missed, o.most, o.job, o.paused, o.paused, " + now + ", " + now +
			" FROM " + d.Words.Rows("$2", schedCols) + " AS o"),
		set: update(schedCols, append([]Assign{
			{"namespace", "o.namespace"}, {"kind", "o.kind"}, {"cron", "o.cron"}, {"zone", "o.zone"}, {"every", "o.every"}, {"missed", "o.missed"},
			{"most", "o.most"}, {"job", "o.job"}, {"broken", "''"}, {"idle", "j.paused"}, {"next_at", "CASE WHEN o.afresh = 1 THEN 0 ELSE j.next_at END"},
		}, changed...)...),
		remove: c(d.Forms.Delete(Delete{Table: table, Cols: []string{"tenant", "name"}, From: d.Words.Rows("$2", schedKeyCols)})),
		first:  c(FirstTicksText(d)),
		later:  c(LaterTickText(d)),
		due:    c(DueSchedulesText(d)),
		move:   c(MoveText(d, false)),
		fire:   c(MoveText(d, true)),
		breaks: update(breakCols, Assign{"broken", "o.broken"}, Assign{"idle", "1"}),
		pause: update(pauseCols, append([]Assign{
			{"paused", "o.paused"}, {"idle", "CASE WHEN o.paused = 1 OR j.broken <> '' THEN 1 ELSE 0 END"},
			{"next_at", "CASE WHEN o.paused = 1 THEN j.next_at ELSE 0 END"},
		}, changed...)...),
		list: [2]Stmt{c(listSchedulesText(d, false)), c(listSchedulesText(d, true))},
	}
}

// LockSchedulesText reads the schedules $2 for whoever is to change them.
func LockSchedulesText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: scheduleColumns, From: d.Table("schedules"), Join: d.Words.Rows("$2", schedKeyCols), Where: schedMatch, Lock: Wait,
	})
}

// FirstTicksText finds the first tick of each of the kinds $2: one seek each, whatever
// is due of other kinds.
func FirstTicksText(d *Dialect) string {
	return "SELECT o.kind, (" + d.Forms.Select(Select{
		Columns: "j.next_at", From: d.Table("schedules"), Where: "j.idle = 0 AND j.kind = o.kind", Order: "j.next_at", Limit: "1", Index: "due",
	}) + "), " + d.Words.Now + " FROM " + d.Words.Rows("$2", kindCols) + " AS o"
}

// LaterTickText finds the first tick of the kind $2 that has not come.
func LaterTickText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.next_at", From: d.Table("schedules"), Where: "j.idle = 0 AND j.kind = $2 AND j.next_at > " + d.Words.Now,
		Order: "j.next_at", Limit: "1", Index: "due",
	})
}

// DueSchedulesText finds the first $3 schedules of the kind $2 whose tick has come.
func DueSchedulesText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: scheduleColumns, From: d.Table("schedules"), Index: "due", Order: "j.next_at, j.tenant, j.name", Limit: "$3",
		Where: "j.idle = 0 AND j.kind = $2 AND j.next_at <= " + d.Words.Now,
	})
}

// MoveText moves the schedule $2, which is locked, to its next tick; with fired it has
// a job for the last one.
func MoveText(d *Dialect, fired bool) string {
	set := []Assign{{"next_at", "o.next_at"}, {"skipped", "j.skipped + o.skipped"}}
	if fired {
		set = append(set, Assign{"last_at", "o.last_at"}, Assign{"last_job", "o.last_job"})
	}
	return d.Forms.Update(Update{Table: d.Table("schedules"), From: d.Words.Rows("$2", tickCols), Where: schedMatch, Set: set})
}
