import type { App } from '../core/app/app.ts'
import type { Installation } from './open.ts'
import type { Output } from './output.ts'

/** What every command is given. */
export interface Ctl {
  installation(): Installation
  isJson(): boolean
  output(): Output
  /** Opens the database for the time of `work`. */
  withApp<T>(work: (app: App) => Promise<T>): Promise<T>
}
