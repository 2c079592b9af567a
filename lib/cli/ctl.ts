import type { App, Desk, Rows } from '../core/app/app.ts'
import type { Shell } from './completion-script.ts'
import type { Installation } from './installation.ts'
import type { Output } from './output.ts'

/** What every command is given. */
export interface Ctl {
  installation(): Installation
  isJson(): boolean
  output(): Output
  /** The completion for a shell, which is a reading of all commands and so no part of any. */
  completion(shell: Shell): Promise<string>
  /** Opens the database for the time of `work`, which needs nothing but rows. */
  withRows<T>(work: (rows: Rows) => Promise<T>): Promise<T>
  /** Opens the database, and what opens the secrets in it, for the time of `work`. */
  withDesk<T>(work: (desk: Desk) => Promise<T>): Promise<T>
  /** Opens the database and all that works with it for the time of `work`. */
  withApp<T>(work: (app: App) => Promise<T>): Promise<T>
}
