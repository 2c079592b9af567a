import { printableLine } from './control-characters.ts'

/** A backup can't be made, read or restored; the message is a sentence with the repair, or says what is damaged. */
export class BackupFault extends Error {
  override readonly name = 'BackupFault'

  /** @param sentence may have names in it that stand in a backup: they stay on its line */
  constructor(sentence: string, options?: ErrorOptions) {
    super(printableLine(sentence), options)
  }
}
