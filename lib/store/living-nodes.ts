import { sql } from 'kysely'
import type { Db } from './dialect/dialect.ts'
import { schemaClass } from './postgres/lock.ts'
import { nodeClass } from './postgres/take-name.ts'

/** A daemon that holds its lock on a server. */
export interface LivingNode {
  readonly id: string
  /** The machine that it is on. */
  readonly name: string
  readonly version: string
  /** The last step of the schema that its program knows; null: it is of a program that does not say so. */
  readonly newestStep: number | null
}

/**
 * The daemons that live on this database, by their locks: no clock is asked, and no row that one left behind.
 * @param own the node that asks, which is left out
 */
export async function listOtherNodes(db: Db, own: string): Promise<LivingNode[]> {
  // The number of a lock is an unsigned one in this view; a hash has a sign.
  const { rows } = await sql<LivingNode>`
    select distinct coalesce("node"."id", '?') as "id", coalesce("node"."name", 'a node that has just come') as "name",
      coalesce("node"."version", '?') as "version", "known"."objid"::bigint::integer as "newestStep"
    from "pg_locks" as "held"
    join "pg_database" on "pg_database"."oid" = "held"."database" and "datname" = current_database()
    left join "pg_locks" as "known" on "known"."pid" = "held"."pid" and "known"."locktype" = 'advisory'
      and "known"."classid"::bigint = ${sql.lit(schemaClass)} and "known"."objsubid" = 2
      and "known"."database" = "held"."database" and "known"."granted"
    left join "node" on hashtext("node"."id")::bigint & 4294967295 = "held"."objid"::bigint
    where "held"."locktype" = 'advisory' and "held"."classid"::bigint = ${sql.lit(nodeClass)}
      and "held"."objsubid" = 2 and "held"."granted"
      and "held"."objid"::bigint != hashtext(${own})::bigint & 4294967295
    order by "name", "id"`.execute(db)
  return rows
}
