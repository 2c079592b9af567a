import { sql } from 'kysely'
import type { Db } from './dialect/dialect.ts'
import { nodeClass } from './dialect/lock.ts'

/** A daemon that holds its lock on a server. */
export interface LivingNode {
  readonly id: string
  /** The machine that it is on. */
  readonly name: string
  readonly version: string
  /** The last step of the schema that its program knows; null: it has no row yet. */
  readonly newestStep: number | null
}

/**
 * Returns the daemons that live on this database, by their locks.
 * @param own the node that asks, which is left out
 */
export async function listOtherNodes(db: Db, own: string): Promise<LivingNode[]> {
  // The number of a lock is an unsigned one in this view; a hash has a sign.
  const { rows } = await sql<LivingNode>`
    select coalesce("node"."id", '?') as "id", coalesce("node"."name", 'a node that has just come') as "name",
      coalesce("node"."version", '?') as "version", "node"."newestStep" as "newestStep"
    from "pg_locks" as "held"
    join "pg_database" on "pg_database"."oid" = "held"."database" and "datname" = current_database()
    left join "node" on hashtext("node"."id")::bigint & 4294967295 = "held"."objid"::bigint
    where "held"."locktype" = 'advisory' and "held"."classid"::bigint = ${sql.lit(nodeClass)}
      and "held"."objsubid" = 2 and "held"."granted"
      and "held"."objid"::bigint != hashtext(${own})::bigint & 4294967295
    order by "name", "id"`.execute(db)
  return rows
}
