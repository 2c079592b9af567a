import { markWork } from '../base/threads.ts'
import { readContent } from '../blob/content.ts'
import type { Authenticator } from '../mail/authentication/authenticator.ts'
import { textBytesOf } from '../mail/message/read.ts'
import type { MailReader } from './pool.ts'
import { authenticate, readWhatCanBe } from './read-mail.ts'

/**
 * Bytes of text parts (of HTML no fewer than three a tag) up to which a message is read in the thread of its session: some
 * 10 ms in the worst shape, for which all sessions of that thread wait.
 */
export const nearTextBytes = 32 * 1024

export interface NearReaderOptions {
  readonly authenticator: Authenticator
  /** Where it is shown whose message is being read (lib/base/threads.ts). */
  readonly mark: SharedArrayBuffer
  /** Whose messages have ended such a thread; they are read by `far`. */
  readonly suspects: ReadonlySet<string>
  /** Reads where nobody else is harmed. */
  readonly far: MailReader['read']
}

/**
 * Reads messages with little text in the thread of their session, whatever is attached: to bring such a one into another
 * thread and back costs as much again. Large ones, small ones with much text, and what may be a report, are read by `far`: there it is their
 * peers that wait for them, and not all who are in this thread.
 */
export function createNearReader(options: NearReaderOptions): Pick<MailReader, 'read'> {
  const { authenticator, suspects, far } = options
  const work = markWork(options.mark)
  return {
    async read(request, party) {
      if (request.content.kind === 'file' || request.mayReport || suspects.has(party))
        return far(request, party)
      const bytes = await readContent(request.content)
      if (!isLittle(bytes)) return far(request, party)
      const { lacksGuess, ...read } = work(party, () => readWhatCanBe(bytes, request))
      // The detector takes much memory, so no thread of sessions has it.
      if (lacksGuess) return far(request, party)
      return { ...read, authentication: await authenticate(bytes, read, request, authenticator) }
    },
  }
}

/** What is attached is decoded and no more; text is what reading takes its time for. */
function isLittle(bytes: Buffer): boolean {
  return bytes.length <= nearTextBytes || textBytesOf(bytes) <= nearTextBytes
}
