import { Reply } from '../base/reply.ts'
import type { Connection } from './connection.ts'

/** Refused commands of an SMTP session (421 above it). */
export const smtpRefusals = 50
/** Commands of an SMTP session until its first message and between two (421 above it). */
export const smtpCommands = 1_200

const tooManyErrors = new Reply(421, '4.7.0', 'Too many refused commands')
const tooManyCommands = new Reply(421, '4.7.0', 'Too many commands without a message')
const tooManyMessages = new Reply(421, '4.7.0', 'That is enough for one session; connect again')

/**
 * Ends a session with 421 that was refused too often, goes on without a message, or has sent its share of them. The
 * library answers much by itself, so it is counted where commands come in and replies go out.
 * @param maxMessages how many messages one session may bring
 */
export function boundSession(connection: Connection, maxMessages: number): void {
  const { send, _onCommand: onCommand } = connection
  let errors = 0
  let commands = 0
  let messages = 0
  const end = ({ code, enhanced, text }: Reply) => send.call(connection, code, `${enhanced} ${text}`)

  connection.send = (code, data, context) => {
    if (context === 'DATA_OK') {
      messages++
      commands = 0
    }
    if (code >= 500 && ++errors > smtpRefusals) end(tooManyErrors)
    else send.call(connection, code, data, context)
  }
  connection._onCommand = (command, callback) => {
    if (++commands > smtpCommands) end(tooManyCommands)
    else if (messages >= maxMessages && /^MAIL /i.test(command.toString('latin1', 0, 5))) end(tooManyMessages)
    else onCommand.call(connection, command, callback)
  }
}
