import { parentPort } from 'node:worker_threads'
import { crossed, readContent } from '../../blob/content.ts'
import { openAttachment } from '../../mail/message/read.ts'
import { allowAllocations, countAllocations } from './allocations.ts'
import { extractText } from './extract.ts'
import type { TextAnswer, TextRequest } from './job.ts'

/** Memory that reading an attachment may take. */
const attachmentAllocatedBytes = 256 * 1024 * 1024

/**
 * The thread that reads the text of attachments, one after the other. Whatever an attachment does to it (memory, time, a
 * fault of a parser) can end it, and nothing else: lib/reading/attachment/text-reader.ts watches from outside.
 */
const port = parentPort!
const say = (answer: TextAnswer) => port.postMessage(answer)

countAllocations()

port.on('message', (request: TextRequest) => {
  read(request).then(say, (error: Error) => say({ kind: 'failed', error }))
})

async function read({ content, index }: TextRequest): Promise<TextAnswer> {
  const raw = await readContent(crossed(content))
  const attached = openAttachment(raw, index)
  say({ kind: 'begun' })
  allowAllocations(attachmentAllocatedBytes)
  try {
    return { kind: 'read', extracted: attached && (await extractText(attached)) }
  } finally {
    allowAllocations(Number.POSITIVE_INFINITY)
  }
}
