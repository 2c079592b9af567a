import { isDiskFull } from '../../base/faults.ts'
import { blockOf, networkOf } from '../../base/network.ts'
import { Problem } from '../../base/problem.ts'
import { Reply } from '../../base/reply.ts'
import type { Caller } from '../../base/threads.ts'
import { crossed, crossing } from '../../blob/content.ts'
import type { Throttles } from '../account/throttles.ts'
import type { App } from '../app/app.ts'
import { inServerTime, mailStorageMs } from '../app/server-time.ts'
import { noRoomForMail } from '../app/storage.ts'
import { type Credentials, findSubmitter, type Submitter } from './credentials.ts'
import { refusalOf } from './refusal.ts'
import { type Submission, submit } from './submit.ts'

/** What the door of submission has done by the main thread. What goes there and comes back is plain data. */
export interface SubmissionDoor {
  /** @throws Reply 535 5.7.8; 421 4.7.0 after too many wrong pairs from there */
  authenticate(given: Credentials & { readonly remoteAddress: string }): Promise<Submitter>
  /** Gives the id of the message when it is on the disk. @throws Reply */
  submit(submission: Submission): Promise<string>
}

const wrongPair = new Reply(
  535,
  '5.7.8',
  'Wrong: the user is the address of an inbox, the password an API key that may send from it',
)
const tooManyFailures = new Reply(421, '4.7.0', 'Too many failed authentications from there; wait a minute')

/** Where it is done. */
export function createSubmissionDoor(app: App, { perKey, perAddress, perBlock }: Throttles): SubmissionDoor {
  return {
    async authenticate({ remoteAddress, ...credentials }) {
      const submitter = await inServerTime(app, findSubmitter(app, credentials), mailStorageMs)
      if (submitter) return submitter
      const wait = perAddress.take(networkOf(remoteAddress)) + perBlock.take(blockOf(remoteAddress))
      throw wait > 0 ? tooManyFailures : wrongPair
    },
    async submit(submission) {
      try {
        const retryAfterSeconds = perKey.take(submission.submitter.keyId)
        if (retryAfterSeconds > 0) throw new Problem('rate_limit_exceeded', undefined, { retryAfterSeconds })
        return await submit(app, submission)
      } catch (error) {
        if (isDiskFull(error)) throw noRoomForMail(String(error))
        throw refusalOf(error)
      }
    },
  }
}

/** The same for sessions in other threads: as `createSubmissionDoor` does it, in the form in which it crosses. */
export function submissionCalls(door: SubmissionDoor) {
  return {
    authenticate: door.authenticate,
    submit: (submission: Submission) => door.submit({ ...submission, content: crossed(submission.content) }),
  }
}

export type SubmissionCalls = ReturnType<typeof submissionCalls>

export function callSubmissionDoor(call: Caller<SubmissionCalls>['call']): SubmissionDoor {
  return {
    authenticate: given => call('authenticate', given),
    submit: submission => call('submit', { ...submission, content: crossing(submission.content) }),
  }
}
