import { createHash, type Hash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { finished } from 'node:stream/promises'
import type { Content } from './content.ts'

/**
 * Takes bytes as they come: in memory up to `memoryBytes`, beyond that in the file that `spool` names; it is asked when
 * that is needed.
 * `write` resolves when more may come, so a fast sender waits for the disk.
 */
export interface Intake {
  write(chunk: Buffer): Promise<unknown> | undefined
  end(): Promise<Content>
  /** Throws away what came, the file too. */
  discard(): Promise<void>
}

export function createIntake(spool: () => string, memoryBytes: number): Intake {
  let spoolPath = ''
  let chunks: Buffer[] = []
  let sizeBytes = 0
  let file: WriteStream | undefined

  const fault = { error: undefined as Error | undefined }
  // Of a file alone: what stays in memory is hashed in one call when that is needed.
  let hash: Hash

  return {
    write(chunk) {
      if (fault.error) throw fault.error
      sizeBytes += chunk.length
      if (!file) {
        chunks.push(chunk)
        if (sizeBytes <= memoryBytes) return undefined
        spoolPath = spool()
        file = createWriteStream(spoolPath, { flags: 'wx', mode: 0o600 })
        file.on('error', error => {
          fault.error = error
        })
        const begin = Buffer.concat(chunks)
        chunks = []
        hash = createHash('sha256').update(begin)
        return file.write(begin) ? undefined : once(file, 'drain')
      }
      hash.update(chunk)
      return file.write(chunk) ? undefined : once(file, 'drain')
    },
    async end() {
      if (!file) return { kind: 'memory', bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) }
      if (fault.error) throw fault.error
      file.end()
      await finished(file)
      return { kind: 'file', path: spoolPath, sizeBytes, sha256: hash.digest('hex') }
    },
    async discard() {
      chunks = []
      if (!file) return
      file.destroy()
      // Not before: what is opened after it was removed would stay.
      const { closed } = file
      if (!closed) await new Promise(resolve => file?.once('close', resolve))
      await rm(spoolPath, { force: true })
    },
  }
}
