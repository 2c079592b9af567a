/** A backup can't be made, read or restored; the message is a sentence with the repair, or says what is damaged. */
export class BackupFault extends Error {
  override readonly name = 'BackupFault'
}
