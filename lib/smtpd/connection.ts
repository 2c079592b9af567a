import type { SMTPServer } from 'smtp-server'

/** A connection of smtp-server. */
export type Connection = SMTPServer['connections'] extends Set<infer Item> ? Item : never
