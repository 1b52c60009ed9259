package pgstore
import ("github.com/jackc/pgx/v5";"testing";"syscall";"fmt";"time";"os"
"github.com/rowlock/rowlock/adapters/driven/bunstore"
"github.com/rowlock/rowlock/adapters/driven/system"
"github.com/rowlock/rowlock/ports/driven"
"github.com/rowlock/rowlock/domain"
"github.com/rowlock/rowlock/test/servers")
func TestLabClaim(t *testing.T){
 dsn:=servers.Postgres(t); db:=servers.Open(t,dsn); cfg,_:=Config{}.check()
 s:=bunstore.New(newDialect(db,cfg),newEngine(db,cfg,false),nil); s.Migrator().Up(t.Context(),0)
 db.SetMaxOpenConns(1); var pid int; db.QueryRow("select pg_backend_pid()").Scan(&pid)
 cpu:=func()time.Duration{ b,err:=os.ReadFile(fmt.Sprintf("/proc/%d/schedstat",pid)); if err!=nil{t.Fatal(err)}; var n int64; fmt.Sscan(string(b),&n); return time.Duration(n)}
 self:=func()time.Duration{ var u syscall.Rusage; syscall.Getrusage(0,&u); return time.Duration(u.Utime.Nano()+u.Stime.Nano())}
 ids:=system.IDs()
 fill:=func(){ for _,q:=range []string{"TRUNCATE rowlock_jobs",
 "INSERT INTO rowlock_jobs (id,state,queue,kind,priority,run_at,due_at,wake_at,created_at,args) SELECT gen_random_uuid(),0,'q','foreign',-1,1,1,0,1,'{}' FROM generate_series(1,100000)",
 "INSERT INTO rowlock_jobs (id,state,queue,kind,priority,run_at,due_at,wake_at,created_at,args) SELECT ('00000000-0000-7000-8000-'||lpad(to_hex(i),12,'0'))::uuid,0,'q','k'||i%50,0,i,1,0,1,'{\"user\":123,\"template\":\"welcome\",\"x\":\"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"}' FROM generate_series(1,400000) i",
 "INSERT INTO rowlock_jobs (id,state,queue,kind,priority,run_at,due_at,wake_at,created_at,args) SELECT ('00000001-0000-7000-8000-'||lpad(to_hex(i),12,'0'))::uuid,0,'q2',CASE WHEN i%100=0 THEN 'k'||i%50 ELSE 'k7' END,0,i,1,0,1,'{}' FROM generate_series(1,100000) i",
 "VACUUM ANALYZE rowlock_jobs"}{ if _,err:=db.Exec(q);err!=nil{t.Fatal(err)}}}
 if os.Getenv("LABX")!="" {
 kinds:=[]string{}; for i:=range 20{kinds=append(kinds,fmt.Sprint("k",i))}
 }
 fill()
 run:=func(name,q string,k,n,rounds int){ kinds:=make([]string,k); for i:=range kinds{kinds[i]=fmt.Sprint("k",i)}
  if k==1&&q=="q2"{kinds[0]="k7"}
  var ct,st,cc,sc time.Duration; jobs:=0
  for i:=0;i<rounds;i++{ c0:=cpu();s0:=self(); got,err:=s.Claim(t.Context(),driven.ClaimRequest{Token:ids.NewToken(),Runner:"r",Lease:time.Minute,Queue:q,Kinds:kinds,N:n}); d:=cpu()-c0; cl:=self()-s0; if err!=nil{t.Fatal(err)}
  ;
   out:=make([]driven.Outcome,len(got.Jobs)); for x:=range out{out[x]=driven.Outcome{Ticket:got.Jobs[x].Ticket(),To:domain.Done,Counts:true,Keep:time.Hour}}
   c0=cpu();s0=self(); _,err=s.Settle(t.Context(),out); d2:=cpu()-c0; cl2:=self()-s0; if err!=nil{t.Fatal(err)}
   if i>0{ct+=d;st+=d2;cc+=cl;sc+=cl2;jobs+=len(got.Jobs)} }
  fmt.Printf("%-14s kinds %2d n %4d: claim %6.2f us/job (%v each) settle %6.2f us/job; client claim %6.2f settle %6.2f\n",name,k,n,float64(ct.Microseconds())/float64(jobs),ct/time.Duration(rounds-1),float64(st.Microseconds())/float64(jobs),float64(cc.Microseconds())/float64(jobs),float64(sc.Microseconds())/float64(jobs)) }

 raw:=func(name,text string){ var ct,cc time.Duration; n:=0; for i:=0;i<6;i++{ c0:=cpu();s0:=self(); rows,err:=db.Query(text,pgx.QueryExecModeExec,ids.NewJobID().String()); if err!=nil{t.Fatal(err)}; cols,_:=rows.Columns(); dst:=make([]any,len(cols)); v:=make([]any,len(cols)); for x:=range v{dst[x]=&v[x]}; for rows.Next(){rows.Scan(dst...);if i>0{n++}}; rows.Close(); if i>0{ct+=cpu()-c0;cc+=self()-s0}}; fmt.Printf("%-20s claim %6.2f client %6.2f\n",name,float64(ct.Microseconds())/float64(n),float64(cc.Microseconds())/float64(n))}
 base:="UPDATE rowlock_jobs AS u SET state=3, token=$1::uuid, runner='r', stuck=0, claimed_at=5, wake_at=6 WHERE u.ctid=ANY(ARRAY(SELECT j.ctid FROM rowlock_jobs j WHERE j.state=0 AND j.queue='q2' AND j.kind='k7' ORDER BY j.priority,j.run_at,j.id LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING "
 for r:=0;r<3;r++{
 run("skewed","q2",1,1000,6)
 raw("raw few columns",base+"u.id,u.kind,u.attempts,u.args")
 raw("raw all columns",base+bunstore.ClaimColumns("u.",nil))
 run("skewed","q2",20,1000,6)
 }
}
