import { parentPort } from 'node:worker_threads'
import { type Answer, type Asked, perform, transferOf, withBuffers } from './work.ts'

/** The rendering thread: does what lib/rendering/renderer.ts gives it, which says how much at once. */
const port = parentPort!

port.on('message', async ({ id, work }: Asked) => {
  const answer: Answer = await perform(withBuffers(work)).then(
    made => ({ id, made }),
    error => ({ id, error }),
  )
  port.postMessage(answer, transferOf(answer))
})
