-- Which workers are heard of, and where: they wait, and are paid for, whether or not there is work.
select host, pid
  from notifications.workers
 where seen_at > statement_timestamp() - 3 * beat
