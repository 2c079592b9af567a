import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../test/support/ports.ts'
import { startPostfix } from '../../test/support/postfix.ts'
import type { Subject } from './subject.ts'

/** Postfix as it comes: fsync in the queue at acceptance, again at delivery into a Maildir. */
export async function startPostfixSubject(): Promise<Subject> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  const recipient = 'bench@postfix.test'
  const address = '127.0.0.1'
  const postfix = await startPostfix({
    dir,
    hostname: 'mx.postfix.test',
    address,
    port: await freePort(address),
    mailboxes: [recipient],
  })
  return {
    address,
    port: postfix.port,
    recipient,
    pid: postfix.pid,
    delivered: () => postfix.count(recipient),
    async stop() {
      await postfix.stop()
      rmSync(dir, { recursive: true })
    },
  }
}
