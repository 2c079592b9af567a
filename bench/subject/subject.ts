/** A mail server under measurement, running. */
export interface Subject {
  readonly address: string
  readonly port: number
  /** Whom the load is addressed to. */
  readonly recipient: string
  /** The root of its processes. */
  readonly pid: number
  /** How many messages it has put where their recipient finds them, or undefined when its 250 says that already. */
  delivered?(): number
  /** The first message that it took, with the fields that it put before it. */
  first?(): Promise<string>
  stop(): Promise<void>
}
