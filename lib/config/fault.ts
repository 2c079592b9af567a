/** One fault of the configuration: where it is (`smtp.max_size`), and in one line what is wrong and how to mend it. */
export interface Fault {
  /** `''` when it is the file as a whole. */
  readonly path: string
  readonly message: string
}

/** What a program exits with when its configuration is at fault (EX_CONFIG of sysexits.h). */
export const configFaultExitCode = 78

/** The configuration can't be used. `faults` are all that is wrong with it; `message` has one line for each. */
export class ConfigFault extends Error {
  override readonly name = 'ConfigFault'
  readonly faults: readonly Fault[]

  constructor(source: string, faults: readonly Fault[]) {
    super(faults.map(({ path, message }) => [source, path, message].filter(Boolean).join(': ')).join('\n'))
    this.faults = faults
  }
}
