import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import type { Session } from './session.ts'

/** What a door does at each verb of a transaction. @throws Reply */
export interface Steps {
  mail(session: Session, address: SMTPServerAddress, smtp: SMTPServerSession): Promise<void>
  rcpt(session: Session, address: SMTPServerAddress, smtp: SMTPServerSession): Promise<void>
  /** Gives what is said with the 250, with its enhanced code, where that is not the usual. */
  data(session: Session, stream: SMTPServerDataStream, smtp: SMTPServerSession): Promise<string | undefined>
}
