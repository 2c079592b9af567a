import type { App } from '../core/app/app.ts'
import type { Output } from './output.ts'

/** What every command is given. */
export interface Ctl {
  configPath(): string | undefined
  output(): Output
  /** Opens the database for the time of `work`. */
  withApp<T>(work: (app: App) => Promise<T>): Promise<T>
}
