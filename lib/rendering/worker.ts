import { parentPort } from 'node:worker_threads'
import { type Answer, perform, transferOf, type Work, withBuffers } from './work.ts'

/** The rendering thread: does one work after the other; lib/rendering/renderer.ts gives it the next when one is done. */
const port = parentPort!

port.on('message', async (work: Work) => {
  const answer: Answer = await perform(withBuffers(work)).then(
    made => ({ made }),
    error => ({ error }),
  )
  port.postMessage(answer, transferOf(answer))
})
