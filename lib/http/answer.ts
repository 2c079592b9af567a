import { type Download, type Operation, Redirect, Repeated } from '../api/operation.ts'
import { unpacedBytes } from '../base/concurrency.ts'
import type { EventFeed } from '../core/events/subscription.ts'
import { answerDownload } from './download.ts'
import { answerFeed } from './feed.ts'
import { answerKeptJson, answerLargeJson, answerSharedJson } from './json.ts'
import type { MemoryHold } from './memory.ts'
import type { OperationRequest } from './request.ts'

/**
 * Answers a request with what its operation gave.
 * @param held the memory that was held for the answer before it was made
 */
type Answer = (
  request: OperationRequest,
  given: unknown,
  held: MemoryHold | undefined,
) => void | Promise<void>

/** Returns how an operation answers. */
export function answerOf(one: Operation): Answer {
  const answer = declaredAnswer(one)
  return (request, given, held) => {
    if (given instanceof Redirect) return redirect(request, given)
    const isRepeated = given instanceof Repeated
    request.context.status = isRepeated ? 200 : one.success.status
    return answer(request, isRepeated ? given.answer : given, held)
  }
}

function declaredAnswer({ success, isAnswerKept, isAnswerShared }: Operation): Answer {
  if ('download' in success) return download
  if ('feed' in success) return feed(success.feed)
  if (success.status === 204) return nothing
  if (isAnswerKept) return keptJson
  if (isAnswerShared) return sharedJson
  return json
}

const json: Answer = async ({ context }, given, held) => {
  const bytes = await answerLargeJson(context, given)
  held?.become(bytes)
}

const keptJson: Answer = ({ context }, given) => answerKeptJson(context, given as object)

/** Nothing is held for a request that waits. The first one that is answered holds what the others are given, too. */
const sharedJson: Answer = async (request, given) => {
  const bytes = await answerSharedJson(request.context, given as object)
  if (bytes > unpacedBytes) await request.holdAnswer(bytes)
}

const download: Answer = ({ context }, given, held) => {
  const answer = given as Download
  held?.become(answer.heldBytes ?? 0)
  answerDownload(context, answer)
}

const feed =
  (contentType: string): Answer =>
  (request, given) =>
    answerFeed(request.context, contentType, given as EventFeed, connection =>
      request.streamMemory(connection),
    )

const nothing: Answer = ({ context }) => {
  context.body = null
}

function redirect({ context }: OperationRequest, { url }: Redirect): void {
  context.status = 302
  context.set('Location', url)
  // Its signature is for who asked.
  context.set('Cache-Control', 'private, no-store')
  context.body = ''
}
