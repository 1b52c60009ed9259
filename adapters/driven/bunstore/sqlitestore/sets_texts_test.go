package sqlitestore

import "github.com/rowlock/rowlock/adapters/driven/bunstore"

// setTexts are the statements of batches and schedules that run all the time.
func setTexts(d *bunstore.Dialect) map[string]string {
	return map[string]string{
		"batch_join":     bunstore.JoinText(d),
		"batch_own":      bunstore.OwnBatchText(d),
		"batch_ready":    bunstore.ReadyBatchesText(d),
		"batch_live":     bunstore.LiveMemberText(d),
		"batch_finish":   bunstore.FinishText(d),
		"batch_over":     bunstore.OverText(d, false),
		"batch_callback": bunstore.LiveText(d),
		"batch_later":    bunstore.LaterText(d),
		"schedule_first": bunstore.FirstTicksText(d),
		"schedule_due":   bunstore.DueSchedulesText(d),
		"schedule_later": bunstore.LaterTickText(d),
		"schedule_move":  bunstore.MoveText(d, false),
		"schedule_fire":  bunstore.MoveText(d, true),
		"schedule_lock":  bunstore.LockSchedulesText(d),
	}
}

// setPlans is how the statements of setTexts find their rows.
func setPlans() map[string]string {
	const (
		id  = "SEARCH j USING INDEX sqlite_autoindex_rowlock_batches_1 (id=?)"
		key = "SEARCH j USING INDEX sqlite_autoindex_rowlock_schedules_1 (tenant=? AND name=?)"
		due = "INDEX rowlock_schedules_due (kind=?"
	)
	return map[string]string{
		"batch_join":     id,
		"batch_own":      id,
		"batch_live":     "SEARCH j USING COVERING INDEX rowlock_jobs_batch (batch_id=? AND state<?)",
		"batch_ready":    id,
		"batch_finish":   id,
		"batch_over":     "SEARCH j USING INDEX rowlock_batches_ends (ends_at>? AND ends_at<?)",
		"batch_callback": "SEARCH j USING INDEX sqlite_autoindex_rowlock_jobs_1 (id=?)",
		"batch_later":    "SEARCH j USING COVERING INDEX sqlite_autoindex_rowlock_batches_1 (id=?)",
		"schedule_first": "SEARCH j USING COVERING " + due + ")",
		"schedule_later": "SEARCH j USING COVERING " + due + " AND next_at>?)",
		"schedule_due":   "SEARCH j USING " + due + " AND next_at<?)",
		"schedule_move":  key,
		"schedule_fire":  key,
		"schedule_lock":  key,
	}
}
