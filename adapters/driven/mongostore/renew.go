package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// pulse is what several renewals have in common: those of one claim are one write.
type pulse struct {
	token domain.Token
	stuck bool
}

// Renew writes one update for each claim that the tickets come from.
func (s *store) Renew(ctx context.Context, req driven.RenewRequest) (answer driven.Renewed, err error) {
	err = s.do(ctx, "renew", func(ctx context.Context, now int64) error {
		t, err := s.bulk(ctx, s.jobs, renewals(&req, now+ms(req.Lease)))
		switch {
		case err != nil || t.matched == int64(len(req.Tickets)):
			return err
		case t.contended != nil:
			return t.contended
		}
		answer, err = s.lost(ctx, req.Tickets)
		return err
	})
	return answer, err
}

func renewals(req *driven.RenewRequest, until int64) (writes []mongo.WriteModel) {
	var order []pulse
	ids := map[pulse][]key{}
	for _, t := range req.Tickets {
		p := pulse{t.Ticket.Token, t.Stuck}
		if len(ids[p]) == 0 {
			order = append(order, p)
		}
		ids[p] = append(ids[p], key(t.Ticket.ID))
	}
	for _, p := range order {
		var ch change
		ch.put("wake_at", until)
		if ch.drop("stuck"); p.stuck {
			ch.unset = nil
			ch.put("stuck", 1)
		}
		for _, part := range chunks(ids[p], small) {
			filter := bson.D{among(part), {Key: "token", Value: key(p.token)}, {Key: "state", Value: domain.Running}}
			writes = append(writes, mongo.NewUpdateManyModel().SetFilter(filter).SetUpdate(ch.update()))
		}
	}
	return writes
}

// lost gives the tickets that no longer hold their job, those of cancelled ones apart.
func (s *store) lost(ctx context.Context, tickets []driven.Renewal) (answer driven.Renewed, err error) {
	found := make(map[key]*row, len(tickets))
	for _, part := range chunks(tickets, small) {
		ids := make([]key, len(part))
		for i := range part {
			ids[i] = key(part[i].Ticket.ID)
		}
		fields := bson.D{{Key: "token", Value: 1}, {Key: "state", Value: 1}}
		rows, err := readAll(ctx, s.jobs, bson.D{among(ids)}, options.Find().SetBatchSize(writeBound).SetProjection(fields))
		if err != nil {
			return answer, err
		}
		for i := range rows {
			found[rows[i].ID] = &rows[i]
		}
	}
	for _, t := range tickets {
		switch r := found[key(t.Ticket.ID)]; {
		case r != nil && r.State == domain.Running && r.Token == key(t.Ticket.Token) && !t.Ticket.Token.IsZero():
		case r != nil && r.State == domain.Cancelled:
			answer.Cancelled = append(answer.Cancelled, t.Ticket.ID)
		default:
			answer.Lost = append(answer.Lost, t.Ticket.ID)
		}
	}
	return answer, nil
}
