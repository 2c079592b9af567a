import { markWork } from '../base/thread-watch.ts'
import { readContent } from '../blob/content.ts'
import type { Authenticator } from '../mail/authentication/authenticator.ts'
import type { MailReader } from './pool.ts'
import { authenticate, readWhatCanBe } from './read-mail.ts'

export interface NearReaderOptions {
  readonly authenticator: Authenticator
  /** Where it is shown whose message is being read (lib/base/thread-watch.ts). */
  readonly mark: SharedArrayBuffer
  /** Whose messages have ended such a thread; they are read by `far`. */
  readonly suspects: ReadonlySet<string>
  /** Reads where nobody else is harmed. */
  readonly far: MailReader['read']
}

/**
 * Reads small messages in the thread of their session: to read one takes no longer than it is long, and to bring it into
 * another thread and back costs as much again. Large ones are read by `far`.
 */
export function createNearReader(options: NearReaderOptions): Pick<MailReader, 'read'> {
  const { authenticator, suspects, far } = options
  const work = markWork(options.mark)
  return {
    async read(request, party) {
      if (request.content.kind === 'file' || suspects.has(party)) return far(request, party)
      const bytes = await readContent(request.content)
      const read = work(party, () => readWhatCanBe(bytes, request))
      return { ...read, authentication: await authenticate(bytes, read, request, authenticator) }
    },
  }
}
